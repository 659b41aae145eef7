"""Commands in random order, some of them killed, against a model in memory of what a run must then hold.

The promises: what is stored stays, nothing is there twice, a command that fails or is killed changes nothing or a
part that it would have changed anyway, a purge leaves nothing, and the audit accepts every honest history.
"""

import csv
import json
import os
import random
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import nsmallest
from pathlib import Path

import openpyxl
from forked import KILLED, Ended, Forks
from run_world import CASES, EMPTY, Key, World, score_of, texts_of, was_stored, without_words, words_in
from typed import RUBRIC

from pathway_local.case import rank
from pathway_local.ratings.import_ratings import NO_RESULT
from pathway_local.runs.audit import AuditTrail, check_content
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Outcome, Verdict

SEQUENCES, FIRST = int(os.environ.get("SEQUENCES", "2")), int(os.environ.get("FIRST_SEQUENCE", "0"))
LENGTH = 12
NOTE, REPLIED = "a remark by ann", "a reply from afar"
JUDGE = [
    *("judge", "cases.jsonl", "-r", "small.prompty", "-j", "scripted", "--engine", "scripted"),
    *("--run", "may.run", "--seal", "off"),
]
RATERS = ("scripted", "ann", "bea", "far", "both", "nobody")

STEPS = {"judge": 240, "import": 75, "export": 50, "hosted": 90, "sample": 110, "purge": 65, "runs": 70}
"""About how many steps a command has, so that kills are spread over all of it."""


