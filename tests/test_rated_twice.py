"""`agreement --twice` on a run in which one of three people rates some cases again."""

from typing import Any

import numpy as np
import pytest
from agreement_run import HELPFUL
from rated_run import add, said

from pathway_local.case import Case
from pathway_local.errors import UsageError
from pathway_local.results import against_people
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.agreement_tables import agreement_tables
from pathway_local.results.analysis import OptionError
from pathway_local.results.table import Table
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import ratings_matrices

COUNT = 90
AGAIN = ("ann=ann-again",)
IDS = [f"c-{number}" for number in range(COUNT)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    rng = np.random.default_rng(2)
    true = rng.integers(2, 5, COUNT)
    given = {
        "judge": np.clip(true + rng.integers(-1, 2, COUNT) * (rng.random(COUNT) < 0.3), 1, 5),
        "ann": np.clip(true - rng.integers(0, 2, COUNT), 1, 5),
        "ann-again": np.clip(true - rng.integers(0, 2, COUNT), 1, 5)[:40],
        "bob": np.clip(true + rng.integers(-1, 2, COUNT) * (rng.random(COUNT) < 0.2), 1, 5),
        "eve": np.clip(true + rng.integers(-1, 2, COUNT) * (rng.random(COUNT) < 0.2), 1, 5),
    }
    kept = [{"version": f"v{at // 30}"} for at in range(COUNT)]
    texts = [{"question": name, "answer": name} for name in IDS]
    rows = [Case(name, texts[at], kept[at], at + 1) for at, name in enumerate(IDS)]
    run = RunFile.create(tmp_path_factory.mktemp("twice") / "a.run")
    for name, scores in given.items():
        kind = "judge" if name == "judge" else "human"
        add(run, name, said(*map(int, scores), ids=IDS), HELPFUL, kind, rows)
    return run


def tables(run: RunFile, **options: Any) -> dict[str, Table]:
    """The tables about the one score, by key."""
    made = agreement_tables(run, ratings_matrices(run, HELPFUL), AgreementOptions(**options))
    return {table.key: table for table in made}


def test_one_person_s_two_ratings_are_shown(run: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"by": "version", "twice": AGAIN}
    found = tables(run, **options)
    named = [row["rater"] for row in found["raters"].rows]
    assert named == ["judge", "ann", "bob", "eve"], "the repeats are no further person"
    [twice] = found["twice"].rows
    assert (twice["first"], twice["second"], twice["cases"]) == ("ann", "ann-again", 40)
    assert not [each for table in found.values() for each in table.notes if each.key == "each_case_once"]
    monkeypatch.setattr(against_people, "uneven_strata", lambda _: ["version"])
    uneven = tables(run, **options).values()
    told = [table.key for table in uneven if any(note.key == "each_case_once" for note in table.notes)]
    assert told == ["severity", "group_errors", "group_errors_of_people"]


def test_a_person_s_second_ratings_are_no_further_person_of_a_named_group(run: RunFile) -> None:
    for named in ({"against": "ann"}, {"rater": ("judge", "ann", "ann-again", "bob")}):
        found = tables(run, twice=AGAIN, **named)
        assert "ann-again" in found.pop("twice").raters()
        assert "ann-again" not in {name for table in found.values() for name in table.raters()}


def test_wrong_options_are_refused(run: RunFile) -> None:
    assert AgreementOptions(twice=AGAIN).again() == [("ann", "ann-again")]
    for given in ("ann", "ann=", "ann=ann"):
        with pytest.raises(OptionError, match="is not NAME=NAME"):
            AgreementOptions(twice=(given,)).check()
    with pytest.raises(UsageError, match="no rater is called 'zoe'"):
        tables(run, twice=("ann=zoe",))
