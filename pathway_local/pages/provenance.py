"""The section on how a report was made: raters with every setting, commands, hashes."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.rater import Rater
from pathway_local.results.report import Report
from pathway_local.runs.audit import recorded
from pathway_local.runs.jobs import Job
from pathway_local.system.visible import visible
from pathway_local.verdict import Value
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with values below a heading."""

    heading: str
    rows: tuple[tuple[str, str], ...]


def provenance(found: Report, say: Language, command: Sequence[str]) -> Iterator[Facts]:
    """The run and this page first, then rubrics, raters and the commands that wrote to the run."""
    said = shlex.join(map(str, recorded(command)))
    yield Facts(say("this_page"), ((say("command"), said), (say("audit_hash"), found.head)))
    hashes = tuple((visible(name), rubric.sha256) for name, rubric in found.rubrics.items())
    yield Facts(say("rubrics_by_hash"), hashes)
    for rater in found.raters:
        yield Facts(f"{visible(rater.name)} · {visible(rater.rubric)} · {say(f'kind_{rater.kind}')}", _settings(rater))
    for job in found.jobs:
        yield Facts(say("job", number=job.id, began=say.time(job.started)), tuple(_job(job, say)))


def _settings(rater: Rater) -> tuple[tuple[str, str], ...]:
    return tuple((visible(name), _worded(value)) for name, value in sorted(rater.spec.items()) if value not in ({}, ""))


def _job(job: Job, say: Language) -> Iterator[tuple[str, str]]:
    yield say("command"), visible(shlex.join(job.command))
    yield say("ended"), f"{say.time(job.ended)}, {job.status}" if job.ended else say("not_ended")
    yield from ((visible(name), _worded(value)) for name, value in _flat(job.facts).items())
    if job.counts:
        yield say("counted"), ", ".join(f"{visible(name)} {say.count(count)}" for name, count in job.counts.items())


def _flat(facts: Mapping[str, Value]) -> Mapping[str, Value]:
    return {name: value for name, value in facts.items() if name != "raters" and value not in ({}, "", [])}


def _worded(value: Value) -> str:
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return " | ".join(map(_worded, value))
    if isinstance(value, dict):
        return visible("; ".join(f"{name} {_worded(each)}" for name, each in value.items() if each not in ({}, [], "")))
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
