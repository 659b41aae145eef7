"""A small part of the simulation: intervals cover the truth, places and promises hold about as often as they say."""

import pytest

from simulate import how_often, rows

SMALL = {
    "pass rate 95.0%, 20 cases": 0.9,
    "pass rate, 15 students": 0.9,
    "kappa, 80% pass, 60 cases": 0.88,
    "kappa_quadratic, 85% fives, 150 cases": 0.88,
    "difference of means, 15 uneven classes": 0.9,
    "corrected mean, 85% fives, 60 labels of 2 strata": 0.9,
    "corrected mean, 200 labels of 400, shared out to 3 people": 0.9,
    "places of 4 equal chatbots, 12 students": 0.9,
    "corrected difference, 12 students, 60 labels": 0.9,
    "half-width 0.12, typical, pilot of 30": 0.72,
    "half-width 0.1, 85% fives, pilot of 60": 0.75,
    "doubt tells many errors, 600 labels": 0.9,
    "doubt tells nothing, 10.2% wrong, 600 labels": 0.9,
    "doubt tells many errors, 400 labels, half of the errors skipped": 0.9,
    "fair, 50 labels: never worse": 0.9,
    "too strict, 50 labels: nearer": 0.95,
    "compressed, 120 labels of students: nearer": 0.95,
    "fair, 120 labels of students: calibrated": 0.9,
    "three judges, 50 labels: never worse": 0.9,
}
FILES = 60


@pytest.mark.parametrize("name", SMALL)
def test_what_is_said_holds_about_as_often_as_it_should(name: str) -> None:
    once = next(once for _, row, once in rows() if row == name)
    true, _ = how_often(name, FILES, once)
    assert true >= SMALL[name]


def test_kappa_with_few_failures_has_no_interval_in_most_files() -> None:
    once = next(once for _, row, once in rows() if row == "kappa, 95% pass, 60 cases")
    assert how_often("kappa, 95% pass, 60 cases", FILES, once)[1] < 0.2
