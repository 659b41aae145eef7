"""The cases file of a run: its columns are matched the way they were when it was judged first."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pathway_local.readers import CasesFile
from pathway_local.rubric import Rubric, parse_rubric
from pathway_local.run_file import RunFile

SETTING = "columns"


def cases_of(
    path: Path,
    rubrics: Iterable[Rubric],
    run: RunFile | None,
    id_column: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> CasesFile:
    """The cases file at `path` for these rubrics; what is given here comes before what the run remembers."""
    known = list(rubrics)
    needed = {rubric.name: tuple(rubric.inputs) for rubric in known}
    required = {name for rubric in known for name, wanted in rubric.inputs.items() if wanted.default is None}
    optional = {name for names in needed.values() for name in names} - required
    remembered_mapping, remembered_id = _remembered(run) if run else ({}, None)
    return CasesFile(path, needed, {**remembered_mapping, **(mapping or {})}, id_column or remembered_id, optional)


def rubrics_of(run: RunFile) -> dict[str, Rubric]:
    """The rubrics of a run by name, from the texts that it keeps."""
    return {name: parse_rubric(text, name) for name, text in run.rubrics().items()}


def remember(run: RunFile, cases: CasesFile, mapping: Mapping[str, str]) -> None:
    """Keep how the columns of `cases` were matched, for when the run goes on."""
    before, _ = _remembered(run)
    run.set_setting(SETTING, {"mapping": {**before, **mapping}, "id": cases.id_column})


def _remembered(run: RunFile) -> tuple[dict[str, str], str | None]:
    kept = run.get_setting(SETTING)
    if not isinstance(kept, dict):
        return {}, None
    mapping, id_column = kept.get("mapping"), kept.get("id")
    return (
        {name: str(column) for name, column in mapping.items()} if isinstance(mapping, dict) else {},
        id_column if isinstance(id_column, str) else None,
    )
