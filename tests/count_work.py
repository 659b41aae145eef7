"""Counts the work of judging with real vLLM: `python count_work.py JUDGE RUBRIC DETAILS CASES FOLDER [SETTINGS]`.

It prints a line of JSON for each of DETAILS, joined by commas. SETTINGS are the engine's, as JSON. PYTHONPATH has to
name `scripts`, where the module is that makes the cases.
"""

import json
import pickle
import sys
import time
from os.path import commonprefix
from pathlib import Path
from unittest.mock import Mock

from benchmark.made_cases import write_cases
from pathway_local.engines.vllm import VllmEngine
from pathway_local.judges.judge_spec import Chat
from pathway_local.judging.loop import JudgingLoop, LocalRater
from pathway_local.judging.pool import Pool
from pathway_local.passes import EngineConfig, Pass, PassResult
from pathway_local.rater import Rater
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric

CONTEXT = 4096


class Counted(VllmEngine):
    """The engine, with its passes and steps counted; results come a step later, as out of its own process."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(config)
        self.late: list[PassResult] = []
        self.forget()
        self._engine.step = Mock(side_effect=self._engine.step)

    def forget(self) -> None:
        self.passes = self.read = self.cached = 0
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
        done, self.late = self.late, super().step()
        self.cached += sum(result.cached_tokens for result in done)
        self.replies |= {result.id: result.cached_tokens for result in done if result.id in self.replies}
        return done

    def results(self) -> list[PassResult]:
        while not (done := self.step()) and (self.late or self._held):
            pass
        return done


def main(judge: str, name: str, details: str, count: str, folder: str, settings: str = "{}") -> None:
    engine = Counted(EngineConfig(judge, "float32", CONTEXT, json.loads(settings)))
    for number, detail in enumerate(details.split(",")):
        print(json.dumps(counted(engine, judge, name, detail, int(count), Path(folder), number)))
        engine.forget()
        engine._engine.step.reset_mock()
    engine._engine.engine_core.shutdown(timeout=0)


def counted(
    engine: Counted, judge: str, name: str, detail: str, count: int, folder: Path, seed: int
) -> dict[str, object]:
    rubric, tokenizer = load_rubric(name), JudgeTokenizer(Path(judge))
    writer = PromptWriter(rubric, tokenizer, Chat(), context=CONTEXT, detail=detail)  # type: ignore[arg-type]
    from vllm.v1.structured_output import backend_guidance  # only now: what the engine sets has to come before

    look = backend_guidance.validate_guidance_grammar
    backend_guidance.validate_guidance_grammar = looks = Mock(side_effect=look)
    cases = cases_of(write_cases(folder / f"{detail}.csv", rubric.inputs, count, seed), [rubric], None)
    with RunFile.create(folder / f"{detail}.run") as run:
        store_rubric(run, rubric)
        rater = LocalRater(run.add_rater(Rater("x", "judge", name, {})), writer)
        tally = JudgingLoop(run, "c.csv", [rater], Pool(lambda: engine, tokenizer, CONTEXT)).judge(iter(cases))
    from pathway_local.engines.vllm_core import sampling_params

    params = sampling_params(Pass("", (), "start: /a+/\n", 2, stop_ids=(1,), logprob_ids=(3,)))
    first, other = writer.write([dict.fromkeys(rubric.inputs, text) for text in ("a", "b")])
    shared = len(commonprefix([first.ids, other.ids]))  # type: ignore[union-attr]  # noqa: RUF071
    _, *later = (min(cached, shared) / shared for cached in engine.replies.values())
    return {
        "judged": tally.judged,
        "passes": engine.passes,
        "steps": engine._engine.step.call_count,
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


main(*sys.argv[1:])
