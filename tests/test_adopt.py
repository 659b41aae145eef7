"""A prompt becomes a rubric: what is proposed, what stays open, and what is never taken for an input."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from adopting import adopted, adopted_text, doubted, proposed
from families import FAMILIES, write_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.errors import PathwayError, RubricError
from pathway_local.judges.judge_spec import Chat
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.rubric_check import check_grammars, example_inputs
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric

ROOT = Path(__file__).parents[1]
OWN = Path(__file__).parent / "rubric_files"
ORIGINALS = ROOT.parent / "shared" / "originals"
BUILT_IN = {
    "contextual_relevance_prompt.txt": "contextual-relevance",
    "gold_answer_prompt.txt": "gold-answer",
    "groundedness.prompty": "groundedness",
    "pathway_answer_prompt.txt": "pathway-answer",
    "pathway_rubric.md": "pathway-answer",
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> JudgeTokenizer:
    return JudgeTokenizer(write_tokenizer(FAMILIES[0], tmp_path_factory.mktemp("judge")))


def written(rubric: Rubric, tokenizer: JudgeTokenizer, inputs: dict[str, str]) -> str:
    check_grammars(rubric.format, inputs, None)
    [prompt] = PromptWriter(rubric, tokenizer, Chat(), context=20_000).write([inputs])
    assert isinstance(prompt, Prompt), prompt
    return tokenizer.grammar_tokenizer.decode_bytes(list(prompt.ids)).decode()


def fields(prompt: str) -> dict[str, str]:
    return dict(proposed(prompt).fields)


def test_an_object_shown_beside_another_form_is_asked_about() -> None:
    """Two forms in one prompt, of which only a person knows which its program reads."""
    prompt = (
        b"Which answer to {question} is better, {answer_a} or {answer_b}?\nAnswer [[A]], [[B]] or [[C]] for a tie.\n"
    )
    example = b'Example of the reply:\n{{"answer": "[[A]]", "reason": ""}}\n'
    assert not any("also shows" in each for each in proposed(prompt, "a.txt").questions)
    found = proposed(prompt + example, "a.txt")
    assert (found.recogniser, found.open) == ("a JSON block", {"?": ["answer"]})
    assert any("also shows explanation, verdict (brackets" in each for each in found.questions)


def test_an_input_and_a_part_of_the_reply_with_one_name_are_asked_about() -> None:
    """A judge's verdict on {pred} may have the name of what it judges; only an echo repeats the text."""
    prompt = b'Is {pred} right?\nReply as JSON: {{"pred": "...", "score": <0-5>}}\n'
    asked = proposed(prompt, "a.txt").questions
    assert any('"pred" names an input and a part of the reply' in each for each in asked)
    keys = "Is {pred} right? Reply with a JSON object with the keys 'pred' and 'score' from 0 to 5.\n"
    assert fields(keys) == {"pred": "?", "score": "0-5"}


def test_a_form_of_the_inputs_alone_is_no_reply() -> None:
    form = "Write the form:\nQuestion: [yes or no]\nAnswer: [yes or no]\n"
    assert not fields(f"Judge {{question}} and {{answer}}. {form}")
    assert fields(f"Judge {{question}}. {form}")


def test_a_response_that_is_chosen_as_the_worse_one_is_left_open() -> None:
    told = "A: {response_a}\nB: {response_b}\nGood beats better. Which response is {what}? Answer only with A or B.\n"
    assert fields(told.replace("{what}", "worse")) == {"verdict": "prefer A ? B"}
    assert fields(told.replace("{what}", "better")) == {"verdict": "prefer A > B"}


def test_an_ending_is_asked_about_since_reasons_may_stand_before_it() -> None:
    assert "does the judge write this alone, and no reasons before it?" in asked(
        "Is {answer} right? [[yes]] or [[no]]."
    )


def test_labels_may_have_a_range_and_brackets_of_their_own() -> None:
    parts = "".join(f"{name} (1-5): [score]\n" for name in ("Accuracy", "Fluency"))
    found = proposed(f"Judge {{answer}}.\nUse this format:\n\n{parts}Reasoning: [Tone, style]\n".encode())
    assert found.fields == {"accuracy": "1-5", "fluency": "1-5", "reasoning": "text"}
    assert found.layout == "Accuracy (1-5): {accuracy}\nFluency (1-5): {fluency}\nReasoning: {reasoning}"
    found = proposed("Judge {answer}.\n【理由】[text]\n【分数】[1-5]\n")
    assert (found.layout, found.fields["分数"]) == ("【理由】 {理由}\n【分数】 {分数}", "1-5")


def test_quotation_marks_with_backslashes_are_quotation_marks() -> None:
    """A prompt that is cut out of a program's source has them."""
    found = proposed(b'Is {answer} right?\nThe answer MUST be \\"Yes\\" or \\"No\\".\n', "a.txt")
    assert list(found.fields.values()) == ["No < Yes"]


def test_words_of_a_sentence_are_no_set_and_the_name_of_a_place_is_no_word() -> None:
    shown = b'Grade {answer}.\nReply with this JSON: {"wrong": "What is missing or not right", "score": <1-5>}\n'
    assert proposed(shown, "a.txt").fields["wrong"] == "text"
    shown = (
        b"Grade {answer}. Say why.\n[[Correct]] if it holds, [[Wrong]] if not.\n\nFinal Conclusion: [[CONCLUSION]]\n"
    )
    assert proposed(shown, "a.txt").fields["verdict"] == "Wrong < Correct"
    told = "How does {reply} treat it?\n5: It does not know the answer, either explicitly or implicitly.\n"
    assert fields(f"{told}Return the index in the format <answer>index</answer>\n") == {"answer": "?"}


