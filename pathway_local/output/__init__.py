"""Renderers of results, written once: words and drawings of any table, and JSON and files of its values."""
