"""A page on which one person rates cases in a browser, and which saves the ratings to a file for `import`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from pathway_local.errors import UsageError
from pathway_local.pages.page import OPEN_TEXT, page, passage
from pathway_local.ratings.rating_rows import CANT_SAY, has_cant_say
from pathway_local.ratings.rating_sheet import RatingRow, told_to_people
from pathway_local.ratings.sampling import SamplePlan
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

MOST_BUTTONS = 12
"""A score with more levels is chosen from a list."""

LONGEST_COMMENT = 10_000

_CANT_SAY_KEY = "?"


@dataclass(frozen=True, slots=True)
class InputText:
    """A text of a case, with the name and the description of its input; responses to compare stand side by side."""

    name: str
    description: str
    text: str
    is_long: bool
    beside: bool


@dataclass(frozen=True, slots=True)
class CaseToRate:
    """A case on the page: its random id, the hash of its texts, and the texts as a person sees them."""

    rating_id: str
    text_hash: str
    passages: tuple[InputText, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A choice: what the file gets, what the page says, and the key that chooses it, if one does."""

    value: str
    label: str
    key: str


@dataclass(frozen=True, slots=True)
class RatedScale:
    """A score with its levels, the highest first; `listed` ones are chosen from a list."""

    name: str
    description: str
    levels: tuple[Level, ...]
    listed: bool


@dataclass(frozen=True, slots=True)
class RatingPages:
    """Writes the pages of a sample, made at the time `now` in ISO 8601; `write` is a `SheetWriter`.

    A `title` stands in place of the rubric's name.
    """

    plan: SamplePlan
    say: Language
    now: str
    title: str = ""

    def write(self, file: BinaryIO, rubric: Rubric, rater: str, rows: Sequence[RatingRow]) -> int:
        """Write one person's page, without scores, case ids or metadata; no text is cut, so it returns 0."""
        shares = [field.score for field in rubric.format.fields.values() if isinstance(field, VerdictListField)]
        if shares:
            said = f"{shares[0]!r} is a share of verdicts, which a page can't ask for"
            raise UsageError(said, "Write a workbook (.xlsx): people type the share there.")
        texts = tuple(_case(rubric, row) for row in rows)
        made = page(
            "rate.html",
            self.say,
            self.title or self.say("rate_title", name=rubric.name),
            own="rate",
            made=self.say.time(self.now),
            heading=self.title or rubric.name,
            description=visible(rubric.description),
            rater=rater,
            seed=self.plan.seed,
            file=f"{self.plan.sheets()[rater].stem}.json",
            cases=texts,
            scales=[_scale(name, score, self.say) for name, score in rubric.format.scores.items()],
            words=[(visible(line), is_heading) for line, is_heading in told_to_people(rubric)],
            longest_comment=LONGEST_COMMENT,
        )
        file.write(made.encode("utf-8", "replace"))
        return 0


def _case(rubric: Rubric, row: RatingRow) -> CaseToRate:
    compared = {name for pair in rubric.pair.swap.items() for name in pair} if rubric.pair else set()
    passages = []
    for name, wanted in rubric.inputs.items():
        text = row.texts[name]
        shown, is_long = passage(text, len(text)), len(text) > OPEN_TEXT
        passages.append(InputText(visible(name), visible(wanted.description), shown, is_long, name in compared))
    return CaseToRate(row.rating_id, row.text_hash, tuple(passages))


def _scale(name: str, score: ScoreField, say: Language) -> RatedScale:
    spelled = list(reversed(score.values_by_text(False).items()))
    shown = [text if value in score.written else str(value) for text, value in spelled]  # 4, where a judge writes 4.0
    levels = [
        Level(text, visible(_label(told, score.levels.get(value, ""))), key)
        for (text, value), told, key in zip(spelled, shown, _keys(shown), strict=True)
    ]
    if not has_cant_say(score):
        levels.append(Level(CANT_SAY, say("rate_cant_say"), _CANT_SAY_KEY))
    return RatedScale(name, visible(score.description), tuple(levels), len(spelled) > MOST_BUTTONS)


def _label(text: str, name: str) -> str:
    """A level's text and name: "4 – Good", or "A is better" alone, which begins with its text."""
    return name if name.startswith(text) else f"{text} – {name}".removesuffix(" – ")


def _keys(texts: Sequence[str]) -> list[str]:
    """A key for each level: the text's only character, or its first letter, if no other level would have the same."""
    wanted = [text[0].lower() if len(text) == 1 or text[0].isalpha() else "" for text in texts]
    return [key if wanted.count(key) == 1 and key != _CANT_SAY_KEY else "" for key in wanted]
