"""What a run says: summaries, exports, panels, divergence."""
