"""A rater: any source of verdicts under one rubric, and everything that can change its scores."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pathway_local.verdict import Value

RaterKind = Literal["judge", "human", "hosted", "combined"]

JUDGES: tuple[RaterKind, ...] = ("judge", "hosted")
"""Kinds of raters that are models."""

REPEATS: tuple[RaterKind, ...] = ("combined",)
"""Kinds of raters whose scores rest on other raters', so that counting both would count one opinion twice."""

HANDOVER: Final = "handover"
"""The rule of combined scores: the judge's score where it keeps a case, and a person's elsewhere."""

GROUP = "/"
"""Separates the name that a user gave a file of ratings from the names of raters in the file."""

LABEL = "label:"
"""With a rater's name behind it, the run's setting with the label that must stand wherever its scores are shown."""

SHOWN_DIFFERENCES = 6
SHOWN_CHARACTERS = 24


@dataclass(frozen=True, slots=True)
class Rater:
    """A source of verdicts: a name and a rubric's name, unique together in a run.

    `spec` holds, as JSON values, everything that can change a score: for a judge the hashes of weights and rubric,
    detail, sampling, precision, engine and its settings. Raters with different specs are never pooled.
    """

    name: str
    kind: RaterKind
    rubric: str
    spec: Mapping[str, Value]

    @property
    def spec_json(self) -> str:
        """The spec as ASCII JSON with sorted keys: the same text for the same spec."""
        return _canonical(dict(self.spec))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of `spec_json`, 64 hex digits."""
        return hashlib.sha256(self.spec_json.encode()).hexdigest()

    @property
    def members(self) -> tuple[str, ...]:
        """The raters whose scores are combined; empty for any other rater."""
        of = self.spec.get("of") if self.kind == "combined" else None
        return tuple(map(str, of)) if isinstance(of, list) else ()

    def differences(self, now: "Rater") -> str:
        """Return the differences between this rater and `now`: each key of the spec with both values, shortened."""
        before, after = (_flat({"kind of rater": rater.kind, **rater.spec}) for rater in (self, now))
        keys = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
        shown = [f"{key} was {_short(before.get(key))}, now {_short(after.get(key))}" for key in keys]
        more = [f"and {len(keys) - SHOWN_DIFFERENCES} more"] if len(keys) > SHOWN_DIFFERENCES else []
        return "; ".join(shown[:SHOWN_DIFFERENCES] + more)


def raters_named(name: str, raters: Iterable[str]) -> list[str]:
    """Return the rater of that name, or all raters that were imported together under that name."""
    known = list(raters)
    return [name] if name in known else [other for other in known if other.startswith(f"{name}{GROUP}")]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _flat(spec: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Return each leaf as JSON by its keys joined with dots."""
    leaves: dict[str, str] = {}
    for key, value in spec.items():
        if isinstance(value, Mapping) and value:
            leaves |= _flat(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = _canonical(value)
    return leaves


def _short(value: str | None) -> str:
    if value is None:
        return "absent"
    return value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…"