@pytest.mark.parametrize("file", sorted(BUILT_IN))
def test_an_original_is_adopted_with_one_yes_in_the_layout_of_ours(file: str, tokenizer: JudgeTokenizer) -> None:
    if not (ORIGINALS / file).is_file():
        pytest.skip("the original prompts are not beside this checkout")
    data, ours = (ORIGINALS / file).read_bytes(), load_rubric(BUILT_IN[file])
    rubric = adopted(data, file)
    asked = proposed(data, file).questions
    settled = ("found no mark where inputs go", "so the rubric adds", "so the judge repeats")
    assert all(any(said in each for said in settled) for each in asked)
    assert rubric.format.outputs.layout == ours.format.outputs.layout
    kinds = [{name: field.type for name, field in each.format.outputs.fields.items()} for each in (rubric, ours)]
    assert kinds[0] == kinds[1]
    for name, score in rubric.format.scores.items():
        assert score.values == ours.format.scores[name].values
        assert set(score.levels) == set(score.values)
        assert score.special == ours.format.scores[name].special
    assert len(rubric.inputs) == len(ours.inputs)
    text = written(rubric, tokenizer, {name: f"the {name} text" for name in rubric.inputs})
    for name in rubric.inputs:
        assert text.count(f"the {name} text") == 1 + (name in ours.format.echoes)


AZURE = """---
name: Coherence
model: {api: chat, parameters: {temperature: 0.0, max_tokens: 800, response_format: {type: text}}}
inputs: {query: {type: string}, response: {type: string}}
---
system:
You rate how coherent a RESPONSE is.
user:
## [Coherence: 1] (Incoherent)
**Definition:** Words without a link.
## [Coherence: 2] (Poor)
**Definition:** Some links.
## [Coherence: 3] (Coherent)
**Definition:** Each sentence leads on.

# Data
QUERY: {{query}}
RESPONSE: {{response}}

# Tasks
- **ThoughtChain**: Start it with "Let's think step by step:".

## Write between the tags: <S0>your chain of thoughts</S0>, <S1>your explanation</S1>, <S2>your Score</S2>.
# Output
"""
AZURE_JSON = """---
name: Resolved
inputs: {query: {type: string}, response: {type: string}}
sample: {query: "How?", response: So.}
---
system:
You judge whether a task is done. Return JSON.
user:
QUERY: {{query}}
RESPONSE: {{response}}
# Output Format
{
  "explanation": "<why it is done or not>",
  "score": <an integer from 1 to 5>
}
"""
PROMETHEUS = """###Task Description:
An instruction (might include an Input inside it), a response to evaluate, and a score rubric are given.
1. Write feedback that assesses the response by the score rubric.
2. After writing feedback, write a score that is an integer between 1 and 5.
3. The output format should look as follows: "Feedback: (write a feedback) [RESULT] (an integer number between 1 and 5)"

###The instruction to evaluate:
{instruction}

###Response to evaluate:
{response}

###Score Rubrics:
{rubric}

###Feedback: """
FLOW = """# GOAL
Evaluate the output of a task by the rubric.

<inputs>
{INPUTS}
</inputs>
<output>
{OUTPUT}
</output>
<evaluation_criteria>
{EVALUATION_CRITERIA}
</evaluation_criteria>
<scoring_rubric>
- Score 1: It fails.
- Score 2: It passes in part.
- Score 3: It passes.
</scoring_rubric>

## FORMAT FOR THE EVALUATION
- Write the verbal feedback inside <feedback> tags without any additional surrounding text.
- Write the numeric score inside <score> tags, always after the feedback.
"""
MT_BENCH = """[System]
Act as an impartial judge and rate the answer of an AI assistant to the question below. Begin with a short explanation.
After that, rate the answer on a scale of 1 to 10 strictly in this format: "[[rating]]", for example: "Rating: [[5]]".

[Question]
{question}

[The Start of Assistant's Answer]
{answer}
[The End of Assistant's Answer]"""
MT_PAIR = """Act as an impartial judge of two AI assistants' answers to the question below. Begin with an explanation.
Then output your final verdict strictly in this format: "[[A]]" if assistant A is better, "[[B]]" if assistant B is
better, and "[[C]]" for a tie.

[User Question]
{question}

[The Start of Assistant A's Answer]
{answer_a}
[The End of Assistant A's Answer]

[The Start of Assistant B's Answer]
{answer_b}
[The End of Assistant B's Answer]"""
MT_TURNS = MT_PAIR.replace("{question}", "{question_1}\n{question_2}").replace(
    "{answer_a}", "{answer_a_1}\n{answer_a_2}"
)
GRADER = """You are a grader. Question: {{question}}
Reference: {{reference}}
Answer: {{answer}}
Does the answer say the same as the reference? Reply with "CORRECT" or "INCORRECT" only."""
GRADER_NUMBER = """Rate how well the answer fits the question, from 1 to 7. Return only the number.
Question: {{item.question}}
Answer: {{sample.output_text}}"""
FAMILIES_OF_PROMPTS = {
    "azure tags": (AZURE, {"thoughts": "text", "explanation": "text", "score": "1 Incoherent < 2 Poor < 3 Coherent"}),
    "azure json": (AZURE_JSON, {"explanation": "text", "score": "1-5"}),
    "prometheus": (PROMETHEUS, {"feedback": "text", "score": "1-5"}),
    "flow-judge": (FLOW, {"feedback": "text", "score": "1 It fails < 2 It passes in part < 3 It passes"}),
    "mt-bench": (MT_BENCH, {"explanation": "text", "rating": "1-10"}),
    "mt-bench pair": (MT_PAIR, {"explanation": "text", "verdict": "prefer A > tie as C > B"}),
    "a grader's labels": (GRADER, {"verdict": "INCORRECT < CORRECT"}),
    "a grader's score": (GRADER_NUMBER.replace("item.", "").replace("sample.", ""), {"score": "1-7"}),
}


