"""A report of a run as one page: what came out, what a reader must not miss, the tables, and how it was made."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pathway_local.note import Note
from pathway_local.pages.page import page, part_of, sections, warnings
from pathway_local.results.report import Report
from pathway_local.runs.audit import recorded
from pathway_local.runs.jobs import Job
from pathway_local.sealing.seal import Seal
from pathway_local.system.visible import visible
from pathway_local.verdict import Value
from pathway_local.words.language import Language

MOST_WARNINGS = 3
"""Warnings on the first page; the others come behind the results."""

Facts = Iterator[tuple[str, str]]
"""Names with values."""


def report_page(
    found: Report, say: Language, command: Sequence[str], now: str, *, title: str = "",
    has_appendix: bool = True,
) -> str:  # fmt: skip
    """The page; `command` made it, at the time `now` in ISO 8601.

    `title` stands in place of the run's name. The appendix has commands, settings and hashes. The page holds no id and
    no text of a case.
    """
    told = list(dict.fromkeys([*map(say.note, found.warnings), *warnings([*found.overview, *found.tables], say)]))
    return page(
        "report.html",
        say,
        title or say("titled", kind=say("report_kind"), name=visible(found.name)),
        made=say.time(now),
        heading=title or found.name,
        found=found,
        overview=part_of("", found.overview, say),
        findings=[say.note(note) for note in found.findings],
        warnings=told[:MOST_WARNINGS],
        further=told[MOST_WARNINGS:],
        facts=list(_facts(found, say)),
        sections=sorted(
            sections(found.tables, say), key=lambda each: each["id"] == "failures"
        ),  # what failed comes last
        provenance=list(_provenance(found, say, command)) if has_appendix else [],
    )


def _facts(found: Report, say: Language) -> Iterator[tuple[str, list[str]]]:
    facts = (job.fact("cases") for job in found.jobs)
    files = ", ".join(dict.fromkeys(visible(str(each["file"])) for each in facts if "file" in each))
    yield say("judged"), [say("cases", count=found.cases), *([files] if files else [])]
    yield say("under"), [visible(name) for name in found.rubrics]
    raters = dict.fromkeys((rater.name, rater.kind) for rater in found.raters)
    yield say("by_whom"), [f"{visible(name)} ({say.word(kind)})" for name, kind in raters]
    if found.jobs:
        days = (found.jobs[0].started, found.jobs[-1].ended or found.jobs[-1].started)
        yield say("when"), [" – ".join(dict.fromkeys(map(say.day, days)))]
    seals = [Seal.recorded(each["seal"]) for job in found.jobs for each in job.engines if "seal" in each]
    network = list(dict.fromkeys(_sealed(seal, say) for seal in seals))
    hosted = list(dict.fromkeys(rater.name for rater in found.raters if rater.kind == "hosted"))
    network += [say.note(Note("hosted_network", {"raters": hosted}))] if hosted else []
    if network:
        yield say("sealed"), network


def _sealed(seal: Seal, say: Language) -> str:
    """Return what a seal did, for somebody who knows no words such as namespace."""
    return say("sealed_off" if seal.namespace or seal.filter else "not_sealed")


def _provenance(found: Report, say: Language, command: Sequence[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield facts with their headings: this page first, then rubrics, raters and the commands that wrote to the run."""
    said = _command(recorded(command))
    yield say("this_page"), [(say("command"), said), (say("audit_hash"), found.head)]
    yield say("rubrics_by_hash"), [(visible(name), rubric.sha256) for name, rubric in found.rubrics.items()]
    for rater in found.raters:
        settings = _told(dict(sorted(rater.spec.items())))
        yield f"{visible(rater.name)} · {visible(rater.rubric)} · {say.word(rater.kind)}", list(settings)
    for job in found.jobs:
        yield say("job", number=job.id, began=say.time(job.started)), list(_job(job, say))


def _job(job: Job, say: Language) -> Facts:
    yield say("command"), visible(_command(job.command))
    yield say("ended"), f"{say.time(job.ended)}, {job.status}" if job.ended else say("not_ended")
    yield from _told({name: value for name, value in job.facts.items() if name != "raters"})
    if job.counts:
        yield say("counted"), ", ".join(f"{visible(name)} {say.count(count)}" for name, count in job.counts.items())


def _command(words: Iterable[Value]) -> str:
    """A command without the folders of this machine."""
    return shlex.join(str(word).rpartition("/")[2] if str(word).startswith("/") else str(word) for word in words)


def _told(facts: Mapping[str, Value]) -> Facts:
    yield from ((visible(name), _worded(value)) for name, value in facts.items() if value not in ({}, "", []))


def _worded(value: Value) -> str:
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return " | ".join(map(_worded, value))
    if isinstance(value, dict):
        return visible("; ".join(f"{name} {_worded(each)}" for name, each in value.items() if each not in ({}, [], "")))
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
