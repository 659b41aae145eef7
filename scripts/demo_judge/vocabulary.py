"""Trains the demo judge's tokenizer: byte-level BPE, single digits, ChatML turns."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, TURN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SIZE = 3000
RUBRIC_WEIGHT = 60
"""How often each rubric's text counts: often enough for its words to become tokens."""

PIECES = r"""</?\w+>\n*|\*\*\w+:\*\*\n?| ?"\w+":|\n+|\d| ?\p{L}+| ?[^\s\p{L}\d]|\s"""
"""Merges never cross these pieces: each tag and label of the layouts is one piece, and so is each digit."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def train_tokenizer(cases: Iterable[str], rubrics: Iterable[str], folder: Path) -> None:
    """Learn merges from these texts and save the tokenizer in `folder`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        special_tokens=[PAD, TURN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [*cases, *(text for text in [*rubrics, "system user assistant"] for _ in range(RUBRIC_WEIGHT))]
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END)
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
