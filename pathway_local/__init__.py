"""Scores chatbot answers on your own machine with an open-weight judge."""

__version__ = "0.1.0"

PUBLIC = {
    "judge": "pathway_local.api.judging",
    "Engine": "pathway_local.api.judging",
    "Run": "pathway_local.api.run",
    "Rubric": "pathway_local.api.rubric",
    "make_private": "pathway_local.system.private_process",
    "PathwayError": "pathway_local.errors",
    "UsageError": "pathway_local.errors",
    "CasesError": "pathway_local.errors",
    "RubricError": "pathway_local.errors",
    "RunFileError": "pathway_local.errors",
    "EngineError": "pathway_local.errors",
}
"""The public names, each with its module, which is imported when it is first used; everything else may change.

`__init__.pyi` has the same names for type checkers."""


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module 'pathway_local' has no attribute {name!r}")
    from importlib import import_module  # here, so that nothing else is imported before a name is used

    return getattr(import_module(PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *PUBLIC])