class History:
    """The methods are steps; `check` reads the run after each.

    `undisturbed` has the judge's outcome by case, version and whether texts are stored, from runs of one command.
    """

    def __init__(
        self, forks: Forks, undisturbed: Mapping[tuple[str, int, bool], Outcome], seed: int, root: Path
    ) -> None:
        self.forks, self.undisturbed, self.rng = forks, undisturbed, random.Random(seed)
        self.world = World(root / "work", self.rng.random() < 0.5)
        self.world.folder.mkdir(parents=True)
        (self.world.folder / "small.prompty").write_text(RUBRIC)
        self.world.write_cases()
        self.typed_so_far: list[str] = []

    def go_on(self) -> None:
        """Take a random step, and check the run."""
        rng, case = self.rng, self.rng.choice(CASES)
        kill = rng.choice([0, rng.randint(1, 100)])
        score = rng.randint(1, 5)
        steps: dict[Callable[[], None], int] = {
            lambda: self.judge(kill, limit=rng.choice([0, 0, 1, 2, 3])): 5 if self.world.run.exists() else 20,
            lambda: self.edit(case, rng.randrange(EMPTY + 2)): 3,
            lambda: self.remove(case): 1,
            lambda: self.break_a_line(rng.random() < 0.5): 1,
            lambda: self.rate(_some_scores(rng), rng.random() < 0.7, kill): 3,
            lambda: self.hand_out(kill): 1,
            lambda: self.import_results(score, kill): 2 if self.world.batches else 0,
            lambda: self.sample(rng.randint(1, 4), rng.randrange(2), score, kill, fill=rng.random() < 0.5): 1,
            lambda: self.purge(rng.choice(["text", "all"]), kill): 1,
            lambda: self.remove_rater(rng.choice(RATERS), kill): 1 if self.world.run.exists() else 0,
            lambda: self.export(kill, onto=rng.random() < 0.5): 1,
            self.audit: 1 if self.world.run.exists() else 0,
            self.summary: 1 if self.world.run.exists() else 0,
        }
        [step] = rng.choices(list(steps), list(steps.values()))
        step()
        self.check()

    # Files that change

    def edit(self, case: str, version: int) -> None:
        self.world.versions[case] = version
        self.world.write_cases()

    def remove(self, case: str) -> None:
        if len(self.world.versions) > 1:
            self.world.versions.pop(case, None)
            self.world.write_cases()

    def break_a_line(self, broken: bool) -> None:
        self.world.broken_line = broken
        self.world.write_cases()

    # Commands

    def judge(self, kill: int, limit: int) -> None:
        world = self.world
        rows = [*world.versions, *([world.line()] if world.broken_line else [])]
        limited = 0 < limit < len(rows)
        drawn = nsmallest(limit, rows, key=lambda row: rank(row, 0)) if limited else rows
        options = [] if world.texts else ["--without-text"]
        options += ["--limit", str(limit)] if limit else []
        ended = self.typed(*JUDGE, *options, kill=kill, codes=(0, 1))
        found, before = world.found(), world.outcomes
        for case, version in world.versions.items():
            key = ("scripted", case)
            now = found.get(key)
            if isinstance(before.get(key), Verdict) and world.seen[key] == version:
                assert now == before[key], f"the verdict on {case} was lost, or given again"
                continue
            if case not in drawn or (ended.code == KILLED and now == before.get(key)):
                assert now == before.get(key), f"{case} was judged beyond the limit"
                continue
            assert now is not None, f"{case} has no outcome after a whole job"
            assert now == self.undisturbed[case, version, world.texts], f"{case} has another outcome than undisturbed"
            assert isinstance(now, Failure) == (version == EMPTY)
            world.outcomes[key], world.seen[key] = now, version
        self._judged_lines(found, drawn, whole=not limited and ended.code != KILLED)
        if ended.code != KILLED:
            assert ended.code == any(world.versions.get(row, EMPTY) == EMPTY for row in drawn)
        if not world.texts:
            assert all(
                not each.fields for key, each in found.items() if key[0] == "scripted" and isinstance(each, Verdict)
            )

    def _judged_lines(self, found: Mapping[Key, Outcome], drawn: Collection[str], *, whole: bool) -> None:
        """A broken line is a failure; a job on the whole file forgets those that are there no more."""
        world = self.world
        before = {key for key in world.outcomes if key[1].startswith("cases.jsonl ")}
        broken = {key for key, outcome in found.items() if isinstance(outcome, Failure) and outcome.kind == "bad-row"}
        now = {("scripted", world.line())} & {("scripted", row) for row in drawn}
        assert broken <= before | now
        if whole:
            assert broken == now
        world.outcomes = {key: each for key, each in world.outcomes.items() if key not in before}
        world.outcomes |= {key: found[key] for key in broken}

    def rate(self, scores: dict[str, int], with_texts: bool, kill: int) -> None:
        world = self.world
        scores = {case: score for case, score in scores.items() if case in world.versions} if with_texts else scores
        if not scores:
            return
        with (world.folder / "ann.csv").open("w", newline="") as file:
            written = csv.writer(file)
            written.writerow(["id", "score", "notes", *(["question", "answer"] if with_texts else [])])
            for case, score in scores.items():
                texts = [world.question(case), world.answer(case)] if with_texts else []
                written.writerow([case, score, NOTE, *texts])
        (world.folder / "ann.csv").chmod(0o600)
        command = ["import", "may.run", "ann.csv", "--kind", "human", "--rater", "ann"]
        sure = with_texts and all(self._fits("ann", case, score) for case, score in scores.items())
        self._import(command, "ann", scores, kill, sure=sure)
        world.words.add(NOTE)

    def import_results(self, score: int, kill: int) -> None:
        batch = self.rng.choice(self.world.batches)
        chosen = self.rng.sample(sorted(batch), self.rng.randint(1, len(batch)))
        reply = f"Reason: {REPLIED}\nScore: {score}"
        choice = {"message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        body = {"model": "far", "choices": [choice]}
        lines = [
            json.dumps({"custom_id": each, "response": {"status_code": 200, "body": body}, "error": None})
            for each in chosen
        ]
        (self.world.folder / "results.jsonl").write_text("\n".join(lines))
        (self.world.folder / "results.jsonl").chmod(0o600)
        command = ["import", "may.run", "results.jsonl", "--kind", "hosted", "--rater", "far"]
        scores = {batch[each]: score for each in chosen}
        self._import(command, "far", scores, kill, sure=False, asked=batch.values())
        self.world.words.add(REPLIED)

    def _import(
        self,
        command: list[str],
        rater: str,
        scores: Mapping[str, int],
        kill: int,
        *,
        sure: bool,
        asked: Iterable[str] = (),
    ) -> None:
        """All ratings of a file are stored, or nothing; `sure` says that nothing speaks against them.

        Of the cases that were `asked` about together, those without a result are failures.
        """
        world = self.world
        there = world.run.exists()
        before, imports = world.records(), world.import_jobs() if there else 0
        ended = self.typed(*command, kill=kill, codes=(0, 1, 2, 3) if there else (4,))
        after, imported = world.records(), ended.code in (0, 1)
        new = {(rater, case): score for case, score in scores.items()}
        now = {key: score_of(after[key].outcome) for key in new if key in after}
        assert not imported or now == new, "an import that succeeded lacks ratings"
        if there and world.import_jobs() > imports:
            assert (imported or ended.code == KILLED) and now == new
            stored = [key for key in new if was_stored(before.get(key), after[key])]
            for key in stored:
                world.outcomes[key] = after[key].outcome
                world.seen[key] = world.seen.get(("scripted", key[1]), -1) if sure else -1
            for key in {(rater, case) for case in asked} - new.keys() - world.outcomes.keys():
                assert after[key].outcome == NO_RESULT
                world.outcomes[key], world.seen[key] = NO_RESULT, -1
        else:
            assert not imported
        assert ended.code in (0, KILLED) or not sure, f"a rating that fits was refused: {ended.err}"

    def _fits(self, rater: str, case: str, score: int) -> bool:
        """Whether the case's present texts were judged, and a rating of them contradicts no other rating."""
        world, version = self.world, self.world.versions.get(case)
        judged = world.outcomes.get(("scripted", case))
        before = world.outcomes.get((rater, case))
        unrated = before is None or (world.seen.get((rater, case)) == version and score_of(before) == score)
        return isinstance(judged, Verdict) and world.seen.get(("scripted", case)) == version != EMPTY and unrated

    def hand_out(self, kill: int) -> None:
        world, out = self.world, self.world.folder / "requests.jsonl"
        out.unlink(missing_ok=True)
        usable = [case for case, version in world.versions.items() if version != EMPTY]
        command = "hosted export may.run --cases cases.jsonl --service openai --model far --out requests.jsonl --yes"
        ended = self.typed(*command.split(), "--rubric", "small.prompty", kill=kill, codes=(0,) if usable else (2,))
        assert out.exists() == (ended.code == 0) or ended.code == KILLED
        if out.exists():
            requests = [json.loads(line) for line in out.read_text().splitlines()]
            asked = {each["custom_id"]: each["body"]["messages"][-1]["content"] for each in requests}
            batch = {own: case for own, text in asked.items() for case in usable if world.question(case) in text}
            assert sorted(batch.values()) == sorted(usable)
            world.batches.append(batch)

    def sample(self, size: int, seed: int, score: int, kill: int, *, fill: bool) -> None:
        world, out = self.world, self.world.folder / "sheet.xlsx"
        out.unlink(missing_ok=True)
        command = f"sample may.run --cases cases.jsonl --n {size} --seed {seed} --out sheet.xlsx --rater bea"
        ended = self.typed(*command.split(), "--rubric", "small.prompty", kill=kill, codes=(0, 2))
        assert out.exists() == (ended.code == 0) or ended.code == KILLED
        if not (out.exists() and fill):
            return
        book = openpyxl.load_workbook(out)
        page = book.worksheets[0]
        heads = {cell.value: cell.column for cell in page[1]}
        scores = {}
        for line in range(2, page.max_row + 1):
            page.cell(line, heads["score"]).value = score
            question = page.cell(line, heads["question"]).value
            scores |= {case: score for case in world.versions if world.question(case) == question}
        book.save(out)
        if scores:
            self._import(["import", "may.run", "sheet.xlsx", "--kind", "human"], "bea", scores, 0, sure=False)

    def purge(self, what: str, kill: int) -> None:
        world = self.world
        there = world.run.exists()
        ended = self.typed("runs", "purge", "may.run", f"--{what}", "--yes", kill=kill, codes=(0,) if there else (4,))
        if not there:
            return
        found = world.found()  # opening it ends what the kill left half done
        if found == world.outcomes and ended.code == KILLED:
            return  # it may be before or after: the next purge tells
        whole = world.bytes()
        if what == "all":
            assert not found
            secrets = {*CASES, *world.words, *(each for batch in world.batches for each in batch)}
            world.outcomes, world.seen, world.batches = {}, {}, []
        else:
            secrets = world.words
            bare = {key: without_words(outcome) for key, outcome in world.outcomes.items()}
            assert found == bare, "a purge of texts changed more than texts"
            world.outcomes = bare
        left = [word for word in secrets if word.encode() in whole]
        assert not left, f"purge --{what} left {left}"
        if ended.code == 0:
            parts = [path.name for path in world.folder.glob(".*.part")]
            assert all(name in ended.err + ended.out for name in parts), "a half-written file was not named"
            for name in parts:
                shutil.rmtree(world.folder / name)
        world.words = set()

    def remove_rater(self, name: str, kill: int) -> None:
        world, there = self.world, name in self.world.raters()
        ended = self.typed("runs", "remove-rater", "may.run", name, "--yes", kill=kill, codes=(0,) if there else (2,))
        own = {key: each for key, each in world.outcomes.items() if key[0] == name}
        found = world.found()
        if not there or (ended.code == KILLED and own and found == world.outcomes):
            return
        world.outcomes = {key: each for key, each in world.outcomes.items() if key not in own}
        assert found == world.outcomes, "more or less than the rater was removed"
        assert name not in world.raters() or ended.code == KILLED
        world.seen = {key: version for key, version in world.seen.items() if key[0] != name}
        written = {*words_in(own.values()), *([NOTE] if name == "ann" else []), *([REPLIED] if name == "far" else [])}
        left = {word for word in written - words_in(found.values()) if len(word) > 5 and word.encode() in world.bytes()}
        assert not left, f"remove-rater {name} left {left}"

    def export(self, kill: int, *, onto: bool) -> None:
        world, out = self.world, self.world.folder / "out.jsonl"
        out.unlink(missing_ok=True)
        command = ["export", "may.run", "--out", "out.jsonl", *(["--onto", "cases.jsonl"] if onto else [])]
        ended = self.typed(*command, kill=kill, codes=(0,) if world.outcomes else (0, 2, 4))
        assert out.exists() or ended.code != 0
        if out.exists() and not onto:
            rows = [json.loads(line) for line in out.read_text().splitlines()]
            scores = {(row["rater"], row["case"]): row.get("score") for row in rows}
            assert len(scores) == len(rows)
            assert scores == {key: score_of(outcome) for key, outcome in world.outcomes.items()}

    def audit(self) -> None:
        heads = self.world.heads
        kept = ["--head", self.rng.choice(heads)] if heads else []
        self.typed("runs", "audit", "may.run", *kept, codes=(0,))

    def summary(self) -> None:
        self.typed("summary", "may.run", codes=(0,))

    def typed(self, *arguments: str, kill: int = 0, codes: Iterable[int]) -> Ended:
        """Run a command; it ends with one of these codes, or it was killed."""
        self.typed_so_far.append(f"{' '.join(arguments)} (killed: {kill}%)")
        of = next((STEPS[word] for word in reversed(arguments[:2]) if word in STEPS), 0)
        step = kill and 1 + kill * of // 100
        ended = self.forks.typed(self.world.folder, *arguments, kill=step)
        assert ended.code in (*codes, *([KILLED] if kill else [])), f"{arguments} ended with {ended}"
        assert "Traceback" not in ended.err and "fault:" not in ended.err
        assert not any(world_text in ended.err for world_text in texts_of(self.world))
        return ended

    def check(self) -> None:
        """Nothing is lost or twice, no text of a case is stored, and the audit accepts it."""
        world = self.world
        found = world.found()
        assert found == world.outcomes
        world.words |= {word for word in words_in(found.values()) if len(word) > 5}
        whole = world.bytes()
        assert not any(text.encode() in whole for text in texts_of(world))
        if not world.run.exists():
            return
        with RunFile.read(world.run) as run, run.database.snapshot():
            trail = AuditTrail(run.database)
            trail.check()
            for head in world.heads[-3:]:
                trail.check(head)
            check_content(run.database)
            if trail.entries():
                world.heads.append(trail.head())


def _some_scores(rng: random.Random) -> dict[str, int]:
    return {case: rng.randint(1, 5) for case in rng.sample(CASES, rng.randint(1, 3))}


def _undisturbed(forks: Forks, folder: Path) -> dict[tuple[str, int, bool], Outcome]:
    found = {}
    for texts in (True, False):
        for version in range(EMPTY + 2):
            world = World(folder / f"{texts}{version}" / "work", texts, versions=dict.fromkeys(CASES, version))
            world.folder.mkdir(parents=True)
            (world.folder / "small.prompty").write_text(RUBRIC)
            world.write_cases()
            ended = forks.typed(world.folder, *JUDGE, *([] if texts else ["--without-text"]))
            assert ended.code == (version == EMPTY), ended
            found |= {(case, version, texts): outcome for (_, case), outcome in world.found().items()}
    return found


def test_any_history_keeps_its_promises(tiny_judge: Path, tmp_path: Path) -> None:
    forks = Forks(tiny_judge)
    undisturbed = _undisturbed(forks, tmp_path)
    for seed in range(FIRST, FIRST + SEQUENCES):
        history = History(forks, undisturbed, seed, tmp_path / f"history {seed}")
        try:
            for _ in range(LENGTH):
                history.go_on()
        except AssertionError as error:
            raise AssertionError("\n".join([f"history {seed}: {error}", *history.typed_so_far])) from error
        shutil.rmtree(tmp_path / f"history {seed}")
