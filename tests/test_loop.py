"""The loop, with an engine that answers by a script: every case ends with exactly one outcome, and the right one."""

import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from families import FAMILIES, write_tokenizer
from loop_here import judging, stored
from msgspec.structs import replace

from pathway_local.case import BadRow, Case
from pathway_local.errors import RunFileError
from pathway_local.judging.loop import BATCH, BATCH_CHARACTERS, Tally, batches
from pathway_local.passes import Pass, PassResult
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.run_cases import SETTING
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Verdict

RUBRIC = """---
name: tiny
inputs: {answer: {type: string}}
outputs:
  layout: |-
    Reason: {reason}
    Score: {score}
  fields:
    reason: {type: text, tokens: 20, lines: one}
    score: {type: score, min: 1, max: 5}
---
user:
Judge this answer.
{{ answer }}
"""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> JudgeTokenizer:
    return JudgeTokenizer(write_tokenizer(FAMILIES[0], tmp_path_factory.mktemp("qwen")))


@pytest.fixture
def rubric() -> Rubric:
    return parse_rubric(RUBRIC, "tiny.prompty")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    with RunFile.create(tmp_path / "t.run") as run:
        yield run


def score_of(answer: str) -> int:
    return zlib.crc32(answer.encode()) % 5 + 1


class Script:
    """A judge that scores an answer by its hash, and gives that score 80% and the next one 20%."""

    def __init__(self, tokenizer: JudgeTokenizer) -> None:
        self.tokenizer = tokenizer
        self.seen: list[str] = []
        self.seeds: list[int] = []

    def __call__(self, item: Pass) -> PassResult:
        text = self.tokenizer.grammar_tokenizer.decode_bytes(list(item.ids)).decode()
        answer = re.findall(r"Judge this answer.\n(.*)<\|im_end\|>\n<\|im_start\|>assistant", text, re.DOTALL)[0]
        if item.max_tokens == 1:
            likely = {str(score_of(answer)): 0.8, str(score_of(answer) % 5 + 1): 0.2}
            shares = {i: likely.get(self.tokenizer.bytes_of(i).decode().strip(), 1e-9) for i in item.logprob_ids}
            return PassResult("", logprobs=({i: math.log(share) for i, share in shares.items()},))
        self.seen.append(answer)
        self.seeds.append(item.sampling.seed)
        if "die" in answer:
            return PassResult("", finish="error", error="no memory for this one")
        if "endless" in answer:
            return PassResult("", self.tokenizer.encode(" on and on"), finish="length")
        if "garbled" in answer:
            return PassResult("", self.tokenizer.encode(" something else"))
        reply = f" about {answer.split()[0]}\nScore: {score_of(answer)}"
        return PassResult("", self.tokenizer.encode(reply), cached_tokens=5)


def cases(count: int, **metadata: str) -> list[Case]:
    return [Case(f"c{i}", {"answer": f"answer{i} is long"}, metadata, row=i + 1) for i in range(count)]


def test_a_prompt_is_held_to_the_context_for_which_the_engine_has_memory(
    run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer
) -> None:
    long = Case("long", {"answer": "answer is " + "very " * 900 + "long"})
    for room, failures in ((500, 1), (2000, 0)):
        tally = judging(run, rubric, Script(tokenizer), room=room).judge([*cases(2), long])
        assert tally.failures.total() == failures
        if failures:
            failed = stored(run)["long"].outcome
            assert isinstance(failed, Failure) and f"the judge's context is {room}" in failed.message


def test_every_case_gets_its_own_verdict_whatever_the_order(
    run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer
) -> None:
    tally = judging(run, rubric, Script(tokenizer)).judge(cases(300))
    assert (tally.judged, tally.done, tally.tokens.cached) == (300, 300, 1500)
    for record in stored(run).values():
        assert isinstance(record.outcome, Verdict)
        score = record.outcome.scores["score"]
        answer = f"answer{record.case_id[1:]} is long"
        assert score.value == score_of(answer)
        assert score.confidence == pytest.approx(0.8, abs=1e-6)
        assert record.outcome.fields["reason"] == f"about {answer.split()[0]}"


def test_failures_say_why_and_leave_the_others(run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer) -> None:
    texts = ["die", "endless", "garbled", "", "word " * 3000, "fine"]
    rows: list[Case | BadRow] = [Case(f"c{at}", {"answer": text}, row=at + 1) for at, text in enumerate(texts)]
    rows += [Case("c6", {}, row=7), BadRow("c7", 8, "x.csv", "line 9", "the row has 3 fields, not 4")]
    tally = judging(run, rubric, Script(tokenizer)).judge(rows)
    found = stored(run)
    kinds = [found[f"c{at}"].outcome.kind if isinstance(found[f"c{at}"].outcome, Failure) else "" for at in range(8)]  # type: ignore[union-attr]
    assert kinds == [
        "engine-error", "unfinished-reply", "unreadable-reply", "missing-input", "prompt-too-long", "",
        "missing-input", "bad-row",
    ]  # fmt: skip
    assert tally.failures.total() == 7
    assert tally.judged == 1
    for record in found.values():
        assert "word" not in str(record.outcome) or isinstance(record.outcome, Verdict)


def test_what_is_judged_is_skipped_and_failures_are_tried_again(
    run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer
) -> None:
    rows = [*cases(20), Case("bad", {"answer": "die now"}, row=21)]
    judging(run, rubric, Script(tokenizer)).judge(rows)
    script = Script(tokenizer)
    again = judging(run, rubric, script).judge(rows)
    assert script.seen == ["die now"]
    assert (again.skipped, again.judged, again.failures.total()) == (20, 0, 1)


