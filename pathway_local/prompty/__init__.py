"""Reads Prompty files, front matter and turns, without knowing what they judge."""