@pytest.mark.parametrize("name", FAMILIES_OF_PROMPTS)
def test_a_family_of_prompts_is_adopted_with_one_yes(name: str) -> None:
    prompt, wanted = FAMILIES_OF_PROMPTS[name]
    found = proposed(prompt)
    assert (dict(found.fields), found.questions) == (wanted, ())
    rubric = adopted(prompt)
    check_grammars(rubric.format, example_inputs(rubric), None)


def test_each_pair_of_texts_of_two_assistants_changes_places() -> None:
    turns = MT_TURNS.replace("{answer_b}", "{answer_b_1}\n{answer_b_2}")
    assert proposed(turns).swap == {"answer_a_1": "answer_b_1", "answer_a_2": "answer_b_2"}


@pytest.mark.parametrize("file", ["described.txt", "braces.txt", "labels.txt", "tags.prompty"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_the_text_stays_byte_for_byte(file: str, ends: bytes) -> None:
    original = (OWN / file).read_bytes().replace(b"\n", ends)
    made = adopted_text(original, file).encode()
    if file.endswith(".txt"):
        assert made.endswith(b"---\n" + original)
    else:
        at = made.index(b"outputs:")
        assert made[:at] + made[made.index(b"---", at) :] == original


def test_every_field_names_the_line_that_it_was_read_from() -> None:
    found = proposed((OWN / "tags.prompty").read_bytes(), "tags.prompty")
    lines = (OWN / "tags.prompty").read_text().splitlines()
    # The source of a file with front matter begins below it.
    first = len(lines) - len((OWN / "tags.prompty").read_text().split("---\n")[2].splitlines())
    assert all("<S0>" in lines[first + row] for row in found.rows["thoughts"])
    assert {name: bool(rows) for name, rows in found.rows.items()} == dict.fromkeys(found.fields, True)


def test_maths_is_no_input() -> None:
    prompt = "The solution $x$ of $\\frac{a}{b}$ is {answer}. Is it right? Answer only with Yes or No."
    assert list(proposed(prompt).inputs.said) == ["answer"]
    assert list(proposed("Compare $question with $answer. Answer only with Yes or No.").inputs.said) == [
        "question",
        "answer",
    ]


def test_a_text_without_a_mark_is_asked_about() -> None:
    told = "You are given a question, a reference answer and a response.\nQuestion: {question}\nResponse: {response}\n"
    found = proposed(f"{told}Is the response right? Answer only with `Yes` or `No`.")
    assert ['"reference answer"' in question for question in found.questions] == [True]
    assert "or does the judge lack a text?" in found.questions[0]


@pytest.mark.parametrize(
    "told",
    ["Die Musterlösung gilt.", "Par rapport à la réponse de référence.", "O gabarito vale.", "Use ground truth."],
)
def test_a_reference_answer_without_a_mark_is_asked_about_in_each_language(told: str) -> None:
    prompt = "{told}\nQ: {question}\nA: {answer}\n{more}Answer only with Yes or No."
    assert "or does the judge lack a text?" in asked(prompt.replace("{told}", told).replace("{more}", ""))
    assert "lack a text" not in asked(prompt.replace("{told}", told).replace("{more}", "{reference}\n"))


def test_fineness_is_left_open_unless_the_slot_shows_it() -> None:
    for shown in ("<0-1>", "<0.0-1.0>", "0.85"):
        prompt = f'Judge {{answer}} with a score from 0 to 1. Return JSON: {{"score": {shown}}}'
        assert fields(prompt) == {"score": "0-1 by ?"}
    for shown, spelling in (("<0 or 1>", "0-1 by 1"), ("<0.0-1.0, in steps of 0.25>", "0-1 by 0.25")):
        prompt = f'Judge {{answer}}. Return JSON: {{"score": {shown}}}'
        assert fields(prompt) == {"score": spelling}
        assert not asked(prompt)
    assert fields('Give {answer} 0, 0.5 or 1. Return JSON: {"score": <0, 0.5 or 1>}') == {"score": "0 < 0.5 < 1"}
    assert fields('Judge {answer}. Return JSON: {"score": 1.0 if it holds or 0.0 if not}') == {"score": "0.0 < 1.0"}


@pytest.mark.parametrize("told", ["Half points are allowed.", "Zwischenwerte wie 2,5 sind erlaubt."])
def test_a_fraction_beside_the_scale_leaves_the_steps_open(told: str) -> None:
    prompt = f'Judge {{answer}}. {told}\nReturn JSON: {{"score": <1-5>}}'
    assert fields(prompt) == {"score": "1-5 by ?"}


TAGS = """Put the answer {answer} into one of these categories:
1. `KEPT`: it keeps the rule.
2. `BROKEN`: it breaks it.
3. `OTHER`: anything else.
Return your reply as XML:
<result>
  <part>
    <category> one of the categories above </category>
    <why> your reasons </why>
  </part>
</result>
"""


def test_tags_within_tags_keep_all_of_them_and_the_words_of_a_list_above_are_asked_for() -> None:
    found = proposed(TAGS)
    assert dict(found.fields) == {"category": "?", "why": "text"}
    assert found.layout.split("\n") == [
        *("<result>", "<part>", "<category>{category}</category>", "<why>{why}</why>", "</part>", "</result>")
    ]
    assert found.asked[0].startswith('what is "category"?')


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("Answer yes or no only.", "no < yes"),
        ("Responda apenas com sim ou não.", "não < sim"),
        ('Answer only "safe" or "unsafe" (never begin your reply with "I").', "unsafe < safe"),
        ('End with "Verdict: [[verdict]]", such as "Verdict: [[Yes]]" or "Verdict: [[No]]".', "No < Yes"),
        ("Finish with \\boxed{{Yes or No}}, such as \\boxed{{Yes}} or \\boxed{{No}}.", "No < Yes"),
        ("Respond with 'valid' if it holds.\nOtherwise, respond with 'invalid'.", "invalid < valid"),
        ("End with a line in exactly this form:\nVERDICT: PASS\nor\nVERDICT: FAIL", "FAIL < PASS"),
    ],
)
def test_a_set_of_words_holds_the_alternatives_and_nothing_else(told: str, wanted: str) -> None:
    assert proposed(f"Judge {{answer}}.\n{told}\n").fields["verdict"] == wanted


