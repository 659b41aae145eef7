"""From a rubric and a case to a prompt: the judge's tokenizer, its chat format, token ids."""
