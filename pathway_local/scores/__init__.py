"""The one reader of what raters said: cases by raters, with probabilities, hashes and groups."""
