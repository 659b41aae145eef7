"""Proposes a rubric for a prompt that was written for another tool; a person confirms it.

`prompt` reads the file, and `inputs` its inputs. Six recognisers look for the reply's format: an object and a list of
keys (`json_blocks`), tags and labels, a final line, a word of a set and a number (`text_replies`). Each knows one way
to write a format down, and none reads what prose demands. `values` spells each slot of the format, with `scales` for
its range; `pairs` goes on with two responses, and `doubts` with what the prompt says against the declaration. `words`
holds the words of all languages. Whatever is open stays a question mark.
"""
