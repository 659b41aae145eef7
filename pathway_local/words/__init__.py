"""What pages and terminals say: one file per language, by key, and how the language writes numbers."""
