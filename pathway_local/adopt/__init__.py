"""Proposes a rubric for a prompt that was written for another tool; a person confirms it.

`prompt` reads the file, and `inputs` its inputs. `objects` and `shown` find the forms that the prompt shows: an object
or a list of its keys; tags, labels, an ending, a short reply. `values` spells each slot of a form, and `pairs` goes on
with two responses. What the prompt's sentences tell only makes `questions` ask, or leaves a question mark. `words`
holds the words of all languages.
"""