def test_a_lone_verdict_is_asked_about_where_the_prompt_speaks_of_reasons() -> None:
    for told in (
        "Elaborate on what you see, then give a verdict, either as 'SUCCESS' or as 'NO SUCCESS'.",
        "List the errors, then answer only with `PASS` or `FAIL` on the last line.",
    ):
        assert "alone, and no reasons before it?" in asked(f"Judge {{answer}}. {told}")
    each = "For each of its sentences answer only with yes or no."
    assert "write this form only once?" in asked(f"Judge {{answer}}. {each}")
    assert fields("Grade {answer}: output only the total score of parts worth 0-5.") == {"score": "?"}
    assert not fields("Judge {answer}. Reply with one word.\nReasoning: Say why. Label: Write Safe or Unsafe\n")


def test_a_label_of_an_input_is_no_part_of_the_reply() -> None:
    form = "Example format:\nQUESTION: a question\nANSWER: an answer\nGRADE: CORRECT or INCORRECT\n"
    found = proposed(f"You grade a quiz.\n{form}\nQUESTION: {{query}}\nANSWER: {{result}}\nGRADE:")
    assert dict(found.fields) == {"grade": "INCORRECT < CORRECT"}


def test_a_label_at_the_end_of_the_prompt_shows_no_slot() -> None:
    rate = "Rate the summary from 0 (worst) to 100 (best).\nText: {text}\nSummary: {summary}\n"
    assert not fields(f"{rate}Score:")
    places = 'Return a JSON with these keys:\n- "why": your reasons\n- "score": 1 to 5\n\nTASK: ...\n\nREPLY: ...\n'
    assert fields(places) == {"why": "text", "score": "1-5"}


def test_what_looks_like_words_or_a_range_and_is_none_is_not_taken_for_one() -> None:
    assert fields("Compare {resposta}. Dá 2 se está certa, 0 se não. Responda apenas com o número.") == {"score": "?"}
    assert fields('Rate {x} from 1 to 3. JSON: {"score": <1-3>, "comment": "<1–2 предложения>"}')["comment"] == "text"
    assert (
        fields('给 {x} 打分。返回 JSON: {"quote": "原文或空字符串", "score": <1-5>}')["quote"]
        != "choice 原文 | 空字符串"
    )
    counted = 'Rate {x} from 1 to 10. Return JSON: {"design": <1-10>, "crashes": <int - number of times it crashed>}'
    assert fields(counted) == {"design": "1-10", "crashes": "?"}
    assert (
        fields('Rate {x}. Return JSON: {"use": <1-5>, "synthesis": null, "why": "In a sentence."}')["synthesis"] == "?"
    )
    other = 'Rate {x}. Style is from 1 to 5.\nReturn JSON: {"style": 3, "depth": 1, "why": "..."}'
    assert fields(other) == {"style": "1-5", "depth": "?", "why": "text"}
    bare = 'Call {x} "Floja" or "Mala" if it strays.\n\nDevuelve unicamente una de estas:\nBuena\nFloja\nMala\n'
    assert fields(bare) == {"verdict": "Buena | Floja | Mala"}


def test_the_last_of_two_sets_of_words_is_proposed_and_the_other_is_asked_about() -> None:
    told = 'Assign a grade of either "CORRECT" or "WRONG". Just return the letter "A" or "B".'
    assert fields(f"Judge {{answer}}. {told}") == {"verdict": "A | B"}
    assert "the prompt also lists CORRECT, WRONG" in asked(f"Judge {{answer}}. {told}")


