"""Draws cases for people to rate: writes a rating sheet for each person and stores each case's probability."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pathway_local.case import Case, fingerprint, rank
from pathway_local.errors import UsageError
from pathway_local.ratings.cases_given import CasesGiven, Given
from pathway_local.ratings.rating_rows import NOTES, handout_ids, is_name
from pathway_local.ratings.rating_sheet import RatingRow, SheetWriter, write_rating_sheet
from pathway_local.ratings.samples import (
    LEAST,
    Inclusion,
    draw,
    hand_out,
    handed_to,
    inclusions,
    samples,
    store_handouts,
    store_sample,
)
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.row import shown
from pathway_local.system.private_file import check_output, temporary_files_in
from pathway_local.verdict import Value
from pathway_local.words.language import in_any_language

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
"""Characters that a rater's name may have but a file's name should not."""


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """Sample size, seed, sheet and raters.

    Each value of the column `strata` of the cases file is a stratum, from which at least `least` cases are drawn. All
    evaluators get the cases in the order in which they were drawn, so that the first cases of a sample without strata
    are a smaller random sample. With `only`, these cases are handed out as they are: no sample.
    """

    given: Given
    size: int
    seed: int
    out: Path
    strata: str = ""
    raters: Sequence[str] = ()
    least: int = LEAST
    only: frozenset[str] = frozenset()

    def sheets(self) -> dict[str, Path]:
        """Return the sheet of each evaluator: `out`, or with several of them a file beside it for each."""
        if len(self.raters) < 2:
            return {next(iter(self.raters), ""): self.out}
        return {rater: self.out.with_stem(f"{self.out.stem}-{_NOT_IN_NAMES.sub('_', rater)}") for rater in self.raters}

    def check(self, *, force: bool) -> None:
        """Check the sheets' places and the evaluators' names. Raises UsageError, OutputExists."""
        sheets = self.sheets()
        for path in sheets.values():
            check_output(path, force=force)
        if not all(map(is_name, self.raters)):
            raise UsageError("an evaluator's name is empty, too long or unprintable", "Give each --rater a short name.")
        if len(set(self.raters)) != len(self.raters) or len(set(sheets.values())) != len(sheets):
            raise UsageError("two evaluators have the same name", "Give each --rater a different name.")


@dataclass(frozen=True, slots=True)
class Drawn:
    """Counts of a sample: `drawn` of all `cases`, and the number of them in each evaluator's sheet (`in_sheets`).

    An earlier, smaller sample with the same seed gave that evaluator the others. `cut` counts texts that were too long
    for a cell; `notes` say how the cases file was read.
    """

    cases: int
    left_out: int
    drawn: int
    in_sheets: Mapping[str, int]
    strata: int
    cut: int
    notes: tuple[str, ...]


def sample(
    plan: SamplePlan, command: Sequence[str], write: SheetWriter = write_rating_sheet, *, force: bool = False
) -> Drawn:
    """Draw the sample, store it and `write` the sheets. Raises UsageError, CasesError, OutputExists."""
    plan.check(force=force)
    sheets = plan.sheets()
    with CasesGiven.open(plan.given) as given:
        # Columns that a rating sheet, or the file that a page saves, has beside the scores.
        own = {"rater", NOTES, *handout_ids(), *in_any_language("sheet_notes")}
        taken = [name for name in given.rubric.format.given if name in own]
        if taken:
            said = f"a rating sheet has a column {shown(taken[0])}, and {given.rubric.name!r} a score of that name"
            raise UsageError(said, "Rename the score in a copy of the rubric, and judge under that.")
        plan = replace(plan, strata=given.file.metadata_column(plan.strata)) if plan.strata else plan
        stratum_by_id = {case.id: case.metadata.get(plan.strata, "") for case in given}
        ids, strata = list(stratum_by_id), list(stratum_by_id.values())
        if plan.only:
            drawn, chances = [case in plan.only for case in ids], [0.0] * len(ids)
        else:
            drawn, chances = draw(ids, strata, plan.size, plan.seed, plan.least)
        run = given.run()
        every, chosen = _read_again(run, given, ids, [*zip(strata, drawn, chances, strict=True)])
        before = {} if plan.only else _drawn_before(run, given.rubric.name, plan, _hashes(every))
        facts: dict[str, Value] = {"size": plan.size, "seed": plan.seed, "strata": plan.strata}
        facts["raters"] = list(plan.raters)
        kind = "handed_over" if plan.only else "sample"
        begun = given.handing_out(list(sheets.values()), command, {kind: facts}, force=force)
        with begun as (files, job, counts):
            if not plan.only:
                store_sample(run, job, given.rubric.name, plan.seed, plan.strata, every)
            cut, in_sheets = 0, dict[str, int]()
            with temporary_files_in(plan.out.parent):
                for rater, file in zip(sheets, files, strict=True):
                    has = handed_to(run, given.rubric.name, rater) & before.keys() if before else ()
                    rows = _rows(run, given, plan, rater, [case for case in chosen if case.id not in has], job)
                    in_sheets[rater] = len(rows)
                    cut += write(file, given.rubric, rater, rows)
            counts |= {"cases": len(ids), "drawn": len(chosen), "in_sheets": sum(in_sheets.values())}
        notes = (*given.file.notes, *given.file.remarks)
        return Drawn(len(ids), given.left_out, len(chosen), in_sheets, len(set(strata)), cut, notes)


def _read_again(
    run: RunFile, given: CasesGiven, ids: Sequence[str], fates: Sequence[tuple[str, bool, float]]
) -> tuple[list[Inclusion], list[Case]]:
    """Return every case's inclusion, and the drawn cases; `fates` holds stratum, drawn and probability of each case.

    A second reading finds hashes and texts, so that the texts of a large file are never all in memory.
    """
    numbers: dict[str, int] = {}
    every: list[Inclusion] = []
    chosen: list[Case] = []
    for place, case in enumerate(given):
        if place >= len(ids) or case.id != ids[place]:
            raise given.changed()
        stratum, is_drawn, chance = fates[place]
        case_hash = fingerprint(run.key, given.rubric.texts_of(case))
        number = numbers.setdefault(stratum, len(numbers))
        every.append(Inclusion(case.id, case_hash, case.row, number, chance, is_drawn))
        chosen += [case] if is_drawn else []
    if len(every) != len(ids):
        raise given.changed()
    return every, chosen


def _hashes(every: Iterable[Inclusion]) -> dict[str, str]:
    """Text hash by drawn case."""
    return {each.case_id: each.case_hash for each in every if each.drawn}


def _drawn_before(run: RunFile, rubric: str, plan: SamplePlan, drawn: Mapping[str, str]) -> dict[str, str]:
    """Return the cases of a smaller sample with the same seed; empty if this one does not contain them all."""
    same = [s for s in samples(run, rubric) if (s.seed, s.strata) == (plan.seed, plan.strata)]
    if not same:
        return {}
    if same[-1].drawn > plan.size:
        said = f"{same[-1].drawn} cases were already drawn with this seed"
        raise UsageError(said, "Draw at least as many, or change --seed.")
    earlier = _hashes(inclusions(run, same[-1].id))
    return earlier if same[-1].drawn < plan.size and earlier.items() <= drawn.items() else {}


def _rows(
    run: RunFile, given: CasesGiven, plan: SamplePlan, rater: str, cases: Sequence[Case], job: int
) -> list[RatingRow]:
    """Return one evaluator's rows in the order of the draw, under new random ids that the run stores."""
    order = sorted(cases, key=lambda case: rank(case.id, plan.seed))
    handouts = [hand_out(run.key, given.rubric, case, rater) for case in order]
    store_handouts(run, job, handouts)
    texts = [given.rubric.inputs_of(case) for case in order]
    return [RatingRow(each.custom_id, own) for each, own in zip(handouts, texts, strict=True)]
