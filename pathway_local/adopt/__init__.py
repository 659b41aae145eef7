"""Turns prompts that were written for other tools into rubrics, or says why they can't be.

`adoption` does it in this order:

1. `chat_tokens` splits a prompt into turns. `placeholders`, `mentions` and `inputs` find the inputs in it.
2. `refusals` ends it for a prompt that asks for several verdicts, or for no score.
3. Readers look for formats that the prompt may ask for: `skeletons`, `schemas`, `key_lists`, `tags`, `labels` and
   `short_replies`. Each yields `finding.Candidate`s. `formats` takes the one that shows its format most plainly.
4. `declaration` turns each value of that format into a field. `scales` finds ranges and levels in the whole prompt.
   `number_phrases`, `word_phrases` and `word_order` read numbers and words in a phrase, for all modules.
5. `comparisons` goes on with prompts that compare two responses.
6. `demands` reads the whole prompt once more and compares what its sentences demand with the format.
7. `front_matter` writes everything down, with a mark at each point that is not certain.

Whatever is not certain is asked about or marked, never guessed silently. `languages` lets all of them read German,
French and Spanish as if they were English.
"""