def test_what_is_no_part_of_a_reply_is_not_taken_for_one() -> None:
    sections = (
        "<criteria>\nIs it polite?\n</criteria>\nWrite your reasons in <why> tags and a number in <score> tags.\n"
    )
    assert fields(f"Rate {{answer}} from 1 to 5.\n{sections}") == {"why": "text", "score": "1-5"}
    more = 'Return JSON: {{"checks": {{"first": "yes or no", ...}}, "all": "yes or no"}}'
    assert not fields(f"Check {{answer}}.\n{more}")
    bands = "Rate {answer}.\n- 4-6 points: the answer gives only a part.\n- 7-9 points: it gives only small errors.\n"
    assert not fields(bands)
    assert not fields("Judge {answer}. Write it as: Score: <score from 1 to 5>, Reason: <reason>")
    said = 'A good reply has praise (such as "just what I needed", "great answer").\nIs {answer} one?'
    assert not fields(said)


def test_a_number_is_no_word_and_a_word_of_unknown_worth_is_asked_about() -> None:
    assert fields("Score {answer} 1-100. Respond with just the number, no text.") == {"score": "1-100"}
    assert fields('Judge {answer}. Return JSON: {"rating": "1" | "2" | "3"}') == {"rating": '"1" | "2" | "3"'}
    assert fields('Rate {answer} from 1 to 5. Return JSON: {"score": int, "label": str}')["label"] == "?"
    assert "is one of correct, odd better than another?" in asked(
        'Judge {answer}. Answer only with "correct" or "odd".'
    )


def test_a_part_of_the_reply_that_may_be_any_text_is_asked_about_unless_it_holds_reasons() -> None:
    keys = '{"score": <1-5>, "safety": str, "explanation": str}'
    assert asked(f"Judge {{answer}}, also safety (pass/fail). Return JSON: {keys}") == (
        '"safety" is any text: is that meant?'
    )


def test_a_sample_from_another_scale_and_a_list_of_scores_are_not_read_as_a_score_on_this_one() -> None:
    stars = 'Judge {answer}. Give 1 to 5 stars.\nReturn JSON: {"stars": 4, "grade": 9, "other_score": 0}'
    assert fields(stars) == {"stars": "1-5", "grade": "?", "other_score": "1-5"}
    assert not fields('Judge {answer}. Return JSON: {"scores": [<1-5>, <1-5>]}')
    assert fields('Judge {answer}. Return JSON: {"score": [1-5]}') == {"score": "1-5"}


def test_what_stands_behind_a_slot_stays() -> None:
    form = "Judge {answer}. Reply with:\nScore: [1-5]/5"
    assert proposed(f"{form}\nReason: [why]\n").layout == "Score: {score}/5\nReason: {reason}"
    assert proposed(f"{form}\n").layout == "Score: {score}/5"


def test_four_of_five_is_no_scale_of_two_values() -> None:
    assert fields('Rate {{answer}}.\nReturn {"rating": "4/5"}\n') == {"rating": "?"}
    assert fields('Rate {{answer}}.\nReturn JSON: {"rating": <0/1>}\n') == {"rating": "0-1 by 1"}


def test_fields_that_lack_the_same_are_one_question() -> None:
    keys = '{"accuracy": int, "tone": int, "fluency": <0.0-1.0>}'
    found = proposed(f"Judge {{answer}}. Return JSON: {keys}")
    assert found.open == {"?": ["accuracy", "tone"], "0-1 by ?": ["fluency"]}
    assert found.asked[0].startswith('what are "accuracy", "tone"?')
    assert found.asked[1].startswith('how fine is "fluency"?')


def test_a_second_object_of_the_reply_is_asked_about() -> None:
    prompt = 'Judge {answer}. Return JSON: {"score": <1-5>}, or {"error": "language"} if it is not in English.'
    assert "also shows error (a JSON block)" in asked(prompt)
    other = 'Judge {answer}. Return {"score": <1-5>} or, with a reason, {"grade": <1-5>, "reason": "<why>"}.'
    assert "also shows grade, reason (a JSON block)" in asked(other)


def test_a_range_that_an_input_ends_stays_open() -> None:
    prompt = 'Judge {answer}. Return JSON: {{"points": <0 to {most}>, "sure": <0.0-1.0>}}'
    assert fields(prompt)["points"] == "?"
    assert not fields('Judge {answer} from 1 to 5. Return JSON: {{"<criterion>": <1-5>}}')


def test_a_prompt_in_the_tokens_of_a_chat_template_is_refused_with_its_line() -> None:
    for token in ("<|im_start|>user", "[INST]", "<start_of_turn>user"):
        with pytest.raises(RubricError, match=r"line 2: .* is a token of one model's chat template"):
            proposed(f"\n{token}\nIs {{answer}} right? Answer only with Yes or No.")


MARKS = {
    "Q: ${question}\nA: ${sample.text}": (["question", "sample_text"], []),
    "Q: {question}\nA: {reply[:2000]}": (["question"], ["{reply[:2000]}"]),
    "Q: [[question]]\nA: [[answer]]": ([], ["[[question]]", "[[answer]]"]),
    "Q: {}\nA: {}": ([], ["{}"]),
    "Q: %s\nA: {answer}": (["answer"], ["%s"]),
    "Compare two answers.\n$answer_a$\n$answer_b$": ([], ["$answer_a$", "$answer_b$"]),
    "Q: {q}\nA: ${a || 'No answer was given, so judge what the question alone tells.'}": (["q"], ["${a"]),
}


