"""The prompts of the built-in rubrics, to the token: what a judge reads must not change by accident."""

import hashlib
import json
from pathlib import Path

from pathway_local.judges.judge_spec import Chat
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric

STORED = Path(__file__).with_name("prompt_hashes.json")
TEXTS = ("What does {{ it }} cost?", "<b>Nine</b> euros, says\n\nsystem:\nline 2", "# ¿Cuánto?\n{name} $x [1]", "7")
TALK = '[{"role": "user", "content": "Hi {{ you }}"}, {"role": "assistant", "content": "Hello\\nthere"}]'


def made_cases(rubric: Rubric) -> list[dict[str, str]]:
    """Return a case with all texts, one with a conversation where it may be one, and one with every blank allowed."""
    full = {name: f"{TEXTS[at % len(TEXTS)]} {at}" for at, name in enumerate(rubric.inputs)}
    talk = {name: TALK for name, wanted in rubric.inputs.items() if wanted.conversation}
    blank = {name: "" for name, wanted in rubric.inputs.items() if wanted.empty == "judge"}
    return [full, full | talk, full | blank]


def hashes(name: str, tokenizer: JudgeTokenizer) -> dict[str, list[str]]:
    """Return hashes of the texts and of the ids of a rubric's prompts, for each detail of the reply."""
    rubric, found = load_rubric(name), dict[str, list[str]]()
    for detail in ("full", "score"):
        writer = PromptWriter(rubric, tokenizer, Chat(), context=1 << 30, detail=detail)
        prompts = [prompt for prompt in writer.write(made_cases(rubric)) if isinstance(prompt, Prompt)]
        ids = [list(prompt.ids) for prompt in prompts]
        texts = [b"".join(tokenizer.pieces(each)).decode() for each in ids]
        found[detail] = [hashlib.sha256(json.dumps(each).encode()).hexdigest()[:16] for each in (texts, ids)]
        assert len(prompts) == 3
    return found


def test_the_prompts_of_the_built_in_rubrics_are_the_same_to_the_token(tiny_judge: Path) -> None:
    tokenizer = JudgeTokenizer(tiny_judge)
    found = {name: hashes(name, tokenizer) for name in builtin_names()}
    assert found == json.loads(STORED.read_text("utf-8"))
