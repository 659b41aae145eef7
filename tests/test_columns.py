from collections.abc import Mapping, Sequence
from itertools import combinations

import pytest
import yaml

from pathway_local.errors import ColumnsError, UnknownName
from pathway_local.sheets.columns import NAMES_FILE, folded, match_all

Needed = Mapping[str, Sequence[str]]

PATHWAY = {"pathway-answer": ("question", "ideal_answer", "ai_answer", "retrieved_content")}
GROUNDED = {"groundedness": ("query", "response", "context")}
GOLD = {"gold-answer": ("question", "gold_answer", "model_answer")}


def columns(needed: Needed, found: Sequence[str], mapping: Mapping[str, str] | None = None) -> Mapping[str, str]:
    return match_all(found, needed, mapping or {}, "cases.csv")


MATCHES: list[tuple[Needed, Sequence[str], Mapping[str, str], Sequence[str]]] = [
    (GROUNDED, ["context", "query", "response", "question"], {}, ["query", "response", "context"]),
    ({"r": ("question",)}, ["Question", "question", "query"], {}, ["question"]),
    ({"r": ("ai_answer", "context")}, ["AI-answer", " Context "], {}, ["AI-answer", " Context "]),
    ({"a": ("query",), "b": ("user_question",)}, ["prompt"], {}, ["prompt", "prompt"]),
    ({"r": ("question",)}, ["question", "asked"], {"question": "asked"}, ["asked"]),
    ({"r": ("answer",)}, ["Bot Text"], {"answer": "bot text"}, ["Bot Text"]),
]  # fmt: skip


@pytest.mark.parametrize(("needed", "found", "mapping", "wanted"), MATCHES, ids=range(len(MATCHES)))
def test_an_exact_name_comes_first_then_another_spelling_and_a_map_before_all(
    needed: Needed, found: Sequence[str], mapping: Mapping[str, str], wanted: Sequence[str]
) -> None:
    assert list(columns(needed, found, mapping).values()) == wanted


def test_one_file_serves_rubrics_that_call_the_same_input_differently() -> None:
    match = columns(PATHWAY | GROUNDED | GOLD, list(PATHWAY["pathway-answer"]))
    assert [match[name] for name in (*GROUNDED["groundedness"], "gold_answer")] == [
        *("question", "ai_answer", "retrieved_content", "ideal_answer")
    ]


REFUSED: list[tuple[Needed, Sequence[str], Mapping[str, str], str]] = [
    ({"r": ("question", "query")}, ["question"], {}, "no column for query"),
    ({"r": ("query", "user_question")}, ["prompt"], {}, "both be read from the column prompt"),
    (GROUNDED, ["query", "response", "context"], {"response": "query", "query": "query"}, "would both be read"),
    (GROUNDED, ["Query", "QUERY", "response", "context"], {}, "query could be in Query or QUERY"),
    (GOLD, ["question", "gold_answer", "model_answer"], {"questoin": "question"}, "no input is called 'questoin'"),
    (GOLD, ["question", "gold_answer", "model_answer"], {"question": "Quest"}, "no column is called 'Quest'"),
]  # fmt: skip


@pytest.mark.parametrize(("needed", "found", "mapping", "said"), REFUSED, ids=range(len(REFUSED)))
def test_a_column_that_no_name_decides_is_refused(
    needed: Needed, found: Sequence[str], mapping: Mapping[str, str], said: str
) -> None:
    with pytest.raises((ColumnsError, UnknownName), match=said):
        columns(needed, found, mapping)


def test_several_aliases_are_an_error_that_asks_for_a_map() -> None:
    with pytest.raises(ColumnsError, match="response could be in answer or output") as caught:
        columns(GROUNDED, ["query", "answer", "output", "context"])
    assert "--map response=answer" in caught.value.hint
    settled = columns(GROUNDED, ["query", "answer", "output", "context"], {"response": "output"})
    assert settled["response"] == "output"