def test_a_row_that_is_fixed_leaves_no_failure_behind(run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer) -> None:
    bad = BadRow("line 2", 1, "x.csv", "line 2", "it has no id")
    elsewhere = BadRow("line 9", 1, "y.csv", "line 9", "it has no id")
    judging(run, rubric, Script(tokenizer)).judge([bad, elsewhere, *cases(2)])
    assert set(stored(run)) == {"line 2", "line 9", "c0", "c1"}
    judging(run, rubric, Script(tokenizer)).judge([Case("fixed", {"answer": "fine"}, row=1), *cases(2)])
    assert set(stored(run)) == {"line 9", "fixed", "c0", "c1"}


def test_a_bad_row_stands_beside_numbered_ones_and_never_twice(
    run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer
) -> None:
    for name in ("line 2", "x.csv line 2"):
        bad = BadRow(name, 1, "x.csv", "line 2", "it has no id")
        judging(run, rubric, Script(tokenizer)).judge([bad, *cases(2)])
    assert set(stored(run)) == {"x.csv line 2", "c0", "c1"}
    numbered = BadRow("1", 1, "x.csv", "line 2", "it is broken")
    judging(run, rubric, Script(tokenizer)).judge([numbered, Case("2", {"answer": "a"}, row=2)])
    assert set(stored(run)) == {"1", "2", "c0", "c1"}


def test_changed_texts_are_judged_again(run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer) -> None:
    judging(run, rubric, Script(tokenizer)).judge(cases(3))
    changed = [*cases(2), Case("c2", {"answer": "quite another"}, row=3)]
    script = Script(tokenizer)
    assert judging(run, rubric, script).judge(changed).rejudged == 1
    assert script.seen == ["quite another"]
    outcome = stored(run)["c2"].outcome
    assert isinstance(outcome, Verdict)
    assert outcome.scores["score"].value == score_of("quite another")


def test_numbered_rows_that_moved_are_refused(run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer) -> None:
    rows = [Case(str(at), {"answer": f"a{at}"}, row=at) for at in (1, 2, 3)]
    run.set_setting(SETTING, {"mapping": {}, "id": None})
    judging(run, rubric, Script(tokenizer)).judge(rows)
    moved = [Case(str(at), {"answer": f"a{at + 1}"}, row=at) for at in (1, 2)]
    with pytest.raises(RunFileError, match="row 1"):
        judging(run, rubric, Script(tokenizer)).judge(moved)


def test_metadata_is_filled_in_later_without_judging(run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer) -> None:
    judging(run, rubric, Script(tokenizer)).judge(cases(5, chatbot="v1", secret="s"))
    assert stored(run)["c0"].metadata == {}
    script = Script(tokenizer)
    judging(run, rubric, script, keep=["chatbot"]).judge(cases(5, chatbot="v1", secret="s"))
    assert script.seen == []
    assert stored(run)["c0"].metadata == {"chatbot": "v1"}


def test_samples_average_their_distributions(run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer) -> None:
    script = Script(tokenizer)
    judging(run, rubric, script, samples=4).judge(cases(10))
    assert len(script.seen) == 40
    # With one seed for all cases, all would draw alike, and err together.
    assert len(set(script.seeds)) == 40
    outcome = stored(run)["c0"].outcome
    assert isinstance(outcome, Verdict)
    assert sum(outcome.scores["score"].probabilities.values()) == pytest.approx(1)


class Fickle(Script):
    """Scores all alike, and says something else with each seed."""

    def __call__(self, item: Pass) -> PassResult:
        result = super().__call__(item)
        if item.max_tokens == 1:
            return PassResult("", logprobs=(dict.fromkeys(item.logprob_ids, -1.0),))
        said = f" seed {item.sampling.seed}\nScore: 3"
        return replace(result, ids=self.tokenizer.encode(said))


def test_samples_count_in_the_order_they_were_asked_for(
    tmp_path: Path, rubric: Rubric, tokenizer: JudgeTokenizer
) -> None:
    found = []
    for shuffle in (None, 3):
        with RunFile.create(tmp_path / f"{shuffle}.run") as run:
            judging(run, rubric, Fickle(tokenizer), samples=4, shuffle=shuffle).judge(cases(10))
            found.append({name: record.outcome for name, record in stored(run).items()})
    assert found[0] == found[1]


def test_stopping_early_keeps_what_is_done(run: RunFile, rubric: Rubric, tokenizer: JudgeTokenizer) -> None:
    tallies: list[Tally] = []
    stop = judging(run, rubric, Script(tokenizer), watch=tallies.append, stopped=lambda: len(tallies) >= 30)
    stop.judge(cases(200))
    done = len(stored(run))
    assert 30 <= done < 200
    judging(run, rubric, Script(tokenizer)).judge(cases(200))
    assert len(stored(run)) == 200


def test_a_batch_ends_at_so_many_rows_or_characters() -> None:
    """A Parquet file of some kilobytes can repeat a text of 15 MB in each row: 128 such texts would fill the memory."""
    usual = [Case(str(number), {"answer": "Yes."}) for number in range(300)]
    assert [len(batch) for batch in batches(usual)] == [BATCH, BATCH, 300 - 2 * BATCH]
    half = "x" * (BATCH_CHARACTERS // 2)
    long = [Case(str(number), {"answer": half}, {"context": half * (number % 2)}) for number in range(4)]
    assert [len(batch) for batch in batches([*long, *usual[:2]])] == [2, 2, 2]
