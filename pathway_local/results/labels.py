"""Finds the cautions about judges that stand wherever their scores are shown."""

from pathway_local.rater import LABEL
from pathway_local.runs.run_file import RunFile


def labels_of(run: RunFile) -> dict[str, str]:
    """The label of each judge that must stand wherever its scores are shown, by the rater's name."""
    labels = {rater.name: run.get_setting(f"{LABEL}{rater.name}") for _, rater in run.raters()}
    return {name: label for name, label in labels.items() if isinstance(label, str) and label}
