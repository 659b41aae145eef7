"""A family that we have never heard of: an entry in models.yaml with its own marks is all that its thinking takes."""

import json
from pathlib import Path

from families import Family, write_tokenizer
from scripted_engine import ScriptedEngine

from pathway_local.judges.judge_spec import chat_of, think_budget
from pathway_local.judges.registry import load_registry
from pathway_local.judging.pool import Pool, Request
from pathway_local.passes import Pass, PassResult, Sampling
from pathway_local.rendering.prompt import Prompt, PromptWriter, thinking_of
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import parse_rubric

TEMPLATE = (
    "{% for m in messages %}<~{{ m.role }}~>{{ m.content }}<~end~>{% endfor %}"
    "{% if add_generation_prompt %}<~judge~>{% if ponder %}deep{% endif %}{% endif %}"
)
RUBRIC = """---
name: tiny
inputs: {answer: {type: string}}
outputs: {layout: "{score}", fields: {score: {type: score, min: 1, max: 5}}}
---
user:
{{ answer }}
"""


def test_an_entry_with_its_own_marks_is_enough(tmp_path: Path) -> None:
    marks = ("<~muse~>", "<~/muse~>")
    folder = write_tokenizer(Family("new", "<~end~>", ("<~end~>",), TEMPLATE, added=marks), tmp_path / "new")
    thinking = {"start": marks[0], "end": marks[1], "close": "<~/muse~>\nSo: ", "on_by": {"ponder": True}, "budget": 64}
    (tmp_path / "models.yaml").write_text(json.dumps({"new": {"source": str(folder), "thinking": thinking}}))
    judge = load_registry(tmp_path / "models.yaml").get("new")
    tokenizer, rubric = JudgeTokenizer(folder), parse_rubric(RUBRIC, "tiny")
    budget, asked = think_budget("auto", judge), list[str]()

    def script(item: Pass) -> PassResult:
        asked.append(b"".join(tokenizer.pieces(item.ids)).decode())
        return PassResult("", tokenizer.encode("4" if item.grammar else "hmm"), logprobs=({},))

    how = thinking_of(judge, budget, tokenizer, Sampling())
    writer = PromptWriter(rubric, tokenizer, chat_of(judge, budget), context=2000, thinking=how)
    [prompt] = writer.write([{"answer": f"an answer with {marks[1]}"}])
    assert isinstance(prompt, Prompt) and how is not None and how.end_id not in prompt.ids
    pool = Pool(lambda: ScriptedEngine(script), tokenizer, 2000)
    pool.submit(Request("1", prompt, Sampling(), how))
    [completion] = pool.completions()
    assert asked[0].endswith("<~judge~>deep<~muse~>")
    assert asked[1] == f"{asked[0]}hmm<~/muse~>\nSo: "
    assert (completion.thinking, completion.reading and completion.reading.values) == ("hmm", {"score": 4})
