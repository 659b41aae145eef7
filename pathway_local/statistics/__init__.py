"""Figures on arrays of numbers: agreement, its intervals, corrected means."""
