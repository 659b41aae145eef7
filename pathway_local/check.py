"""The result of one check: fine, worth knowing, or a problem with its fix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pathway_local.errors import PathwayError

Status = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Check:
    """A check's name, its status, its finding, and the fix of a problem."""

    name: str
    status: Status
    found: str
    fix: str = ""


def checked(name: str, look: Callable[[], Check], fix: str = "Fetch or copy the judge's folder again.") -> Check:
    """Return the result of `look`. An error becomes a problem with its hint as the fix, or `fix` for library errors."""
    try:
        return look()
    except PathwayError as error:
        return Check(name, "problem", str(error), error.hint)
    except Exception as error:  # noqa: BLE001  files from elsewhere can raise anything; that is the finding
        return Check(name, "problem", f"it fails ({type(error).__name__})", fix)
