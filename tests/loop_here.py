"""The judging loop with an engine that answers by a script, into a run of its own."""

from collections.abc import Callable
from typing import Protocol

from scripted_engine import ScriptedEngine

from pathway_local.judges.judge_spec import Chat
from pathway_local.judging.loop import JudgingLoop, LocalRater
from pathway_local.judging.pool import Pool
from pathway_local.passes import Pass, PassResult, Sampling
from pathway_local.rater import Rater
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.pair import Orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric


class Script(Protocol):
    """What answers each pass."""

    tokenizer: JudgeTokenizer
    __call__: Callable[[Pass], PassResult]


def judging(
    run: RunFile,
    rubric: Rubric,
    script: Script,
    *,
    samples: int = 1,
    shuffle: int | None = 3,
    room: int = 2000,
    orders: Orders = "both",
    **options: object,
) -> JudgingLoop:
    store_rubric(run, rubric)
    rater = run.add_rater(Rater("script", "judge", rubric.name, {"samples": samples}))
    writer = PromptWriter(rubric, script.tokenizer, Chat(), context=2000)
    pool = Pool(lambda: ScriptedEngine(script, shuffle=shuffle, context=room), script.tokenizer, 2000)
    local = LocalRater(rater, writer, Sampling(0.0 if samples == 1 else 1.0), samples, orders)
    return JudgingLoop(run, "x.csv", [local], pool, window=16, **options)  # type: ignore[arg-type]


def stored(run: RunFile) -> dict[str, Record]:
    records = list(run.records())
    assert len({record.case_id for record in records}) == len(records)
    return {record.case_id: record for record in records}
