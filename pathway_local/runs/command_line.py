"""Command lines as a run records them: without values from cases, which a purge could not remove."""

from collections.abc import Sequence

from pathway_local.verdict import Value

FROM_CASES = ("--only", "--between")
"""Options that take COLUMN=VALUE, where the value can be a student's name."""

LEFT_OUT = "[left out]"


def recorded(command: Sequence[str]) -> list[Value]:
    """The command with [left out] in place of the values that follow a column in `FROM_CASES`."""
    said: list[Value] = []
    for word in command:
        option, sign, value = word.partition("=")
        if said and said[-1] in FROM_CASES:
            said.append(_without_value(word))
        elif sign and option in FROM_CASES:
            said.append(f"{option}={_without_value(value)}")
        else:
            said.append(word)
    return said


def _without_value(given: str) -> str:
    column, sign, _ = given.partition("=")
    return f"{column}={LEFT_OUT}" if sign else given
