"""Trains the demo judge: cases, tokenizer, network, then weights that vLLM and transformers load.

Each step draws its cases from the seed and its own number, so a run resumes from a checkpoint as if never stopped. With
--from, training goes on from finished weights, under the rubrics' present texts. It uses a GPU if there is one.
"""

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
import torch.nn.functional as functional
from transformers import DynamicCache, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from demo_judge.cases import rubric_texts
from demo_judge.figures import rubrics_digest, stages_of
from demo_judge.lessons import CONTEXT, Lesson, Teacher, corpus
from demo_judge.vocabulary import PAD, train_tokenizer
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.system.shipped import packaged_folder

WEIGHTS = packaged_folder("demo/weights")
SHARES = {"pathway-answer": 0.2, "groundedness": 0.27, "contextual-relevance": 0.26, "gold-answer": 0.27}
EASY, FULL = (0.8, 0.2, 0.0), (0.35, 0.4, 0.25)
WIDTH, LAYERS, HEAD = 192, 5, 32
POOL = 8
"""Batches drawn together, so that each holds cases of similar length."""

PROMPT_WEIGHT = 0.1
SCORE_WEIGHT = 5.0
"""Weights of a prompt's token and a score's token; other tokens of a reply have weight 1."""

PROMPT_SHARE = 0.2
"""The share of a prompt's tokens that a step learns from, drawn anew each time."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long to train: `short` steps with rubric names, of which `easy` are easy, then `whole` steps with rubrics."""

    seed: int
    easy: int
    short: int
    whole: int
    rate: float = 5e-3
    batch: int = 32

    @property
    def steps(self) -> int:
        """The number of all steps."""
        return self.short + self.whole

    def learning_rate(self, step: int) -> float:
        """Return the rate: it warms up over 60 steps or a tenth of all, then falls to a twentieth along a cosine."""
        done = step / self.steps
        warm = min(60, max(1, self.steps // 10))
        return self.rate * min(1, (step + 1) / warm) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))