def test_a_missing_column_shows_both_sides_and_a_map_to_paste() -> None:
    with pytest.raises(ColumnsError) as caught:
        columns(PATHWAY, ["question", "Ideal answer text", "answer", "weather"])
    assert str(caught.value) == "cases.csv: no column for ideal_answer; no column for retrieved_content"
    assert "--map ideal_answer=COLUMN" in caught.value.hint
    assert "--map retrieved_content=COLUMN" in caught.value.hint
    assert "pathway-answer needs question, ideal_answer, ai_answer, retrieved_content" in caught.value.hint
    assert "the file has question, Ideal answer text, answer, weather" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        *("My sister has been ill since the spring, and I have missed the deadline of my loan.", "My name is Quagga"),
        *("Quagga failed.", "Really, Quagga?", "“Quagga”", "quagga@example.edu", "I'm Quagga", "Quagga\nOkapi"),
        *("クアッガです。", "2024-05-01", "17"),
    ],
)
def test_what_looks_like_a_text_is_not_listed_as_a_column(text: str) -> None:
    with pytest.raises(ColumnsError) as caught:
        columns(GOLD, ["question", "cohort", text])
    assert text not in str(caught.value) + caught.value.hint
    assert f"the file has question, cohort, (a name of {len(text)} characters)" in caught.value.hint
    with pytest.raises(UnknownName) as unknown:
        columns(GOLD, ["question", text], {"question": "Quest"})
    assert text not in str(unknown.value) + unknown.value.hint


def test_nothing_of_a_header_that_is_a_row_of_texts_is_told() -> None:
    with pytest.raises(ColumnsError) as caught:
        columns(GOLD, ["1", "Quagga", "My name is Okapi, what now?", "yes"])
    assert "the file has (4 columns that look like texts: is the header missing?)" in caught.value.hint
    assert not any(word in str(caught.value) + caught.value.hint for word in ("Quagga", "Okapi", "yes"))


@pytest.mark.parametrize(
    "name",
    [
        *("score_rubric.criteria", "Answer (bot)", "AI-answer", "Ideal answer text", "group/cohort", "q1", "réponse"),
        *("答案", "Nr.", "Matrikelnr.", "Lfd. Nr.", "No.", "Begr.", "Réponse de l'IA"),
    ],
)
def test_names_of_columns_are_listed_and_abbreviations_are_no_texts(name: str) -> None:
    with pytest.raises(ColumnsError, match="no column for gold_answer") as caught:
        columns(GOLD, ["asked", name, "Dauer (s)"])
    assert f"the file has asked, {name}, Dauer (s)." in caught.value.hint


def test_many_columns_are_not_all_listed() -> None:
    with pytest.raises(ColumnsError) as caught:
        columns(GOLD, [f"c{place}" for place in range(1500)])
    assert "and 1,460 more columns" in caught.value.hint


@pytest.mark.parametrize(
    ("question", "ideal", "answer", "context"),
    [
        ("Frage", "Musterantwort", "Antwort", "Fundstelle"),
        ("FRAGE", "Musterlösung", "Antwort des Chatbots", "Kontext"),
        ("Question posée", "Réponse de référence", "Réponse de l'IA", "Contexte"),
        ("Pregunta", "Respuesta esperada", "Respuesta del chatbot", "Contenido recuperado"),
        ("Pergunta", "resposta de referencia", "Resposta", "Conteúdo recuperado"),
        ("Fra\u0301ge", "Musterlo\u0308sung", "antwort", "Quellen"),
    ],
)
def test_headers_in_five_languages_are_recognized(question: str, ideal: str, answer: str, context: str) -> None:
    found = ["Nr.", question, ideal, answer, context]
    mapping = {"retrieved_content": context} if context == "Quellen" else {}
    match = columns(PATHWAY, found, mapping)
    assert list(match.values()) == [question, ideal, answer, context]


def test_every_name_of_an_input_stands_in_one_group_only() -> None:
    read = yaml.safe_load(NAMES_FILE.read_text(encoding="utf-8"))
    groups = [{folded(name) for names in languages for name in names} for languages in read["inputs"].values()]
    assert all(not one & other for one, other in combinations(groups, 2))
    assert all(len(languages) == 5 for name, languages in read["inputs"].items() if name != "fq_id")


def test_a_hint_proposes_no_column_for_a_word_in_common() -> None:
    with pytest.raises(ColumnsError) as caught:
        columns(PATHWAY, ["Nr.", "Chatbot", "Antwortzeit", "answer_id", "Fragetyp", "Sprache"])
    assert all(f"--map {name}=COLUMN" in caught.value.hint for name in PATHWAY["pathway-answer"])


@pytest.mark.parametrize("name", ["Antwort", "KI-Antwort", "ai_answer", "Réponse", "respuesta", "output"])
def test_two_responses_are_found_under_every_name_of_an_answer(name: str) -> None:
    found = columns({"pair": ("question", "response_a", "response_b")}, ["Frage", f"{name} A", f"{name}_b", "a", "b"])
    assert (found["response_a"], found["response_b"]) == (f"{name} A", f"{name}_b")
