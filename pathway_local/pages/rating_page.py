"""A page on which one person rates cases in a browser, and which saves the ratings to a file for `import`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from pathway_local.errors import UsageError
from pathway_local.pages.page import page
from pathway_local.ratings.rating_rows import CANT_SAY, has_cant_say
from pathway_local.ratings.rating_sheet import RatingRow, told_to_people
from pathway_local.ratings.sampling import SamplePlan
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.lists import VerdictListField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

LONGEST_COMMENT = 10_000

_CANT_SAY_KEY = "?"


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
        compared = {name for pair in rubric.pair.swap.items() for name in pair} if rubric.pair else set()
        made = page(
            "rate.html",
            self.say,
            self.title or self.say("titled", kind=self.say("rate_kind"), name=rubric.name),
            own="rate",
            made=self.say.time(self.now),
            heading=self.title or rubric.name,
            description=visible(rubric.description),
            rater=rater,
            seed=self.plan.seed,
            file=f"{self.plan.sheets()[rater].stem}.json",
            cases=rows,
            inputs=rubric.inputs,
            compared=compared,
            scores=rubric.format.given,
            levels={name: _scale(score, self.say) for name, score in rubric.format.given.items()},
            words=[(visible(line), is_heading) for line, is_heading in told_to_people(rubric, self.say)],
            longest_comment=LONGEST_COMMENT,
        )
        file.write(made.encode("utf-8", "replace"))
        return 0


def _scale(score: ScoreField, say: Language) -> list[tuple[str, str, str]]:
    """The levels, the highest first: what the file gets, what the page says, and the key that chooses it, or ""."""
    spelled = list(reversed(score.values_by_text(False).items()))
    shown = [text if value in score.written else str(value) for text, value in spelled]  # 4, where a judge writes 4.0
    levels = [
        (text, say.levels(_label(told, score.levels.get(value, ""))), key)
        for (text, value), told, key in zip(spelled, shown, _keys(shown), strict=True)
    ]
    return levels if has_cant_say(score) else [*levels, (CANT_SAY, say("cant_say"), _CANT_SAY_KEY)]


def _label(text: str, name: str) -> str:
    """A level's text and name: "4 – Good", or "A is better" alone, which begins with its text."""
    return name if name.startswith(text) else f"{text} – {name}".removesuffix(" – ")


def _keys(texts: Sequence[str]) -> list[str]:
    """A key for each level: the text's only character, or its first letter, if no other level would have the same."""
    wanted = [text[0].lower() if len(text) == 1 or text[0].isalpha() else "" for text in texts]
    return [key if wanted.count(key) == 1 and key != _CANT_SAY_KEY else "" for key in wanted]
