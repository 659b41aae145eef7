"""Which of several chatbots each rater scores higher: differences and an order as tables, and what they show."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from shlex import quote

import numpy as np

from pathway_local.errors import UnknownName, UsageError
from pathway_local.note import Note
from pathway_local.results.analysis import Analysis
from pathway_local.results.bad import bad_answers, bad_table, check_bad
from pathway_local.results.choices import FIRST, OF_CHOICES, choices_between, chosen, notes_on_choices
from pathway_local.results.comparison import (
    CompareOptions,
    Comparison,
    ComparisonPlan,
    Difference,
    comparisons,
)
from pathway_local.results.mistakes import mistakes, stopped_judges
from pathway_local.results.pairing import pairing
from pathway_local.results.table import Cell, Column, Table
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.sheets.row import shown
from pathway_local.statistics.figure import Estimate, Undefined, undefined_estimate

SECTION = "comparison"

MOST_UNASKED = 12
"""Values of a column that are all compared unasked: 66 pairs."""

SHOWN_VALUES = 20


Places = Mapping[str, tuple[int, int]]
"""The best and the worst place that each chatbot can have, by its name."""


def compare(data: Scores, options: CompareOptions) -> Iterator[Table]:
    """Show which chatbots each rater scores higher on the same questions, with intervals, and their order.

    Answers are compared question by question, or as groups if they share no questions, such as two languages. With
    --pairs, chatbots are compared by the choices of a rubric that compares two responses.
    """
    if bool(options.pairs) == bool(options.between):
        raise UsageError(
            "compare needs either --between or --pairs", "Such as --between chatbot, or --pairs bot_a,bot_b."
        )
    rubrics = data.rated(options.rubric, options.rater)
    stopped = stopped_judges(data, options.rater)
    if options.pairs:
        matrices, plan = choices_between(data, rubrics, options)
        yield from comparison_tables(matrices, plan, stopped)
        return
    matrices, plan = [*data.matrices(rubrics)], comparison_plan(data, options)
    warnings = list[Note](stopped)
    for matrix in matrices:
        warnings += mistakes(matrix, clusters=matrix.clusters(plan.cluster) if plan.cluster else None)
    yield from comparison_tables(matrices, plan, warnings)
    check_bad(matrices, options.bad)
    told = options.model_copy(update={"cluster": plan.cluster})
    found = [each for matrix in matrices if (each := bad_answers(data, matrix, told))]
    yield from bad_table(found, plan.between, options.rater, plan.values)


def comparison_plan(data: Scores, options: CompareOptions) -> ComparisonPlan:
    """Return what to compare, as these options say. Raises PathwayError for columns and values."""
    name, equals, named = options.between.partition("=")
    if not name.strip() or bool(equals) > bool(named.strip(" ,")):
        said = f"--between {options.between} is not COLUMN or COLUMN=A,B"
        raise UsageError(said, "Such as --between chatbot=v1,v2.")
    column, cluster = data.column(name), data.column(options.cluster)
    counted = data.counted_values(column)
    known = [value for value in counted if value]
    values = [value.strip() for value in named.split(",")] if equals else known
    for value in values:
        if value not in known:
            raise UnknownName(f"value of {column}", value, known[:SHOWN_VALUES])
    if len(values) < 2 or len(set(values)) < len(values):
        listed = ", ".join(map(shown, values[:SHOWN_VALUES]))
        said = f"--between needs two values of {shown(column)}, each once, and has {listed or 'none'}"
        raise UsageError(said, "Such as --between chatbot=v1,v2.")
    if not equals and len(values) > MOST_UNASKED:
        pairs = len(values) * (len(values) - 1) // 2
        said = f"{shown(column)} has {len(values)} values in the run, which make {pairs} pairs"
        raise UsageError(said, f"Name those to compare: --between {quote(f'{column}=A,B,C')}.")
    by = pairing(data, options.pair_by, column, values, options.min_group)
    return ComparisonPlan(
        column, tuple(values), by, options.rater, cluster, options.min_group,
        0 if equals else counted[""],
    )  # fmt: skip


def comparison_tables(
    matrices: Sequence[RatingsMatrix], plan: ComparisonPlan, warnings: Sequence[Note] = ()
) -> Iterator[Table]:
    """A row for each score and rater, with a sentence each; and what labels of people make of it."""
    found = comparisons(matrices, plan)
    if not found:
        yield Table("compare", {}, (), (), [Note("no_scores", kind="answer")], section=SECTION)
        return
    two = len(plan.values) == 2
    by_people = [each for each in found if isinstance(each.corrected, Difference)]
    labelled = [each.rater for each in by_people]
    quoted = next((name for name in plan.raters if name in labelled), labelled[0] if labelled else "")
    # Two estimates of what people would say would confuse: that of one judge is quoted, the others stand in detail.
    found = [each if each.rater == quoted or not labelled else replace(each, corrected=None) for each in found]
    about: dict[str, object] = {"between": plan.between, "values": list(plan.values), "pair_by": plan.pair_by or None}
    about |= dict(zip(("first", "second"), plan.values, strict=True)) if two else {}
    about |= {"cluster": plan.cluster} if plan.cluster else {}
    told = [
        (each, note) for each in found for note in chain(sentences_on(each, plan) if two else (), notes_on(each, plan))
    ]
    ranked = list[dict[str, Cell]]()
    for _, of_rater in groupby([] if two else found, lambda each: (each.rubric, each.score, each.rater)):
        pairs = list(of_rater)
        rows, said = ordered(pairs, plan)
        ranked, told = ranked + rows, told + [(pairs[0], note) for note in said]
    several = len({(each.rubric, each.score) for each in found}) > 1
    notes = [*_shared(found, plan), *(_under(each, note) if several else note for each, note in told)]
    named = [Column("rubric"), *([] if plan.columns else [Column("score", usual="score", below=True)])]
    shared = [*([] if two else [Column("first"), Column("second")]), *named, Column("rater", "rater")]
    columns, rows = [*shared, *_columns(plan, two, bool(by_people))], [_row(each) for each in found]
    key = "choices_compared" if plan.columns else "compare"
    yield Table(key, about, columns, rows, [*notes, *warnings], section=SECTION, chart="interval")
    if ranked:
        columns = [Column("chatbot"), *named, Column("rater", "rater"), Column("cases", "count", detail=True)]
        columns += [Column("scored", "count"), Column("win_rate" if plan.columns else "mean", "estimate")]
        columns += [Column(name, "count") for name in ("best", "worst", "corrected_best", "corrected_worst")]
        yield Table("order", about, columns, ranked, [Note("how_places"), Note("means_alone")], section=SECTION)
    if by_people:
        counts = [Column(name, "count") for name in ("pairs", "first_labels", "second_labels")]
        columns = [
            *shared,
            *counts,
            Column("corrected", "estimate"),
            Column("sample"),
            Column("family", "count"),
        ]
        own = {"pairs": "corrected_pairs", "family": "corrected_family"}
        corrected = [row | {name: row[key] for name, key in own.items()} for row in map(_row, by_people)]
        yield Table("corrected_differences", about, columns, corrected, detail=True, section=SECTION)


def places(names: Sequence[str], above: Collection[tuple[str, str]]) -> Places:
    """Return the places that each name can have if the first of each pair is `above` the second.

    A chain shows nothing of its ends, of which choices may prefer the last, and which perhaps never met. If the pairs
    come from intervals that hold for all differences at once, all places hold at once, too.
    """
    codes, size = {name: code for code, name in enumerate(names)}, len(names)
    known = np.zeros((size, size), dtype=np.float32)
    for one, other in above:
        known[codes[one], codes[other]] = 1
    reached = known
    for _ in range(size.bit_length()):
        reached = np.minimum(reached + reached @ reached, 1)
    known *= 1 - reached.T  # a circle orders nothing
    higher, lower = (known.sum(axis=axis).astype(int).tolist() for axis in (0, 1))
    return {name: (1 + above, size - below) for name, above, below in zip(names, higher, lower, strict=True)}


def above(differences: Iterable[tuple[str, str, Estimate]]) -> list[tuple[str, str]]:
    """The pairs of names whose difference, of the first less the second, leaves zero out: the higher one first."""
    shown = [(difference.shown, first, second) for first, second, difference in differences]
    return [
        (one, other) if side == "first" else (other, one) for side, one, other in shown if side in ("first", "second")
    ]


def ordered(pairs: Sequence[Comparison], plan: ComparisonPlan) -> tuple[list[dict[str, Cell]], list[Note]]:
    """One rater's chatbots as rows, those with better places first, and which of them comes first.

    Chatbots with too few scores are left out. By people's labels there are places if they correct every difference.
    """
    every = {side.name: side for each in pairs for side in (each.first, each.second)}
    enough = (side for side in every.values() if side.scored >= plan.smallest)
    sides = {side.name: (side, side.mean.value) for side in enough if isinstance(side.mean.value, float)}
    few, by, notes = [name for name in every if name not in sides], {"rater": pairs[0].rater}, list[Note]()
    found = [(*each.names, each.found.estimate) for each in pairs if isinstance(each.found, Difference)]
    labelled = [(*each.names, each.corrected.estimate) for each in pairs if isinstance(each.corrected, Difference)]
    own = places([*sides], above(found)) if found else {}
    by_people = places([*sides], above(labelled)) if len(labelled) == len(pairs) else {}
    if not found:
        notes.append(Note("no_order", {**by, "reason": pairs[0].found}, "answer"))
    corrected = Note("by_rater_corrected", {**by, "labels": Note("people_ratings")})
    for told, by_pair, who in ((own, found, Note("by_rater", by)), (by_people, labelled, corrected)):
        if first := _may_be_first(told, above(by_pair)):
            key = "order_first_open" if len(first) > 1 else FIRST if plan.columns else "order_first"
            said = Note(key, {**by, "who": who, "first": first[0], "names": first}, "answer")
            without = {"said": said, "smallest": plan.smallest, "few": few}
            notes.append(Note("order_without", without, "answer") if few else said)
    rows = [
        {
            "chatbot": side.name, "rubric": pairs[0].rubric, "score": pairs[0].score, "rater": pairs[0].rater,
            "cases": side.cases, "scored": side.scored, "mean": side.mean, "win_rate": side.mean,
            **_ends(own, side.name), **_ends(by_people, side.name, "corrected_"),
        }
        for side, _ in sorted(sides.values(), key=lambda each: (own.get(each[0].name, (0, 0)), -each[1]))
    ]  # fmt: skip
    return rows, notes


def _may_be_first(told: Places, above: Collection[tuple[str, str]]) -> list[str]:
    """Those that none is above; if it is one, with those that it is not above either."""
    first = [name for name, (best, _) in told.items() if best == 1]
    below = {other for one, other in above if first == [one]}
    return first + [name for name in told if len(first) == 1 and name not in (*first, *below)]


def _ends(found: Places, name: str, prefix: str = "") -> dict[str, Cell]:
    return dict(zip((f"{prefix}best", f"{prefix}worst"), found.get(name, ()), strict=False))


def _columns(plan: ComparisonPlan, two: bool, by_people: bool) -> list[Column]:
    """Return the columns of the table of differences."""
    if plan.columns:
        return [Column("shown", "key", detail=two), *OF_CHOICES]
    return [
        Column("shown", "key", detail=two), *([Column("pairs", "count")] if plan.pair_by else []),
        *(Column(name, "count", detail=not two) for name in (("wins", "ties", "losses") if plan.pair_by else ())),
        *(Column(name, "count", detail=bool(plan.pair_by)) for name in ("first_scored", "second_scored")),
        Column("difference", "estimate"), Column("corrected", "estimate", detail=not by_people),
        Column("corrected_shown", "key", detail=two),
        *(Column(name, "count", detail=True) for name in ("first_cases", "second_cases", "unpaired", "several")),
        Column("family", "count", detail=True),
    ]  # fmt: skip


def _row(each: Comparison) -> dict[str, Cell]:
    found, corrected = each.found, each.corrected
    row: dict[str, Cell] = dict(zip(("first", "second"), each.names, strict=True))
    row |= {"rubric": each.rubric, "score": each.score, "rater": each.rater}
    row |= {"unpaired": each.unpaired, "several": each.several, "family": 1}
    if isinstance(found, Undefined):
        row["difference"] = undefined_estimate(found.reason)
    else:
        row |= {"difference": found.estimate, "shown": found.estimate.shown, "family": found.family}
        row |= {name: getattr(found, name) for name in ("pairs", "wins", "ties", "losses", "flips")}
        for place, side in (("first", each.first), ("second", each.second)):
            row |= {f"{place}_cases": side.cases, f"{place}_scored": side.scored}
    if isinstance(corrected, Undefined):
        row["corrected"] = undefined_estimate(corrected.reason)
    elif corrected:
        row |= {"corrected": corrected.estimate, "corrected_shown": corrected.estimate.shown, "sample": corrected.seed}
        row |= {"corrected_pairs": corrected.pairs, "corrected_family": corrected.family}
        row |= zip(("first_labels", "second_labels"), corrected.labels, strict=True)
    return row


def _under(each: Comparison, said: Note) -> Note:
    return Note("under_score", {"rubric": each.rubric, "score": each.score, "said": said}, said.kind)


def _shared(found: Sequence[Comparison], plan: ComparisonPlan) -> Iterator[Note]:
    """How cases are paired, and the settings that all comparisons of a command share."""
    by = plan.pairing
    if not plan.columns:
        told = {"name": by.name, "values": list(plan.values), "shared": by.shared, "different": by.different}
        yield Note("not_paired" if not by.name else "paired" if by.shared else "paired_none", told)
    if plan.cluster:
        yield Note("together", {"column": plan.cluster})
    elif by.shared or not by.name or plan.columns:
        yield Note("questions_alone" if by.name and not plan.columns else "cases_alone")
    if (family := max((each.found.family for each in found if isinstance(each.found, Difference)), default=1)) > 1:
        yield Note("family", {"count": family})
    if plan.columns:
        yield from notes_on_choices(plan)
    elif plan.without:
        yield Note("without_value", {"count": plan.without, "column": plan.between}, "note")


def notes_on(each: Comparison, plan: ComparisonPlan) -> Iterator[Note]:
    """Which questions and answers do not count."""
    if not isinstance(each.found, Undefined):
        told: dict[str, object] = {"rater": each.rater}
        for name, side in (("first", each.first), ("second", each.second)):
            told |= {name: side.name, f"{name}_scored": side.scored, f"{name}_cases": side.cases}
        missing = any(side.scored < side.cases for side in (each.first, each.second))
        if len(plan.values) == 2 and not plan.columns and (each.unpaired or missing):
            said = Note("scored_of", told, "note")
            yield Note("one_side_only", {"said": said, "count": each.unpaired}, "note") if each.unpaired else said
        if each.several:
            yield Note("several_answers", {"rater": each.rater, "count": each.several}, "note")
    if isinstance(each.corrected, Undefined):
        yield Note("labels_cannot", {"rater": each.rater, "reason": each.corrected}, "note")


def sentences_on(each: Comparison, plan: ComparisonPlan) -> Iterator[Note]:
    """How the rater's scores compare, and how people would compare the chatbots: the sentence to quote."""
    found, corrected, by = each.found, each.corrected, {"rater": each.rater}
    reason = found if isinstance(found, Undefined) else found.estimate.value
    if isinstance(reason, Undefined):
        sides = dict(zip(("first", "second"), each.names, strict=True))
        yield Note("not_compared", {**by, **sides, "reason": reason}, "answer")
    elif isinstance(found, Difference):
        yield _finding(Note("by_rater", by), each, plan, found, each.rater)
    if not isinstance(corrected, Difference):
        return
    if isinstance(corrected.estimate.value, Undefined):
        yield Note("labels_cannot", {**by, "reason": corrected.estimate.value}, "answer")
        return
    count = sum(corrected.labels)
    told = {"people": Note("people"), "count": count, "rated": corrected.rated, "seed": str(corrected.seed)}
    labels = Note("some_of_labels" if count < corrected.rated else "all_of_labels", told)
    yield _finding(Note("by_rater_corrected", {**by, "labels": labels}), each, plan, corrected)