class Trainer:
    """Network, optimizers and the number of steps done, with a folder for the checkpoint.

    With `start`, a folder of weights, training goes on from them, with their tokenizer and new optimizers.
    """

    def __init__(self, schedule: Schedule, work: Path, device: str, start: Path | None = None) -> None:
        self.schedule, self.work, self.device, self.start = schedule, work, device, start
        tokenizer = JudgeTokenizer(_tokenizer_folder(work, schedule.seed, start))
        self.short, self.whole = Teacher(tokenizer, whole=False), Teacher(tokenizer, whole=True)
        torch.manual_seed(schedule.seed)
        size = -(-tokenizer.tokenizer.get_vocab_size() // 64) * 64
        self.network = new_network(size, tokenizer.eos_id, tokenizer.id_of(PAD)).to(device)
        if start:
            known = Qwen3ForCausalLM.from_pretrained(start, dtype=torch.float32)
            self.network.load_state_dict(known.state_dict())
        self.optimizers = _optimizers(self.network)
        self.body = torch.compile(self.network.model, dynamic=True)
        self.done = 0
        self._pool: tuple[int, list[tuple[str, list[Lesson]]]] = (-1, [])
        if self.checkpoint.is_file():
            self._resume()

    @property
    def checkpoint(self) -> Path:
        """The file that a stopped run resumes from."""
        return self.work / "checkpoint.pt"

    def step(self) -> float:
        """Learn from one batch; return the mean loss of the replies' tokens, in nats."""
        rubric, lessons = self._batch()
        rate = self.schedule.learning_rate(self.done)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        prefix = self.whole.prefix(rubric) if rubric else ()
        chance = torch.Generator().manual_seed(self.schedule.seed * 1_000_003 + self.done)
        ids, learned, weights = (t.to(self.device) for t in _tensors(lessons, len(prefix), chance))
        hidden = self._behind(prefix, ids) if prefix else self._alone(ids)
        with self._autocast():
            logits = functional.linear(hidden[learned], self.network.lm_head.weight)
        losses = functional.cross_entropy(logits.float(), ids.roll(-1, 1)[learned], reduction="none")
        (losses @ weights / weights.sum()).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.done += 1
        return float(losses.detach()[weights >= 1].mean())

    def save(self) -> None:
        """Write the checkpoint; the old one stays until the new one is complete."""
        state = {
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "done": self.done,
            "start": str(self.start),
        }
        part = self.checkpoint.with_suffix(".part")
        torch.save(state, part)
        part.replace(self.checkpoint)

    def _alone(self, ids: torch.Tensor) -> torch.Tensor:
        # On a CPU the plain form is the fastest one once compiled.
        self.network.set_attn_implementation("eager")
        with self._autocast():
            return self.body(input_ids=ids, use_cache=False).last_hidden_state

    def _behind(self, prefix: Sequence[int], ids: torch.Tensor) -> torch.Tensor:
        """Return the hidden states of rows behind one prefix, which is computed once and takes no gradient."""
        self.network.set_attn_implementation("sdpa")
        cache = DynamicCache(config=self.network.config)
        # Its own autocast: copies of weights cast without gradients must not be reused where gradients are needed.
        with torch.no_grad(), self._autocast():
            self.network.model(input_ids=torch.tensor([prefix], device=self.device), past_key_values=cache)
        cache.batch_repeat_interleave(len(ids))
        with self._autocast():
            return self.network.model(input_ids=ids, past_key_values=cache).last_hidden_state

    def _batch(self) -> tuple[str, list[Lesson]]:
        """Return this step's batch and the rubric that precedes it, or "" if none does."""
        number = self.done // POOL
        if self._pool[0] != number:
            draw = self._short_pool if number * POOL < self.schedule.short else self._whole_pool
            self._pool = (number, draw(number * POOL, Random(f"{self.schedule.seed}/{number}")))
        return self._pool[1][self.done % POOL]

    def _short_pool(self, step: int, rng: Random) -> list[tuple[str, list[Lesson]]]:
        """Return batches that mix all rubrics, each with cases of similar length."""
        parts = EASY if step < self.schedule.easy else FULL
        names = rng.choices(list(SHARES), list(SHARES.values()), k=self.schedule.batch * POOL)
        lessons = [lesson for name in SHARES for lesson in self.short.draw(name, names.count(name), rng, parts)]
        lessons.sort(key=lambda lesson: len(lesson.ids))
        batches = [("", lessons[at : at + self.schedule.batch]) for at in range(0, len(lessons), self.schedule.batch)]
        rng.shuffle(batches)
        return batches

    def _whole_pool(self, step: int, rng: Random) -> list[tuple[str, list[Lesson]]]:
        """Return batches of one rubric each, with cases of similar length."""
        names, size = rng.choices(list(SHARES), list(SHARES.values()), k=POOL), self.schedule.batch
        batches = []
        for name in SHARES:
            lessons = self.whole.draw(name, names.count(name) * size, rng, FULL)
            lessons.sort(key=lambda lesson: len(lesson.ids))
            batches += [(name, lessons[at : at + size]) for at in range(0, len(lessons), size)]
        rng.shuffle(batches)
        return batches

    def _resume(self) -> None:
        state: dict[str, Any] = torch.load(self.checkpoint, map_location=self.device, weights_only=True)
        if state["start"] != str(self.start):
            raise SystemExit(f"error: {self.work} holds a training from other weights; name another folder with --work")
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.done = state["done"]

    def _autocast(self) -> Any:
        return torch.autocast(self.device.partition(":")[0], dtype=torch.bfloat16)


def _tokenizer_folder(work: Path, seed: int, start: Path | None) -> Path:
    folder = work / "tokenizer"
    if start and not folder.is_dir():
        PreTrainedTokenizerFast.from_pretrained(start).save_pretrained(folder)
    elif not (folder / "tokenizer.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        train_tokenizer(corpus(2500, seed), rubric_texts(), folder)
    return folder


def new_network(vocabulary: int, end_id: int, pad_id: int) -> Qwen3ForCausalLM:
    """Return a network of random weights; seed torch first."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=3 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=WIDTH // HEAD,
        num_key_value_heads=WIDTH // HEAD,
        head_dim=HEAD,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        eos_token_id=end_id,
        pad_token_id=pad_id,
    )
    return Qwen3ForCausalLM(config)


def _optimizers(network: Qwen3ForCausalLM) -> list[torch.optim.Optimizer]:
    """Return Muon for the layers' matrices and AdamW for embeddings and norms."""
    matrices = [p for n, p in network.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in network.named_parameters() if p.ndim != 2 or "embed" in n]
    return [
        torch.optim.Muon(matrices, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def _tensors(
    lessons: Sequence[Lesson], skip: int, chance: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids without the first `skip`, a mask of the positions to learn from, and their weights."""
    width = -(-max(len(lesson.ids) - skip for lesson in lessons) // 16) * 16
    ids = torch.zeros(len(lessons), width, dtype=torch.long)
    weights = torch.zeros(len(lessons), width)
    for at, lesson in enumerate(lessons):
        length, reply = len(lesson.ids) - skip, lesson.reply - skip
        ids[at, :length] = torch.tensor(lesson.ids[skip:])
        weights[at, : reply - 1] = PROMPT_WEIGHT / PROMPT_SHARE
        weights[at, reply - 1 : length - 1] = 1
        weights[at, [score - skip - 1 for score in lesson.scores]] = SCORE_WEIGHT
    kept = (weights >= 1) | ((weights > 0) & (torch.rand(weights.shape, generator=chance) < PROMPT_SHARE))
    return ids, kept, weights[kept]


def train(trainer: Trainer) -> None:
    """Train until the schedule is done; print progress and save checkpoints."""
    last = time.monotonic()
    while trainer.done < trainer.schedule.steps:
        loss = trainer.step()
        if trainer.done % 10 == 0:
            pace, last = (time.monotonic() - last) / 10, time.monotonic()
            print(f"step {trainer.done}/{trainer.schedule.steps} loss {loss:.3f} {pace:.2f} s/step", flush=True)
        if trainer.done % 20 == 0:
            trainer.save()


def export(trainer: Trainer, folder: Path) -> None:
    """Write weights (bf16), configuration and tokenizer for vLLM and transformers, and the schedules so far."""
    folder.mkdir(parents=True, exist_ok=True)
    stages = stages_of(trainer.start) if trainer.start else []
    stages.append(asdict(trainer.schedule) | {"rubrics": rubrics_digest()})
    (folder / "training.json").write_text(json.dumps({"stages": stages}, indent=1) + "\n", encoding="utf-8")
    trainer.network.to(torch.bfloat16).save_pretrained(folder)
    PreTrainedTokenizerFast.from_pretrained(trainer.work / "tokenizer").save_pretrained(folder)


def main() -> None:
    """Train, or resume from the work folder."""
    parser = argparse.ArgumentParser(prog="train_demo_judge", description=__doc__)
    parser.add_argument("--from", type=Path, dest="start", metavar="FOLDER", help="go on from these weights")
    parser.add_argument("--work", type=Path, default=Path("runs/demo-judge"), help="checkpoints; training resumes here")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the weights go")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--easy", type=int, default=300)
    parser.add_argument("--short", type=int, help="default: 1200, and 0 with --from")
    parser.add_argument("--whole", type=int, default=1650)
    parser.add_argument("--rate", type=float, default=5e-3)
    parser.add_argument("--batch", type=int, default=32)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.work.mkdir(parents=True, exist_ok=True)
    short = (0 if given.start else 1200) if given.short is None else given.short
    schedule = Schedule(given.seed, given.easy, short, given.whole, given.rate, given.batch)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    trainer = Trainer(schedule, given.work, device, given.start)
    train(trainer)
    export(trainer, given.out)
    print(f"weights written to {given.out}")


if __name__ == "__main__":
    main()