@pytest.mark.parametrize("marks", MARKS)
def test_marks_of_other_tools_are_asked_about(marks: str) -> None:
    found = proposed(f"{marks}\nIs it right? Answer only with Yes or No.\n")
    foreign = [said.split(" ")[1] for said in found.questions if "the mark of an input?" in said]
    assert (list(found.inputs.said), foreign) == MARKS[marks]


def test_inputs_that_the_front_matter_names_otherwise_are_taken_from_the_prompt_and_asked_about() -> None:
    head = "---\nname: mine\ninputs:\n  query: {type: string}\n---\n"
    prompt = head + "system:\nQ: {{question}} A: {{answer}}\nAnswer only with Yes or No.\n"
    assert "the front matter does not declare question, answer" in asked(prompt)
    assert list(adopted(prompt).inputs) == ["question", "answer"]


def test_a_block_of_another_template_language_is_refused_with_its_line() -> None:
    with pytest.raises(RubricError, match=r"line 2: \{\{#each points\}\} is no mark"):
        proposed("Judge {{answer}} by these points:\n{{#each points}}{{this}}{{/each}}\nAnswer only with Yes or No.\n")


@pytest.mark.parametrize(
    "told",
    [
        *("Use null if it is empty.", "Return 0 for spam.", "Never give 3.", 'Write "SKIP" if it is empty.'),
        *("Rate it from 1 to 10.", 'If it is empty, answer "nothing".'),
    ],
)
def test_a_reply_beside_the_scale_is_asked_about(told: str) -> None:
    question = doubted(f'Judge {{answer}}.\n{told}\nReturn JSON: {{"score": <1-5>}}')
    assert question == f'line 2 says "{told}": has the declaration all that this asks for?'


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a friendly assistant. Answer the question {question} in two sentences.",
        "For each sentence in {answer}, output one line with its number and a score from 1 to 5.",
        "Rate {answer} with -, 0 or +. Output only the sign.",
        'Check {answer}. Return a JSON list: [{"claim": "<text>", "verdict": "yes" or "no"}]',
        'Check {answer} by each point of {points}. Reply with JSON: [{"point": "...", "kept": true/false}]',
        'Check {answer}. Return a JSON array, one object a claim, with the keys "claim" and "verdict" (yes or no).',
    ],
)
def test_what_no_recogniser_knows_is_left_to_the_user(prompt: str) -> None:
    assert not proposed(prompt).fields


SYNTAXES = {
    "jinja2": "Judge {{ answer }}{% if context %} by {{ context }}{% endif %}. Answer only with Pass or Fail.",
    "braces": "Judge {answer}. Braces: {{}}. Answer only with Pass or Fail.",
    "single-braces": 'Judge {answer}. Such as {"a": {"b": []}}. Answer only with Pass or Fail.',
    "double-braces": "Judge {{answer}}. Such as {% this %} and {{ two words }}. Answer only with Pass or Fail.",
    "none": "Read the question and the answer. Is the answer an answer to the question? Answer only with Yes or No.",
}


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_places_are_found_in_each_way_to_write_them(syntax: str, tokenizer: JudgeTokenizer) -> None:
    made = adopted_text(SYNTAXES[syntax])
    assert f"format: {syntax}" in made
    rubric = parse_rubric(made, "mine.prompty")
    text = written(rubric, tokenizer, {name: f"<{name}> {{answer}} {{{{answer}}}}" for name in rubric.inputs})
    assert "<answer> {answer} {{answer}}" in text


def test_role_lines_count_only_where_a_text_begins_with_one() -> None:
    rubric = adopted("Judge {answer}. Answer only with Pass or Fail.\n\nExample:\nuser:\nHello\n")
    assert [turn.role for turn in rubric.turns] == ["user"]
    rubric = adopted("system:\nJudge.\nuser:\nIs {{answer}} right? Answer only with Yes or No.\n")
    assert [turn.role for turn in rubric.turns] == ["system", "user"]


def test_words_become_a_score_with_the_good_one_on_top() -> None:
    rubric = adopted("Judge {answer}. Answer only with Pass or Fail.")
    assert rubric.format.scores["verdict"].levels == {0: "Fail", 1: "Pass"}
    rubric = adopted('Judge {answer}. Return JSON: {"reason": "<why>", "correct": true or false}')
    assert rubric.format.reply({}).form.write({"reason": "r", "correct": 1}).endswith('"correct": true}')


@pytest.mark.parametrize(
    "text", ["", "\x00", "{{" + "-" * 3000 + "x}}", "{% if x %}" * 150 + "{{x}}" + "{% endif %}" * 150, "{% x"]
)
def test_text_that_is_no_prompt_is_refused_or_left_to_the_user(text: str) -> None:
    with suppress(RubricError):
        assert not proposed(text).fields


@pytest.mark.parametrize(
    "text", ["<score>" * 500, "{" * 5000, '{"score": ' * 300, '{"score": ' + "[" * 3000, "Score: [" * 500]
)
def test_broken_formats_are_no_formats(text: str) -> None:
    assert not proposed(text).fields


