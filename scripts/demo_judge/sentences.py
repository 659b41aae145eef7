"""Sentences around the facts, as sentences.yaml has them. Training never uses the last `HELD_OUT` of each group."""

from pathlib import Path
from typing import Any

from pathway_local.system.safe_yaml import load_ours

HELD_OUT = 2

_READ: dict[str, Any] = load_ours(Path(__file__).with_name("sentences.yaml"))


def _usual(group: str) -> tuple[str, ...]:
    return tuple(_READ[group]["usual"])


DETAILS, OPENERS, REFUSALS, VAGUE, UNKNOWN = map(_usual, ("details", "openers", "refusals", "vague", "unknown"))
CHATTER, PLEASANTRIES, OFF_TOPIC = map(_usual, ("chatter", "pleasantries", "off_topic"))
GENERAL, GIVEN, NEXT = map(_usual, ("general", "given", "next"))
MORE_SENTENCES: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(each["usual"]): tuple(each["more"]) for each in _READ.values() if isinstance(each, dict)
}
ANSWER_FRAMES: list[str] = _READ["answer_frames"]
QUESTION_FRAMES: list[str] = _READ["question_frames"]
STARTS: list[str] = _READ["starts"]
