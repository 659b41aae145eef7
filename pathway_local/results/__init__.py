"""Results of a run: summaries, agreement, comparisons, reports."""

MIN_GROUP = 10
"""Groups of fewer cases get a mark: figures of a few say little, and may reveal what one of them got."""
