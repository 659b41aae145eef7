"""The hashes of texts in merged runs: each run has its own key, so only the cases file can tell which are the same."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from pathway_local.case import Case, fingerprint
from pathway_local.errors import CaseError, CasesError, UsageError
from pathway_local.rubrics.compiled import read_compiled
from pathway_local.rubrics.pair import BOTH
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.merge_part import MergePart, Notify, opened
from pathway_local.runs.run_cases import SETTING, cases_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.in_memory import NAME as IN_MEMORY
from pathway_local.sheets.pseudonyms import Pseudonyms

_IDS = "SELECT case_id FROM cases UNION SELECT case_id FROM inclusions UNION SELECT case_id FROM handouts"
_STALE = """
    SELECT case_hash FROM outcomes JOIN cases ON key = case_key
    WHERE superseded = 0 AND case_hash <> ''
"""


@dataclass(slots=True)
class TextHashes:
    """For each part, the merged run's hash of a text by the part's own; `present` are those of shared cases' texts now.

    Of a case, all texts that a rubric reads have one hash, and each text that a reply must repeat has one.
    A hash that is missing belongs to a text that the cases file no longer has.
    """

    of: list[dict[str, str]]
    present: set[str] = field(default_factory=set)


def text_hashes(parts: Sequence[MergePart], cases: Path | None, pseudonyms: Path | None, notify: Notify) -> TextHashes:
    """Return the hashes under the first part's key. Reads the cases file once, if keys differ or it is given.

    Raises UsageError if it is needed and missing, CasesError if it holds none of the texts of a part, or if cases
    that are known by row number have other texts there.
    """
    found = TextHashes([{} for _ in parts])
    if cases is None:
        if any(part.key != parts[0].key for part in parts):
            name = next((each for part in parts for each in _files(part)), "FILE")
            hint = f"Add --cases {quote(name)}: the merged run then knows which texts were judged."
            if name == str(IN_MEMORY):  # they came from a Python program
                hint = "Write the rows to a file and give it with --cases."
            raise UsageError("each of these runs recognises texts by its own key", hint)
        return found
    rubrics = {name: stored for part in parts for name, stored in part.rubrics.items()}
    remembering = next((part for part in parts if SETTING in part.settings), parts[0])
    with opened(remembering.path) as run:
        read = [read_compiled(*stored) for stored in rubrics.values()]
        key = Pseudonyms.of_file(pseudonyms) if pseudonyms else None
        sheet = cases_of(cases, read, run, pseudonyms=key)
    for note in sheet.notes:
        notify(note)
    _add(found, parts, sheet, read)
    for part, own in zip(parts, found.of, strict=True):
        _tell_changed(part, own, cases.name, notify)
    return found


def _files(part: MergePart) -> Iterable[str]:
    return (str(job.fact("cases")["file"]) for job in part.jobs if "file" in job.fact("cases"))


def _add(found: TextHashes, parts: Sequence[MergePart], sheet: CasesFile, rubrics: Sequence[Rubric]) -> None:
    """Hash the texts of each case under the keys of the parts that have the case."""
    having = _parts_by_case(parts)
    for case in sheet:
        if not isinstance(case, Case):
            continue
        places = having.get(case.id, ())
        for rubric in rubrics if places else ():
            texts = rubric.texts_of(case)
            here = fingerprint(parts[0].key, texts)
            for place in places:
                found.of[place][fingerprint(parts[place].key, texts)] = here
            for echo in _echoed(rubric, case):
                said = fingerprint(parts[0].key, {"": echo})
                for place in places:
                    found.of[place][fingerprint(parts[place].key, {"": echo})] = said
            if len(places) > 1:
                found.present.add(here)


def _echoed(rubric: Rubric, case: Case) -> set[str]:
    """Return the case's texts that a reply must repeat, in either order of a comparison."""
    try:
        read = [rubric.inputs_of(case, order) for order in (BOTH if rubric.pair else BOTH[:1])]
    except CaseError:
        return set()  # nobody was given this case
    return {inputs[name] for inputs in read for name in rubric.format.echoes.values() if name in inputs}


def _parts_by_case(parts: Sequence[MergePart]) -> Mapping[str, tuple[int, ...]]:
    having: defaultdict[str, tuple[int, ...]] = defaultdict(tuple)
    for place, part in enumerate(parts):
        with opened(part.path) as run:
            for (case_id,) in run.database.stream(_IDS):
                having[case_id] += (place,)
    return having


def _tell_changed(part: MergePart, own: Mapping[str, str], file: str, notify: Notify) -> None:
    """Report how many verdicts are on texts that the cases file does not have. Raises CasesError if all are."""
    with opened(part.path) as run:
        missing = total = 0
        for (case_hash,) in run.database.stream(_STALE):
            total += 1
            missing += case_hash not in own
    if missing and (missing == total or part.numbered):
        said = f"{file} has other texts than {part.path.name} was judged on"
        raise CasesError(f"{said}, in {missing:,} of {total:,} verdicts", "Give --cases the file that was judged.")
    if missing:
        notify(f"{part.path.name}: {missing:,} verdicts are on texts that {file} does not have")