@pytest.mark.parametrize(
    "unit",
    [" ", "\n", "Yes or No ", "given a, b and c ", '{"a": ', "1 - x\n", "1, 2 or ", '"a" ', "a: [b]\n", "[[a]]"],
)
def test_time_grows_with_the_length_of_a_text_and_not_with_its_square(unit: str) -> None:
    def seconds(length: int) -> float:
        text = f"{unit * (length // len(unit))}\nAnswer only with Pass or Fail."
        began = time.process_time()
        with suppress(RubricError):
            proposed(text)
        return time.process_time() - began

    short = max(0.005, min(seconds(5_000), seconds(5_000)))
    assert min(seconds(40_000), seconds(40_000)) < 30 * short


PIECES = [
    *("{answer}", "{{answer}}", "{", "}", "{{", '"score": ', "[1-5]", "<1-5>", "<score>", "</score>", "**Score:** "),
    *("Pass or Fail", "only ", '"a"', ",", "{% if x %}", "{% x", "\n", "\n- ", ": ", "x", "1", "null", "[", "]"),
    *("Return JSON with these keys:\n", "Score 1 - bad\n", "Score 2 - good\n", "[RESULT] ", "Feedback: ", "Output "),
]


@settings(max_examples=150, deadline=1000)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_refused_or_left_open_or_proposed_and_what_is_proposed_loads_or_names_why_not(text: str) -> None:
    try:
        found = proposed(text)
    except RubricError:
        return
    if found.fields and not found.open and found.inputs.said:
        with suppress(PathwayError):
            rubric = adopted(text)
            check_grammars(rubric.format, example_inputs(rubric), None)
            assert re.search(r"\w", rubric.text)


def asked(prompt: str) -> str:
    return " ".join(proposed(prompt).questions)


def test_what_a_prompt_does_not_say_outright_is_asked() -> None:
    given = (
        "You will be given a reference answer and the assistant's answer. Is it right? Answer only with Yes or No.\n"
    )
    assert "does the judge need no other text" in asked(given)
    two = 'A: {response_a}\nB: {response_b}\nWhich of the two responses {what}? Answer only with "A" or "B".\n'
    assert "counts as the better one" in asked(two.replace("{what}", "will upset people"))
    assert not asked(two.replace("{what}", "is better"))
    alone = 'Judge {answer}. First explain your reasoning. Then answer with only one word: "yes" or "no".\n'
    assert "and no reasons before it?" in asked(alone)


def test_names_of_levels_are_no_inputs_and_letters_alone_have_no_order() -> None:
    levels = "".join(f"Score {number}: {{{{level{number}}}}}\n" for number in (1, 2, 3))
    assert fields(f"Judge {{{{answer}}}}.\n{levels}Answer only with a number from 1 to 3.\n") == {"score": "1-3"}
    assert fields("Judge {answer}. Answer only with one letter: K or L.\n") == {"verdict": "K | L"}


def test_labels_whose_slots_hold_no_score_are_not_read_as_one_word() -> None:
    report = "## Summary\n[a short summary]\n\n## Judgement\n[whether they agree]\n"
    assert fields(f"Judge {{answer}}. Respond only with this report, TRUE or FALSE at its end:\n\n{report}") == {
        "summary": "text",
        "judgement": "?",
    }


SCALE = 'Rate {{answer}} from 1 to 5{remark}.\nReturn JSON: {{{{"score": <1-5>}}}}\n'


@pytest.mark.parametrize(
    "remark",
    [
        *(", where 1 is the best", " (lower is better)", " (1 = excellent, 5 = terrible)", " (1 sehr gut, 5 schlecht)"),
        *("; 5 bedeutet ungenügend", " (1 très bien)", ", donde 1 es excelente", ", sendo 5 péssimo"),
    ],
)
def test_a_scale_on_which_a_low_score_is_better_is_asked_about(remark: str) -> None:
    question = doubted(SCALE.format(remark=remark))
    assert "5 is taken as better, and line 1 says" in question


def test_the_direction_of_a_scale_in_steps_is_asked_about() -> None:
    for remark in ("1 (best) to 7 (worst)", "1 (none) to 7 (severe)"):
        prompt = f"Rate {{answer}} from {remark} in steps of 0.5.\nAnswer with the number only.\n"
        assert "7 is taken as better, and line 1 says" in doubted(prompt)


@pytest.mark.parametrize(
    "remark", ["", " (1 worst, 5 best)", ", where 5 is excellent", " (higher is better), not good"]
)
def test_a_scale_on_which_a_high_score_is_better_is_not_asked_about(remark: str) -> None:
    assert not doubted(SCALE.format(remark=remark))


def test_levels_that_begin_with_the_good_one_are_asked_about() -> None:
    levels = "Scale:\n1: completely correct\n2: partly\n3: completely incorrect\n"
    assert 'go from "completely correct" to' in doubted(f'Judge {{answer}}.\n{levels}Return JSON: {{"rating": 1}}\n')


@pytest.mark.parametrize(
    "told",
    [
        "¿Contiene {respuesta} errores? Responde solo con sí o no.",
        "Enthält {antwort} Fehler? Antworte nur mit Ja oder Nein.",
        "{reponse} contient des erreurs ? Répondez uniquement par oui ou non.",
        "{resposta} contém erros? Responda apenas com sim ou não.",
    ],
)
def test_a_yes_to_something_bad_is_asked_about_in_each_language(told: str) -> None:
    assert "is taken as better, and line 1 says" in doubted(f"{told}\n")


