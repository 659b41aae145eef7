"""Prompty files: front matter and turns, before anything is known of what they judge."""
