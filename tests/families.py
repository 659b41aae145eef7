"""Small tokenizers with the special tokens, templates and spellings of well-known model families."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from pathway_local.judges.judge_spec import ThinkingSpec

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Family:
    """What sets a family apart: its special tokens, its turn template and how blanks are spelled.

    `prefix` names the part of a `metaspace` tokenizer that puts a blank before a text: a normalizer, as in Llama 2,
    or a pre-tokenizer that does so before the first piece or before each.
    """

    name: str
    eos: str
    specials: tuple[str, ...]
    template: str
    metaspace: bool = False
    prefix: Literal["", "prepend", "first", "always"] = ""
    folds_system: bool = False
    added: tuple[str, ...] = ()
    end_of_turn: tuple[str, ...] = ()
    thinking: ThinkingSpec | None = None


PREFIXES: tuple[Literal["prepend", "first", "always"], ...] = ("prepend", "first", "always")
_SWITCH: dict[str, Any] = {"off_by": {"enable_thinking": False}, "on_by": {"enable_thinking": True}}
FAMILIES = (
    Family(
        "qwen",
        "<|im_end|>",
        ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n"
        "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}",
        added=("<think>", "</think>"),
        thinking=ThinkingSpec(**_SWITCH, start="<think>\n", end="</think>"),
    ),
    Family(
        "llama",
        "<|eot_id|>",
        ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"),
        "<|begin_of_text|>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
        "{{ m.content | trim }}<|eot_id|>{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    ),
    Family(
        "mistral",
        "</s>",
        ("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]"),
        "<s>{% for m in messages %}{% if m.role == 'system' %}[SYSTEM_PROMPT]{{ m.content }}\n"
        "effort: {{ reasoning_effort | default('none') }}[/SYSTEM_PROMPT]"
        "{% elif m.role == 'user' %}[INST] {{ m.content }} [/INST]"
        "{% else %}{% if m.thoughts %}[THINK]{{ m.thoughts }}[/THINK]{% endif %}{{ m.content }}</s>{% endif %}"
        "{% endfor %}",
        metaspace=True,
        thinking=ThinkingSpec(
            off_by={"reasoning_effort": "none"},
            on_by={"reasoning_effort": "high"},
            start="[THINK]",
            end="[/THINK]",
            close="[/THINK]",
        ),
    ),
    Family(
        "gemma",
        "<eos>",
        ("<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>", "<unk>"),
        "<bos>{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
        "{{ m.content | trim }}<end_of_turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
        metaspace=True,
        folds_system=True,
        added=("<|channel>", "<channel|>"),
        thinking=ThinkingSpec(start="<|channel>thought\n", end="<channel|>", close="<channel|>"),
    ),
    Family(
        "gemma4",
        "<eos>",
        ("<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|think|>", "<|channel>", "<channel|>"),
        "<bos>{% for m in messages %}<|turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
        "{% if m.role == 'system' and enable_thinking %}<|think|>\n{% endif %}{{ m.content | trim }}<turn|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|turn>model\n"
        "{% if not enable_thinking %}<|channel>thought\n<channel|>{% endif %}{% endif %}",
        metaspace=True,
        end_of_turn=("<turn|>",),
        thinking=ThinkingSpec(**_SWITCH, start="<|channel>thought\n", end="<channel|>", close="<channel|>"),
    ),
    Family(
        "harmony",
        "<|return|>",
        ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>"),
        "<|start|>system<|message|>Reasoning: {{ reasoning_effort | default('medium') }}<|end|>"
        "{% for m in messages %}{% if m.role == 'assistant' %}"
        "<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|{{ 'return' if loop.last else 'end' }}|>"
        "{% else %}<|start|>{{ 'developer' if m.role == 'system' else m.role }}<|message|>{{ m.content }}<|end|>"
        "{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}",
        thinking=ThinkingSpec(
            off_by={"reasoning_effort": "low"},
            on_by={"reasoning_effort": "medium"},
            skip="<|channel|>final<|message|>",
            start="<|channel|>analysis<|message|>",
            end="<|end|>",
            close="<|end|><|start|>assistant<|channel|>final<|message|>",
        ),
    ),
    Family(
        "granite",
        "<|end_of_text|>",
        ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
        "{% for m in messages %}<|start_of_role|>{{ m.role }}<|end_of_role|>{{ m.content }}<|end_of_text|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>"
        "{% if enable_thinking %}<think>\n{% endif %}{% endif %}",
        added=("<think>", "</think>"),
        thinking=ThinkingSpec(**_SWITCH, end="</think>", close="</think>\n"),
    ),
    Family(
        "glm",
        "<|endoftext|>",
        ("<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>"),
        "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>"
        "{% if enable_thinking is defined and not enable_thinking %}</think>{% else %}<think>{% endif %}{% endif %}",
        added=("<think>", "</think>"),
        thinking=ThinkingSpec(**_SWITCH, end="</think>", close="</think>\n"),
    ),
    *(
        Family(
            f"llama2-{prefix}",
            "</s>",
            ("<unk>", "<s>", "</s>"),
            "{% for m in messages %}{% if m.role == 'user' %}<s>[INST] {{ m.content }} [/INST]"
            "{% elif m.role == 'system' %}<<SYS>>\n{{ m.content }}\n<</SYS>>\n\n"
            "{% else %} {{ m.content }} </s>{% endif %}{% endfor %}",
            metaspace=True,
            prefix=prefix,
        )
        for prefix in PREFIXES
    ),
)


def write_tokenizer(family: Family, folder: Path, vocabulary: int = 2000) -> Path:
    """Save a tokenizer of that family, trained on this repository's prose, with its chat template."""
    from transformers import PreTrainedTokenizerFast  # slow to import: all workers would wait before the first test

    tokenizer = Tokenizer.from_str(_trained(family.specials, family.metaspace, family.prefix, vocabulary))
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in family.added])
    unknown = "<unk>" if "<unk>" in family.specials else None
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=family.eos, unk_token=unknown)
    fast.chat_template = family.template
    fast.save_pretrained(folder)
    return folder


def of_transformers(folder: Path) -> Any:
    """Return transformers' tokenizer of a folder."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)


@cache
def _trained(specials: tuple[str, ...], metaspace: bool, prefix: str, vocabulary: int) -> str:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>" if "<unk>" in specials else None, byte_fallback=metaspace))
    if metaspace:
        blanks = normalizers.Replace(" ", "▁")
        if prefix == "prepend":
            tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), blanks])
        elif prefix:
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prefix, split=False)
        else:
            tokenizer.normalizer = blanks
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
        alphabet = [chr(code) for code in range(33, 127)] + ["▁", "\n"]
        fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet, fallback = pre_tokenizers.ByteLevel.alphabet(), []
    prose = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "prompts").glob("*.prompty"))]
    lines = [line for text in prose for line in text.splitlines(keepends=True)]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[*specials, *fallback],
        initial_alphabet=alphabet,
        max_token_length=16,
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    # Byte tokens are ordinary vocabulary: the trainer only takes them in as special ones.
    described = json.loads(tokenizer.to_str())
    described["added_tokens"] = [token for token in described["added_tokens"] if token["content"] not in fallback]
    return json.dumps(described)
