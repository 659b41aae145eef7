"""What a verdict costs, counted in what no machine changes: it may shrink, never grow.

Where a number here goes down, put the new one; where it would go up, look for what does something twice.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, write_tokenizer
from scripted_engine import ScriptedEngine

from benchmark.made_cases import write_cases
from pathway_local.engines.vllm import CPU_BLOCK
from pathway_local.judges.judge_spec import Chat
from pathway_local.judging.loop import BATCH, JudgingLoop, LocalRater
from pathway_local.judging.pool import Pool
from pathway_local.passes import Pass, PassResult
from pathway_local.rater import Rater
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric

CASES = 1024
SEATS = 8
CACHE = 9_240_576
"""Bytes of a cache that holds 9,024 tokens of the tiny judge: the rubric, what is in the batch, and as much again."""

REPLY = "\nIt says what the ideal answer says.\n\n**Score:** 4\n\n**Justification:**\nNothing is amiss."


def test_calls_and_statements_of_a_thousand_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    tokenizer = JudgeTokenizer(write_tokenizer(FAMILIES[0], tmp_path))
    reply, usual = tokenizer.encode(REPLY), tokenizer.encode(" 4")[:1]
    encode, encode_cases = JudgeTokenizer.encode, JudgeTokenizer.encode_cases

    def counted(self: JudgeTokenizer, text: str) -> tuple[int, ...]:
        calls["of our own text"] += 1
        return encode(self, text)

    def counted_cases(self: JudgeTokenizer, texts: Sequence[str]) -> list[tuple[int, ...]]:
        calls["of cases' texts"] += 1
        return encode_cases(self, texts)

    def script(item: Pass) -> PassResult:
        calls["probes" if item.max_tokens == 1 else "replies"] += 1
        # As a model would: the usual spelling of the blank with its digit is all but sure.
        shares = dict.fromkeys(item.logprob_ids, -20.0) | dict.fromkeys(set(usual) & set(item.logprob_ids), -0.1)
        return PassResult(item.id, () if item.max_tokens == 1 else reply, logprobs=(shares,))

    monkeypatch.setattr(JudgeTokenizer, "encode", counted)
    monkeypatch.setattr(JudgeTokenizer, "encode_cases", counted_cases)
    rubric = load_rubric("pathway-answer")
    writer = PromptWriter(rubric, tokenizer, Chat(), context=8000)
    cases = cases_of(write_cases(tmp_path / "c.csv", rubric.inputs, CASES, 1, words=4), [rubric], None)
    with RunFile.create(tmp_path / "c.run") as run:
        store_rubric(run, rubric)
        rater = LocalRater(run.add_rater(Rater("x", "judge", rubric.name, {})), writer)
        written: Counter[str] = Counter()
        run.database._connection.set_trace_callback(lambda said: written.update([said.split()[0]]))
        pool = Pool(lambda: ScriptedEngine(script), tokenizer, 8000)
        assert JudgingLoop(run, "c.csv", [rater], pool).judge(iter(cases)).judged == CASES
    assert calls["replies"] == CASES
    assert calls["probes"] <= CASES
    assert calls["of cases' texts"] <= CASES / BATCH + 1, "a batch at once, and the rubric's examples"
    assert calls["of our own text"] <= 12, "the rubric's text is encoded once, not once for each case"
    # SQLite tells a statement three times: itself, for its trigger, and for the update of the sum in that.
    assert written["INSERT"] <= 3 * 2 * CASES, "a row for the case, a row for its outcome"
    assert written.total() - written["INSERT"] <= 60, written


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_tokens_passes_and_steps_of_real_verdicts(tiny_judge: Path, tmp_path: Path) -> None:
    cases = 24
    settings = {"max_num_seqs": SEATS, "kv_cache_memory_bytes": CACHE}
    scores, replies = _counted(tiny_judge, tmp_path, ["score", "through-score"], cases, settings)
    for found in (scores, replies):
        assert found["judged"] == cases
        assert found["workers would get the same settings"]
        assert found["looks at grammars"] == 1, "a rubric's grammar is the same for all of its cases"
        assert found["of the rubric from the cache, from the second case on"] > 0.97
        rounding = found["rubric"] % CPU_BLOCK
        most = found["rubric"] + found["of cases"] + cases * rounding
        assert found["computed"] <= most, "the rubric is computed once"
    assert scores["passes"] <= 2 * cases, "the reply, and the spelling of its score that it did not take"
    assert scores["generated"] <= 2 * cases, "a blank and a digit: all before them is pre-filled"
    assert scores["steps"] <= 4 * cases / SEATS, "cases share steps, three of them where all seats are taken"
    probes = replies["passes"] - cases
    assert cases <= probes <= 2 * cases, "a score's place, and the spelling that the reply did not take"
    computed = replies["computed in all"] - replies["computed"]
    assert computed <= probes * 2 * CPU_BLOCK, "a probe finds its prompt and the reply in the cache"


def _counted(judge: Path, folder: Path, details: Sequence[str], cases: int, settings: dict[str, int]) -> list[Any]:
    script = Path(__file__).with_name("count_work.py")
    asked = [str(judge), "pathway-answer", ",".join(details), str(cases), str(folder), json.dumps(settings)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # the cases' module is in scripts/
    command = [sys.executable, str(script), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=880, check=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()[-len(details) :]]
