"""Chat templates: what a judge's own template says, rendered with limits, and how the judge takes turns and thinks."""
