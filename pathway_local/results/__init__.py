"""Results of a run: summaries, exports, agreement, comparisons, divergence."""

MIN_GROUP = 10
"""Groups of fewer cases get a mark: figures of a few say little, and may reveal what one of them got."""
