"""Options that `judges test` takes as well as `judge`."""

from pathway_local.engines.engine_list import engine_names
from pathway_local.judging.option import JUDGE, REPLY, Option

ENGINE = Option("ENGINE", f"One of {', '.join(engine_names())}.", JUDGE, of_rater=True)
DETAIL = Option(
    "DETAIL",
    "How much the judge writes: full, through-score (stop after the last score) or score.",
    REPLY,
    of_rater=True,
)
TEMPERATURE = Option("X", "Sampling temperature; default: the rubric's, else 0.", REPLY, least=0, most=5, of_rater=True)
THINK = Option(
    "[TOKENS]",
    "Let the judge think first, for at most this many tokens.",
    REPLY,
    typed=str,
    read=str,
    of_rater=True,
)
