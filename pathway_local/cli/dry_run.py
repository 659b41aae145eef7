"""Prints what `judge --dry-run` found."""

from dataclasses import asdict

from pathway_local.case import placed
from pathway_local.cli.terminal import data, print_json
from pathway_local.judging.dry_run import DryRun, JudgeForecast, RaterForecast
from pathway_local.judging.pace import duration


def show_dry_run(found: DryRun) -> None:
    """Print for each judge what it would do, what would fail, and what it would take."""
    for judge in found.judges:
        if judge.label:
            data.say(f"{judge.judge}: {judge.label}")
        for rater in judge.raters:
            _show_rater(rater)
        data.say(f"{judge.judge}: {judge.room}; its context here is {judge.context:,} tokens for prompt and reply")
        for note in judge.notes:
            data.say(f"{judge.judge}: {note}")
        data.say(f"{judge.judge}: {_time(judge)}")
    data.say("dry run: nothing was judged or stored")


def print_dry_run(found: DryRun) -> None:
    """Print the same as JSON."""
    judges = [asdict(judge) | {"seconds": judge.seconds} for judge in found.judges]
    print_json(
        {
            "rows": found.rows,
            "limit": asdict(found.limit) if found.limit else None,
            "part": str(found.part) if found.part else None,
            "judges": judges,
        }
    )


def _show_rater(found: RaterForecast) -> None:
    parts = [f"{found.to_judge:,} cases to judge"]
    parts += [f"{found.judged_before:,} judged before"] if found.judged_before else []
    parts += [f"{count:,} would fail ({kind})" for kind, count in sorted(found.failures.items())]
    data.say(f"{found.rubric} by {found.rater}: {', '.join(parts)}")
    for each in found.first_failures:
        data.say(placed(each.case, each.place, each.reason), indent=2)
    if found.would_fail > len(found.first_failures):
        data.say(f"… and {found.would_fail - len(found.first_failures):,} more", indent=2)
    if found.to_judge:
        share = found.shared_tokens / found.prompt_tokens
        data.say(
            f"prompts: {found.prompt_tokens:,} tokens, {share:.0%} of them shared; "
            f"replies: at most {found.reply_tokens:,} tokens",
            indent=2,
        )


def _time(judge: JudgeForecast) -> str:
    if judge.seconds is None or judge.pace is None:
        return "no estimate of the time: no job like this was measured on this machine"
    rate, pace = 1 / judge.pace.seconds, judge.pace
    return f"about {duration(judge.seconds)} ({rate:.1f} cases/s over {pace.cases:,} cases here on {pace.day})"
