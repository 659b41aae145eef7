"""Makes prompts and passes from cases, as `judge` does."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark.made_cases import write_cases
from pathway_local.case import Case
from pathway_local.judges.judge_spec import Chat
from pathway_local.passes import Pass
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import cases_of

CONTEXT = 4096


class WorkWriter:
    """Makes cases in `folder`, and the prompts and passes of all rubrics."""

    def __init__(self, folder: Path, rubrics: Sequence[Rubric], judge: Path) -> None:
        self._folder, self._rubrics, self._tokenizer = folder, rubrics, JudgeTokenizer(judge)

    def cases(self, rubric: Rubric, count: int, seed: int) -> Path:
        """Write a cases file for a rubric."""
        return write_cases(self._folder / f"{rubric.name}-{count}-{seed}.csv", rubric.inputs, count, seed)

    def passes(self, detail: Detail, count: int, seed: int) -> Iterator[Pass]:
        """Yield the pass of each reply."""
        for at, prompt in enumerate(self.prompts(detail, count, seed)):
            limit = min(prompt.reply.form.limit, CONTEXT - len(prompt.ids))
            yield Pass(str(at), prompt.ids, prompt.reply.form.grammar(), limit)

    def prompts(self, detail: Detail, count: int, seed: int) -> Iterator[Prompt]:
        """Yield the prompts of all rubrics' cases."""
        for rubric in self._rubrics:
            writer = PromptWriter(rubric, self._tokenizer, Chat(), context=CONTEXT, detail=detail)
            cases = cases_of(self.cases(rubric, count, seed), [rubric], None)
            for prompt in writer.write(case.inputs for case in cases if isinstance(case, Case)):
                assert isinstance(prompt, Prompt), prompt
                yield prompt
