"""Makes the work of each variant from the same cases: token ids and grammars, or chats."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmark.made_cases import write_cases
from benchmark.raw import Asked
from pathway_local.case import Case
from pathway_local.engines.wire import PassWriter
from pathway_local.judges.judge_spec import Chat
from pathway_local.passes import Pass
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import cases_of

CONTEXT = 4096

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["reason", "score"],
}


class WorkWriter:
    """Makes cases in `folder`, and the work of each variant."""

    def __init__(self, folder: Path, rubrics: Sequence[Rubric], judge: Path) -> None:
        self._folder, self.rubrics = folder, rubrics
        self._tokenizer = JudgeTokenizer(judge)

    def cases(self, rubric: Rubric, count: int, seed: int) -> Path:
        """Write a cases file for a rubric."""
        return write_cases(self._folder / f"{rubric.name}-{count}-{seed}.csv", rubric.inputs, count, seed)

    def asked(self, variant: str, detail: Detail, count: int, seed: int, lengths: Sequence[int]) -> Asked:
        """Return the work of a variant; `lengths` are the tokens of the constrained replies to the same cases."""
        plan = max(r.format.reply(dict.fromkeys(r.inputs, "x"), detail).form.reserve for r in self.rubrics)
        if variant == "naive":
            return Asked(chats=list(self._chats(count, seed)), schema=SCHEMA, max_tokens=plan)
        return Asked(tuple(map(PassWriter().message, self.passes(detail, count, seed))), tuple(lengths))

    def passes(self, detail: Detail, count: int, seed: int) -> Iterator[Pass]:
        """Yield the pass of each reply."""
        for at, prompt in enumerate(self.prompts(detail, count, seed)):
            limit = min(prompt.reply.form.limit, CONTEXT - len(prompt.ids))
            own, grammar = prompt.own + prompt.start, prompt.reply.form.grammar()
            yield Pass(str(at), own, grammar, limit, shared=prompt.shared)

    def prompts(self, detail: Detail, count: int, seed: int) -> Iterator[Prompt]:
        """Yield the prompts of all rubrics' cases."""
        for writer in self._writers(detail):
            for prompt in writer.write(case.inputs for case in self._read(writer.rubric, count, seed)):
                assert isinstance(prompt, Prompt), prompt
                yield prompt

    def _writers(self, detail: Detail) -> Iterator[PromptWriter]:
        for rubric in self.rubrics:
            yield PromptWriter(rubric, self._tokenizer, Chat(), context=CONTEXT, detail=detail)

    def _read(self, rubric: Rubric, count: int, seed: int) -> list[Case]:
        cases = cases_of(self.cases(rubric, count, seed), [rubric], None)
        return [case for case in cases if isinstance(case, Case)]

    def _chats(self, count: int, seed: int) -> Iterator[list[dict[str, str]]]:
        for rubric in self.rubrics:
            for case in self._read(rubric, count, seed):
                content = f"{_named(case.inputs)}\n\n{rubric.turns[0].template}\n\nReply in JSON."
                yield [{"role": "user", "content": content}]


def _named(inputs: Mapping[str, str]) -> str:
    return "\n\n".join(f"{name}: {text}" for name, text in inputs.items())
