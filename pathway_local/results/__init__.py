"""Results of a run: summaries, exports, panels, agreement, calibration, comparisons, divergence."""
