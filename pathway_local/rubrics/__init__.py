"""Rubrics: their files, inputs, output formats and rules."""
