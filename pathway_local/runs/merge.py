"""Joins runs of the same rubrics and raters into a new one; the runs themselves stay as they are."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pathway_local.errors import RunFileError, UsageError
from pathway_local.rater import LABEL, Rater
from pathway_local.runs.audit import MERGED, PARTS, AuditTrail, file_facts, recorded
from pathway_local.runs.content import left_facts
from pathway_local.runs.merge_part import MergePart, Notify, RaterKey, look, opened, raters_of, versions_that_differ
from pathway_local.runs.merged_rows import MergedRows
from pathway_local.runs.purge import PURGED
from pathway_local.runs.removal import UNDONE
from pathway_local.runs.run_cases import ALL, KEEP, PSEUDONYMS, READING, SETTING
from pathway_local.runs.run_file import DRAWS, TEXTS, RunFile
from pathway_local.runs.shard import SETTING as SHARD
from pathway_local.runs.taken_back import refuse_removed
from pathway_local.runs.text_hashes import text_hashes
from pathway_local.system.output_file import check_output, part_of
from pathway_local.verdict import Value


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The runs to join into `target`. `cases` is the file that they judged, `pseudonyms` the key file of its ids.

    Where runs hold different verdicts of a case, those of the run `prefer` count.
    """

    runs: Sequence[Path]
    target: Path
    cases: Path | None = None
    pseudonyms: Path | None = None
    prefer: Path | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """How many cases and current outcomes a merged run holds, and the head of its audit trail."""

    cases: int
    outcomes: int
    head: str


def merge_runs(plan: MergePlan, command: Sequence[str], notify: Notify) -> Merged:
    """Join runs into a new file, which is written wholly or not at all. Raises PathwayError."""
    paths = _ordered(plan)
    check_output(plan.target, force=False)
    parts = [look(path, notify) for path in paths]
    raters = raters_of(parts)
    if versions := versions_that_differ(parts):
        notify(f"judged in different versions, so equal cases may differ by rounding: {versions}")
    for panel in {rater.name: rater for rater in raters.values() if rater.kind == "panel"}.values():
        notify(f"the panel {panel.name} was made before the merge; make it again: {panel.made_again(plan.target)}")
    hashes = text_hashes(parts, plan.cases, plan.pseudonyms, notify)
    with part_of(plan.target) as name, _called(name, plan.target), RunFile.create(name, parts[0].key) as run:
        ids = _add_raters(run, parts, raters)
        rows = MergedRows(run, hashes.present, [ids[key] for key, rater in raters.items() if rater.kind == "panel"])
        jobs = rows.add_jobs([part.jobs for part in parts])
        refuse_removed([(part.removals, own) for part, own in zip(parts, jobs, strict=True)])
        for part, numbers, own in zip(parts, jobs, hashes.of, strict=True):
            with opened(part.path) as source:
                if AuditTrail(source.database).head() != part.head:
                    raise RunFileError(f"{part.path} was changed while it was merged", "Run the same command again.")
                of_rater = {number: ids[rater.name, rater.rubric] for number, rater in part.raters}
                rows.add(source, of_rater, numbers, own, preferred=bool(plan.prefer) and part is parts[0])
        rows.forget_empty_panels()
        for setting, value in _settings(parts).items():
            run.set_setting(setting, value)
        undone: list[Value] = [
            own[id] for part, own in zip(parts, jobs, strict=True) for id in own if id in part.removals.undone
        ]
        purged = max(part.removals.purged for part in parts)
        facts: dict[str, Value] = {
            "command": recorded(command),
            PARTS: [{"file": part.path.name, "head": part.head, "entries": part.entries} for part in parts],
            **({"cases": file_facts(plan.cases, run.key)} if plan.cases else {}),
            **({PURGED: purged} if purged and not any(part.removals.has_texts for part in parts) else {}),
            **({UNDONE: undone} if undone else {}),
        }
        return _recorded(run, facts)


def _add_raters(run: RunFile, parts: Sequence[MergePart], raters: Mapping[RaterKey, Rater]) -> dict[RaterKey, int]:
    for name, stored in {name: stored for part in parts for name, stored in part.rubrics.items()}.items():
        run.add_rubric(name, *stored)
    return {key: run.add_rater(rater) for key, rater in raters.items()}


def _recorded(run: RunFile, facts: dict[str, Value]) -> Merged:
    db, trail = run.database, AuditTrail(run.database)
    [(cases, outcomes)] = db.rows(
        "SELECT (SELECT COUNT(*) FROM cases), (SELECT COUNT(*) FROM outcomes WHERE superseded = 0)"
    )
    with db.writing(commit=True):
        trail.append_within(MERGED, facts | {"cases held": cases, "outcomes": outcomes} | left_facts(db))
    return Merged(cases, outcomes, trail.head())


def _ordered(plan: MergePlan) -> list[Path]:
    """Return the runs to join, the preferred one first. Raises UsageError for a run named twice, or not at all."""
    if len(plan.runs) < 2:
        raise UsageError("one run alone can't be merged", "Name two runs or more.")
    files: dict[Path, Path] = {}
    for path in plan.runs:
        if path.resolve() in files:
            raise UsageError(f"{path} would be merged into itself", "Name each run once.")
        files[path.resolve()] = path
    if plan.prefer and plan.prefer.resolve() not in files:
        raise UsageError(f"--prefer names {plan.prefer}, which is not among the runs", "Name one of the runs.")
    return sorted(plan.runs, key=lambda path: plan.prefer is None or path.resolve() != plan.prefer.resolve())


def _settings(parts: Sequence[MergePart]) -> dict[str, Value]:
    """Return the settings of the merged run. A shard's own is not among them: the rest may be judged there."""
    every = [part.settings for part in parts]
    found: dict[str, Value] = {}
    for settings in reversed(every):  # the first one counts
        found |= {name: settings[name] for name in settings if name in (READING, PSEUDONYMS) or name.startswith(LABEL)}
    remembered = [kept for settings in every if isinstance(kept := settings.get(SETTING), dict)]
    if remembered:
        mappings = [mapping for kept in remembered if isinstance(mapping := kept.get("mapping"), dict)]
        found[SETTING] = remembered[0] | {"mapping": {name: each[name] for each in mappings for name in each}}
    kept_columns = [settings[KEEP] for settings in every if KEEP in settings]
    if kept_columns:
        lists = [names for names in kept_columns if isinstance(names, list)]
        found[KEEP] = ALL if ALL in kept_columns else list(dict.fromkeys(name for names in lists for name in names))
    if any(settings.get(TEXTS) is False for settings in every):
        found[TEXTS] = False
    if all(settings.get(DRAWS) is True for settings in every):
        found[DRAWS] = True
    shards = {settings.get(SHARD) for settings in every if isinstance(settings.get(SHARD), str | None)}
    if len(shards) == 1 and None not in shards:
        found[SHARD] = shards.pop()
    return found


@contextmanager
def _called(name: Path, target: Path) -> Iterator[None]:
    """Let errors about the unfinished file name the file that it would become."""
    try:
        yield
    except RunFileError as error:
        raise type(error)(str(error).replace(str(name), str(target)), error.hint) from None
