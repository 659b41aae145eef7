"""Counts the work of judging with real vLLM: `python count_work.py JUDGE RUBRIC DETAIL CASES FOLDER [SETTINGS]`.

It prints JSON. SETTINGS are the engine's, as JSON.
"""

import json
import pickle
import sys
import time
from pathlib import Path
from unittest.mock import Mock

from pathway_local.bench.made_cases import write_cases
from pathway_local.chat import Chat
from pathway_local.engines.passes import EngineConfig, Pass, PassResult
from pathway_local.engines.pool import Pool
from pathway_local.engines.vllm import VllmEngine
from pathway_local.judge import Judging, LocalRater
from pathway_local.prompt import PromptWriter
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric import load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.tokenizer import JudgeTokenizer

CONTEXT = 4096


class Counted(VllmEngine):
    """The engine, with its passes and steps counted."""

    passes = steps = read = cached = 0

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(config)
        self.replies: dict[str, int] = {}
        """Tokens from the cache by reply, in the order they were asked for."""

    def submit(self, item: Pass) -> None:
        if item.grammar:
            self.replies[item.id] = 0
        self.passes += 1
        self.read += len(item.ids)
        super().submit(item)
        # Grammars are compiled in threads, and a pass whose own is not ready sits out steps: how many would be chance.
        scheduler = self._engine.engine_core.engine_core.scheduler
        constraints = [request.structured_output_request for request in scheduler.requests.values()]
        while not all(constraint.is_grammar_ready for constraint in constraints if constraint):
            time.sleep(0.001)

    def step(self) -> list[PassResult]:
        self.steps += 1
        done = super().step()
        self.cached += sum(result.cached_tokens for result in done)
        self.replies |= {result.id: result.cached_tokens for result in done if result.id in self.replies}
        return done


def main(judge: str, name: str, detail: str, count: str, folder: str, settings: str = "{}") -> None:
    rubric, tokenizer = load_rubric(name), JudgeTokenizer(Path(judge))
    writer = PromptWriter(rubric, tokenizer, Chat(), context=CONTEXT, detail=detail)  # type: ignore[arg-type]
    engine = Counted(EngineConfig(judge, "float32", CONTEXT, json.loads(settings)))
    from vllm.v1.structured_output import backend_guidance  # only now: what the engine sets has to come before

    backend_guidance.validate_guidance_grammar = looks = Mock(side_effect=backend_guidance.validate_guidance_grammar)
    cases = cases_of(write_cases(Path(folder) / "c.csv", rubric, int(count), 1), [rubric], None)
    with RunFile.create(Path(folder) / "c.run") as run:
        run.add_rubric(name, rubric.text)
        rater = LocalRater(run.add_rater(Rater("x", "judge", name, {})), writer)
        tally = Judging(run, [rater], Pool(lambda: engine, tokenizer, CONTEXT), source="c.csv").judge(iter(cases))
    from pathway_local.engines.vllm_request import sampling_params

    params = sampling_params(Pass("", (), "start: /a+/\n", 2, stop_ids=(1,), logprob_ids=(3,)))
    shared = len(writer.shared_prefix())
    _, *later = (min(cached, shared) / shared for cached in engine.replies.values())
    told = {
        "judged": tally.judged,
        "passes": engine.passes,
        "steps": engine.steps,
        "workers would get the same settings": pickle.loads(pickle.dumps(params)) == params,
        "looks at grammars": looks.call_count,
        "generated": tally.tokens.generated,
        "computed": tally.tokens.prompt - tally.tokens.cached,
        "computed in all": engine.read - engine.cached,
        "rubric": shared,
        "of the rubric from the cache, from the second case on": sum(later) / len(later),
        "of all prompts from the cache": tally.tokens.cached / tally.tokens.prompt,
        "of cases": tally.tokens.prompt - tally.judged * shared,
    }
    print(json.dumps(told))
    engine.close()


main(*sys.argv[1:])
