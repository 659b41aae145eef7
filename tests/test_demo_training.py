"""Training the demo judge: the parts that a short run can show to be right.

torch is imported by the tests that need it: at the top, each worker of pytest would import it.
"""

import shutil
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from demo_judge.cases import MAKERS, make_cases, rubric_texts
from demo_judge.figures import rubrics_digest, stages_of
from demo_judge.lessons import CONTEXT, Teacher, corpus
from demo_judge.world import Split
from pathway_local.rendering.prompt import Chat, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import load_rubric

if TYPE_CHECKING:
    from demo_judge.train import Trainer


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from demo_judge.vocabulary import train_tokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    train_tokenizer(corpus(100, seed=0), rubric_texts(), folder)
    return folder


@pytest.fixture(scope="module")
def tokenizer(tokenizer_folder: Path) -> JudgeTokenizer:
    return JudgeTokenizer(tokenizer_folder)


@pytest.mark.parametrize("rubric", MAKERS)
def test_lessons_are_the_prompts_that_a_judge_gets_and_the_replies_that_its_rubric_reads(
    rubric: str, tokenizer: JudgeTokenizer
) -> None:
    loaded = load_rubric(rubric)
    writer = PromptWriter(loaded, tokenizer, Chat(), context=CONTEXT)
    teacher = Teacher(tokenizer, whole=True)
    cases = list(make_cases(rubric, Split.TRAIN, 20, seed=1))
    for case, lesson in zip(cases, teacher.lessons(rubric, cases), strict=True):
        prompt = writer.write([case.inputs])[0]
        assert not isinstance(prompt, Exception)
        assert lesson.ids[: lesson.reply] == prompt.ids
        assert lesson.ids[-1] == tokenizer.eos_id
        written = tokenizer.text(lesson.ids[lesson.reply : -1])
        assert dict(prompt.reply.form.read(written).values) == case.values
        assert lesson.ids[: len(teacher.prefix(rubric))] == teacher.prefix(rubric)


def test_without_their_text_rubrics_differ_by_name_alone(tokenizer: JudgeTokenizer) -> None:
    named = Teacher(tokenizer, whole=False)
    prefixes = {rubric: tokenizer.text(named.prefix(rubric)) for rubric in MAKERS}
    assert len(set(prefixes.values())) == len(MAKERS)
    assert all(rubric in prefix and len(prefix) < 120 for rubric, prefix in prefixes.items())


def test_digits_stand_alone_and_text_comes_back(tokenizer: JudgeTokenizer) -> None:
    text = 'Pay $450 by 12:30 – "naïve", {"a": [1]}\n\n**Score:** 3'
    ids = tokenizer.encode(text)
    assert tokenizer.text(ids) == text
    assert all(sum(c.isdigit() for c in tokenizer.text([i])) <= 1 for i in range(tokenizer.tokenizer.get_vocab_size()))


def test_rows_behind_a_shared_prefix_attend_as_when_each_holds_it(tmp_path: Path, tokenizer_folder: Path) -> None:
    import torch

    made = trainer(tmp_path, tokenizer_folder)
    prefix, rows = list(range(100, 140)), torch.randint(3, made.network.config.vocab_size, (3, 17))
    alone = made._alone(torch.cat([torch.tensor([prefix]).expand(3, -1), rows], 1))
    torch.testing.assert_close(made._behind(prefix, rows), alone[:, 40:], atol=0.05, rtol=0.05)


def trainer(work: Path, tokenizer_folder: Path, start: Path | None = None) -> "Trainer":
    from demo_judge.train import Schedule, Trainer

    if start is None:
        shutil.copytree(tokenizer_folder, work / "tokenizer", dirs_exist_ok=True)
    return plain(Trainer(Schedule(seed=0, easy=0, short=2, whole=2, rate=1e-3, batch=1), work, "cpu", start))


def plain(made: "Trainer") -> "Trainer":
    # Compiling takes longer than these few steps.
    made.body = made.network.model
    return made


@pytest.mark.soak
def test_a_resumed_run_ends_with_the_weights_of_one_that_never_stopped(
    tmp_path: Path, tokenizer_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr("demo_judge.train.POOL", 2)
    whole = trainer(tmp_path / "whole", tokenizer_folder)
    for _ in range(3):  # two under short prompts, one under whole ones
        whole.step()
    stopped = trainer(tmp_path / "stopped", tokenizer_folder)
    for _ in range(2):
        stopped.step()
    stopped.save()
    resumed = trainer(tmp_path / "stopped", tokenizer_folder)
    assert resumed.done == 2
    resumed.step()
    for name, weight in whole.network.state_dict().items():
        torch.testing.assert_close(resumed.network.state_dict()[name], weight, msg=name)


@pytest.mark.soak
def test_training_goes_on_from_a_folder_of_weights_and_its_tokenizer(tmp_path: Path, tokenizer_folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from demo_judge.train import Schedule, Trainer, export

    export(trainer(tmp_path / "first", tokenizer_folder), tmp_path / "weights")
    further = Schedule(seed=5, easy=0, short=0, whole=20, rate=1e-3, batch=2)
    made = plain(Trainer(further, tmp_path / "second", "cpu", tmp_path / "weights"))
    known = AutoModelForCausalLM.from_pretrained(tmp_path / "weights").state_dict()
    for name, weight in made.network.state_dict().items():
        torch.testing.assert_close(weight.to(torch.bfloat16), known[name], rtol=0, atol=0, msg=name)
    text = "Tuition in Sandrel is $450."
    assert made.whole.tokenizer.encode(text) == JudgeTokenizer(tokenizer_folder).encode(text)
    rubric, lessons = made._batch()
    assert rubric in MAKERS and len(lessons) == 2
    made.step()
    made.save()
    export(made, tmp_path / "weights")
    stages = stages_of(tmp_path / "weights")
    assert [(stage["seed"], stage["whole"], stage["rubrics"]) for stage in stages] == [
        (0, 2, rubrics_digest()),
        (5, 20, rubrics_digest()),
    ]
    resumed = plain(Trainer(further, tmp_path / "second", "cpu", tmp_path / "weights"))
    assert resumed.done == 1
    with pytest.raises(SystemExit, match="from other weights"):
        Trainer(further, tmp_path / "second", "cpu")
    rates = [further.learning_rate(step) for step in range(20)]
    assert rates[0] == pytest.approx(5e-4) and max(rates) == pytest.approx(1e-3, rel=0.05) and rates[-1] < 1e-4


def test_exported_weights_load_in_transformers_and_fit_the_real_prompts(tmp_path: Path, tokenizer_folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    from demo_judge.train import export

    made = trainer(tmp_path / "work", tokenizer_folder)
    export(made, tmp_path / "weights")
    network = AutoModelForCausalLM.from_pretrained(tmp_path / "weights")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / "weights")
    assert network.dtype == torch.bfloat16
    assert (tmp_path / "weights" / "model.safetensors").stat().st_size < 20e6
    assert network.config.max_position_embeddings >= 4096
    assert network.generation_config.eos_token_id == tokenizer.eos_token_id
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False, add_generation_prompt=True)
    assert chat == "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n"


def test_draws_depend_on_the_generator_given_alone(tokenizer: JudgeTokenizer) -> None:
    teacher = Teacher(tokenizer, whole=False)
    parts = (0.3, 0.4, 0.3)
    first = teacher.draw("groundedness", 5, Random(7), parts)
    assert (
        first == teacher.draw("groundedness", 5, Random(7), parts) != teacher.draw("groundedness", 5, Random(8), parts)
    )