def test_a_score_of_something_bad_is_asked_about() -> None:
    prompt = 'Judge {reply}. Return JSON: {"bias": <0-3>, "severity": "low" | "medium" | "high", "tone": <1-5>}\n'
    assert 'a higher "bias" is taken as better: is that meant?' in doubted(prompt)
    words = 'Judge {reply}. Return JSON: {"severity": "low" | "medium" | "high"}\n'
    assert 'a higher "severity" is taken as better' in doubted(words)
    assert 'a higher "penalty"' in doubted('Judge {reply}. Return JSON: {"penalty": <0-5>}\n')
    assert 'YES is taken as better, and line 1 says "leak"' in doubted(
        "Does {reply} leak data? Answer only with YES or NO."
    )
    counts = "How many spelling mistakes does {reply} have? Answer only with a number from 0 to 10.\n"
    assert 'line 1 says "How many spelling mistakes"' in doubted(counts)


def test_levels_declared_from_worst_to_best_turn_the_scale_and_settle_the_question() -> None:
    prompt = SCALE.format(remark=" (1 is best, lower is better)").replace("5", "3")
    assert doubted(prompt, "score: 1-3")
    turned = "0 poor as 3 < 1 fair as 2 < 2 good as 1"
    assert not doubted(prompt, f"score: {turned}")
    made = parse_rubric(adopted_text(prompt, declared=f"score: {turned}"), "mine.prompty")
    assert made.format.reply({}).form.write({"score": 2}).endswith(" 1}")


def test_the_label_before_a_placeholder_stays_in_the_reply() -> None:
    found = proposed('Judge {answer}.\nReply with "Grade: X", where X is 0 if it is wrong and 1 if it is right.\n')
    assert (found.layout, list(found.open.values())) == ("Grade: {grade}", [["grade"]])


def test_dots_in_a_tag_for_reasons_are_text_and_a_third_word_is_asked_about() -> None:
    tags = "<analysis>...</analysis>\n<verdict>Pass|Fail</verdict>\n"
    told = "Answer 'Pass', 'Fail' or 'Borderline'. Write:\n"
    assert fields(f"Judge {{answer}}. Write:\n{tags}") == {"analysis": "text", "verdict": "Fail < Pass"}
    assert "Borderline" in doubted(f"Judge {{answer}}. {told}{tags}")


def test_bands_of_a_scale_are_no_scales_below_it_and_leave_it_open_beside_it() -> None:
    bands = ("1-3: weak", "4-6: fair", "7-9: strong scores")
    prompt = 'Score {answer} between 1 and 9.%s\nReturn JSON with the keys "why" and "score".\n'
    assert fields(prompt % "".join(f"\n- {band}" for band in bands)) == {"why": "text", "score": "1-9"}
    assert fields(prompt % f" {', '.join(bands)}") == {"why": "text", "score": "?"}
    apart = 'Score clarity 1-5 and depth 1-10 of {answer}. Return JSON with the keys "clarity" and "score".'
    assert fields(apart)["score"] == "?"


def test_braces_around_a_dollar_name_belong_to_the_mark(tokenizer: JudgeTokenizer) -> None:
    prompt = 'Judge {$answer} and $context, such as {"a": $answer}. Answer only with Pass or Fail.'
    rubric = adopted(prompt)
    text = written(rubric, tokenizer, {"answer": "THIS", "context": "THAT"})
    assert 'Judge THIS and THAT, such as {"a": THIS}.' in text


MORE_THAN_ONE = {
    "a form for each part": ('For each sentence of {a}, output JSON: {{"score": <1-5>}}', "write this form only once?"),
    "another notation": ("Judge {a} and answer in YAML:\nscore: <1-5>\nwhy: <one sentence>\n", "as it is shown here?"),
    "a tag that comes again": (
        "Reply: <r><part id=1><score>1-5</score></part><part id=2><score>1-5</score></part></r> for {a}.",
        "several times",
    ),
    "tags and JSON": (
        'Judge {a}. Write <thoughts>your thoughts</thoughts>, then JSON: {{"score": <1-5>}}',
        "also shows thoughts",
    ),
    "a key behind the list": ('Judge {a}. Return JSON with "why" and "score" (1-5), each short, and "note".', '"note"'),
    "two responses by number": ('Compare {r1} and {r2}. Output JSON {{"better": 1 or 2}}.', "are 1 and 2 a scale"),
}


@pytest.mark.parametrize("shape", MORE_THAN_ONE)
def test_what_a_proposal_leaves_out_is_asked_about(shape: str) -> None:
    prompt, question = MORE_THAN_ONE[shape]
    assert question in asked(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Judge {a}. Reply: <scores>\naccuracy: 1-5\nclarity: 1-5\n</scores>",
        'Judge {a}. Respond with only: "Rating: <a number 1-5>\\nWhy: <one sentence>"',
        'Judge {a}. Return a JSON list: [{{"part": "<text>", "score": <1-5>}}]. Then write <score>1-5</score>.',
    ],
)
def test_a_form_that_is_seen_and_not_read_is_left_to_the_user(prompt: str) -> None:
    assert not fields(prompt)


def test_a_number_with_what_it_means_keeps_its_lowest_value() -> None:
    shown = 'Judge {a}. Return JSON: {"why": "...", "grade": <1 = wrong, 2 = partly, 3 = right>}'
    assert fields(shown)["grade"] == "1-3"
    total = 'Judge {a}. Return JSON: {"clarity": 1-5, "depth": 1-5, "total": sum of both}'
    assert fields(total)["total"] == "?"
