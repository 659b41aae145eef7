"""The turns of each built-in judge as its maker's chat template writes them, and the prompts that follow from them.

The templates here are ours: they write the same text for a system turn and a user turn, and leave out tools and images.
`seen` says which template was read: the maker's "own", only that of the model that it was trained from or follows
("base"), or only other programs' versions of it ("copy"). Its entry in models.yaml says the same.
"""

from dataclasses import dataclass, replace
from typing import Literal

from families import FAMILIES, Family

_BY_NAME = {family.name: family for family in FAMILIES}

_CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
_CHATML_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_ASKS = "{% if add_generation_prompt %}<|im_start|>assistant\n"

CHATML = Family("chatml", "<|im_end|>", _CHATML_TOKENS, _CHATML + _ASKS + "{% endif %}")
QWEN_35 = Family(
    "qwen3.5",
    "<|im_end|>",
    _CHATML_TOKENS,
    _CHATML + _ASKS + "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n"
    "{% else %}<think>\n{% endif %}{% endif %}",
    added=("<think>", "</think>"),
)
QWEN_38 = Family(  # EFFORT stands for a sentence that asks for brief thoughts
    "qwen3.8",
    "<|im_end|>",
    _CHATML_TOKENS,
    "<|im_start|>system\n{% if enable_thinking and reasoning_effort == 'low' %}EFFORT\n\n{% endif %}"
    "{{ messages[0].content }}<|im_end|>\n{% set messages = messages[1:] %}" + QWEN_35.template,
    added=("<think>", "</think>"),
)
NEMOTRON = Family(
    "nemotron",
    "<|im_end|>",
    _CHATML_TOKENS,
    _CHATML + _ASKS + "{% if enable_thinking is defined and not enable_thinking %}<think></think>"
    "{% else %}<think>\n{% endif %}{% endif %}",
    added=("<think>", "</think>"),
)
LLAMA_3 = Family(
    "llama-3.1",
    "<|eot_id|>",
    (*_BY_NAME["llama"].specials, "<|eom_id|>"),
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
    "Today Date: 26 Jul 2024\n\n{{ messages[0].content | trim }}<|eot_id|>"
    "{% for m in messages[1:] %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
)
_MISTRAL_TOKENS = ("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]")
_MISTRAL_TURNS = (
    "{% for m in messages[1:] %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]{% else %}{{ m.content }}</s>"
    "{% endif %}{% endfor %}"
)
MINISTRAL_3 = Family(
    "ministral-3",
    "</s>",
    _MISTRAL_TOKENS,
    "<s>[SYSTEM_PROMPT]{{ messages[0].content }}[/SYSTEM_PROMPT]" + _MISTRAL_TURNS,
)
MISTRAL_SMALL_4 = Family(
    "mistral-small-4",
    "</s>",
    (*_MISTRAL_TOKENS, "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]", "[THINK]", "[/THINK]"),
    "<s>[SYSTEM_PROMPT]{{ messages[0].content }}[/SYSTEM_PROMPT][MODEL_SETTINGS]"
    '{"reasoning_effort": "{{ reasoning_effort | default(\'none\') }}"}[/MODEL_SETTINGS]' + _MISTRAL_TURNS,
)
MISTRAL_2 = Family(
    "mistral-0.2",
    "</s>",
    ("<unk>", "<s>", "</s>"),
    "<s>{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('roles must alternate') }}"
    "{% elif m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %}{{ m.content }}</s>{% endif %}{% endfor %}",
    metaspace=True,
)
HARMONY = Family(
    "gpt-oss",
    "<|return|>",
    _BY_NAME["harmony"].specials,
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n"
    'Current date: {{ strftime_now("%Y-%m-%d") }}\n\nReasoning: {{ reasoning_effort | default("medium") }}\n\n'
    "# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>"
    "<|start|>developer<|message|># Instructions\n\n{{ messages[0].content }}\n\n<|end|>"
    "{% for m in messages[1:] %}{% if m.role == 'user' %}<|start|>user<|message|>{{ m.content }}<|end|>{% else %}"
    "<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|return|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}",
)
MUSE = Family(
    "muse-glimmer",
    "<|eot|>",
    ("<|begin_of_text|>", "<|start|>", "<|message|>", "<|eom|>", "<|eot|>"),
    "<|begin_of_text|><|start|>system<|message|>{{ messages[0].content }}\n\n"
    "Reasoning strength: {{ reasoning_strength | default('high') }}.\n\n"
    '# Valid recipients: "self", "user".<|eot|>'
    "{% for m in messages[1:] %}<|start|>{{ m.role }}{% if m.role == 'assistant' %} to=user{% endif %}<|message|>"
    "{{ m.content }}<|eot|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}",
)
PHI_4 = Family(
    "phi-4",
    "<|im_end|>",
    (*_CHATML_TOKENS, "<|im_sep|>"),
    "{% for m in messages %}<|im_start|>{{ m.role }}<|im_sep|>{{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant<|im_sep|>{% endif %}",
)
PHI_3 = Family(
    "phi-3.5",
    "<|endoftext|>",
    ("<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% else %}<|endoftext|>{% endif %}",
)

_CHATML_CASE = "<|im_start|>system\nSYSTEM<|im_end|>\n<|im_start|>user\nCASE<|im_end|>\n<|im_start|>assistant\n"
_GEMMA = "<bos><|turn>system\n{}SYSTEM<turn|>\n<|turn>user\nCASE<turn|>\n<|turn>model\n"
_LLAMA_CASE = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
    "Today Date: 26 Jul 2024\n\nSYSTEM<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nCASE<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)
_HARMONY_CASE = (
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n"
    "Current date: TODAY\n\nReasoning: {}\n\n"
    "# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>"
    "<|start|>developer<|message|># Instructions\n\nSYSTEM\n\n<|end|><|start|>user<|message|>CASE<|end|>"
    "<|start|>assistant<|channel|>{}<|message|>"
)
_MUSE_CASE = (
    "<|begin_of_text|><|start|>system<|message|>SYSTEM\n\nReasoning strength: {}.\n\n"
    '# Valid recipients: "self", "user".<|eot|><|start|>user<|message|>CASE<|eot|><|start|>assistant to={}<|message|>'
)
_SMALL_4 = "<s>[SYSTEM_PROMPT]SYSTEM[/SYSTEM_PROMPT][MODEL_SETTINGS]{}[/MODEL_SETTINGS][INST]CASE[/INST]"
_GRANITE = (
    "<|start_of_role|>system<|end_of_role|>SYSTEM<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>CASE"
    "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"
)
_GLM = "[gMASK]<sop><|system|>SYSTEM<|user|>CASE<|assistant|>"


@dataclass(frozen=True)
class Published:
    """A judge's prompt, up to where its reply or its thoughts begin: without thinking, and with it if it can think."""

    family: Family
    off: str
    on: str = ""
    seen: Literal["own", "base", "copy"] = "own"


_THINKING = ("<think>\n\n</think>\n\n", "<think>\n")
_QWEN_3 = Published(_BY_NAME["qwen"], *(_CHATML_CASE + begun for begun in _THINKING))
_QWEN_35 = Published(QWEN_35, _QWEN_3.off, _QWEN_3.on)
_GEMMA_4 = Published(
    _BY_NAME["gemma4"],
    _GEMMA.format("") + "<|channel>thought\n<channel|>",
    _GEMMA.format("<|think|>\n") + "<|channel>thought\n",
)
_GPT_OSS = Published(HARMONY, _HARMONY_CASE.format("low", "final"), _HARMONY_CASE.format("medium", "analysis"))
_NEMOTRON = Published(NEMOTRON, _CHATML_CASE + "<think></think>", _CHATML_CASE + "<think>\n")
_LLAMA = Published(LLAMA_3, _LLAMA_CASE)
_BASE = Published(CHATML, _CHATML_CASE, seen="base")
_PROMETHEUS = Published(MISTRAL_2, "<s>[INST] SYSTEM\n\nCASE [/INST]", seen="base")
PROMPTS = {
    **dict.fromkeys(("qwen3-0.6b", "qwen3-8b"), _QWEN_3),
    "qwen3-32b": replace(_QWEN_3, seen="base"),
    "qwen3.5-9b": _QWEN_35,
    "qwen3.6-35b-a3b": replace(_QWEN_35, seen="copy"),
    "qwen3.8-27b": Published(
        QWEN_38, _QWEN_3.off, _CHATML_CASE.replace("SYSTEM", "EFFORT\n\nSYSTEM") + "<think>\n", seen="copy"
    ),
    **dict.fromkeys(("qwen3-4b-instruct-2507", "compassjudger-2-7b", "m-prometheus-7b", "m-prometheus-14b"), _BASE),
    "con-j-7b": _BASE,
    "olmo-3.1-32b": replace(_BASE, seen="copy"),
    "granite-4.2-8b": Published(_BY_NAME["granite"], _GRANITE, _GRANITE + "<think>\n", seen="copy"),
    **dict.fromkeys(("gemma-4-12b", "gemma-4-31b"), _GEMMA_4),
    **dict.fromkeys(("gpt-oss-20b", "gpt-oss-120b"), _GPT_OSS),
    "phi-4": Published(
        PHI_4,
        "<|im_start|>system<|im_sep|>SYSTEM<|im_end|><|im_start|>user<|im_sep|>CASE<|im_end|>"
        "<|im_start|>assistant<|im_sep|>",
        seen="copy",
    ),
    "ministral-3-14b": Published(MINISTRAL_3, "<s>[SYSTEM_PROMPT]SYSTEM[/SYSTEM_PROMPT][INST]CASE[/INST]"),
    "muse-glimmer-30b": Published(
        MUSE, _MUSE_CASE.format("low", "user"), _MUSE_CASE.format("medium", "self"), seen="copy"
    ),
    "nemotron-3-nano-30b-a3b": _NEMOTRON,
    "nemotron-3.5-lightning": replace(_NEMOTRON, seen="base"),
    "glm-4.7-flash": Published(_BY_NAME["glm"], _GLM + "</think>", _GLM + "<think>"),
    "mistral-small-4": Published(
        MISTRAL_SMALL_4,
        _SMALL_4.format('{"reasoning_effort": "none"}'),
        _SMALL_4.format('{"reasoning_effort": "high"}') + "[THINK]",
    ),
    "llama-3.3-70b": _LLAMA,
    "selene-1-mini": replace(_LLAMA, seen="base"),
    "flow-judge-v0.1": Published(
        PHI_3, "<|system|>\nSYSTEM<|end|>\n<|user|>\nCASE<|end|>\n<|assistant|>\n", seen="base"
    ),
    **dict.fromkeys(
        ("prometheus-7b-v2.0", "prometheus-8x7b-v2.0"),
        Published(MISTRAL_2, "<s>[INST] SYSTEM\n\nCASE [/INST]", seen="base"),
    ),
}