def _finding(who: Note, each: Comparison, plan: ComparisonPlan, found: Difference, rater: str = "") -> Note:
    """The difference and what it shows: which side the `rater` scores higher, or without one, people would."""
    if plan.columns:
        return chosen(who, each, found, rater)
    difference, interval, side = found.estimate.value, found.estimate.interval, found.estimate.shown
    assert not isinstance(difference, Undefined), "callers say why there is no difference"
    side_of = Note("higher" if difference > 0 else "lower")
    apart = Note("points_apart", {"points": abs(difference), "side": side_of})
    of = Note("of_cases", {"first": each.first.scored, "second": each.second.scored})
    told: dict[str, object] = {"who": who}
    told |= {"of": Note("of_questions", {"count": found.pairs}) if plan.pair_by else of}
    names = {"first": each.first.name, "second": each.second.name}
    told |= names | {"apart": apart if round(difference, 2) or side in names else Note("as_high")}
    if isinstance(interval, Undefined):
        return Note("compared_alone", told | {"reason": interval}, "answer")
    key = "scores_higher" if rater else "people_higher"
    shown = Note(key, {"rater": rater, "name": names[side]}) if side in names else Note("unclear")
    return Note("compared", told | {"interval": interval, "shown": shown}, "answer")


ANALYSIS = Analysis(
    CompareOptions,
    compare,
    (
        "pathway-local compare my.run --between chatbot",
        "pathway-local compare my.run --pairs bot_a,bot_b --out pairs.csv",
    ),
)
