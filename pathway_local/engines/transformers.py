"""Hugging Face transformers as the engine: slower, for machines without vLLM, and to check vLLM's results against.

Outlines' grammar processor masks the logits. One row of a batch never changes what another draws: each has its own
random generator, seeded by its pass.
"""

import os
import warnings
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from pathway_local.engines.engine import EngineKind
from pathway_local.errors import WeightsMissing
from pathway_local.judges.limited_process import AGAIN
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult, Sampling
from pathway_local.sealing.launch import drop_empty_parts
from pathway_local.system.machine import TORCH_ALONE

if TYPE_CHECKING:
    import torch

BATCH = 8
"""Passes of one grammar to generate together."""


class Transformers(EngineKind):
    """Transformers as the rest of the program sees it."""

    name = "transformers"
    loader = "pathway_local.engines.transformers:TransformersEngine"
    libraries = ("transformers", "torch")
    packages = ("outlines", "llguidance", "transformers", "torch")
    install_hint = f"It needs torch: {TORCH_ALONE}."


TRANSFORMERS = Transformers()


class TransformersEngine:
    """Generates small batches of passes that share their grammar and end ids.

    It ignores `config.settings`, which are vLLM's. It calls `beat` at every token.
    """

    def __init__(self, config: EngineConfig, beat: Callable[[], None] = lambda: None) -> None:
        # Otherwise the mask's kernel is compiled at its first use, which takes longer than it saves.
        os.environ["TORCH_COMPILE_DISABLE"] = "1"
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        import outlines
        import torch
        import transformers
        from outlines.backends.llguidance import LLGuidanceBackend

        drop_empty_parts()
        outlines.caching.disable_cache()
        # A row that has ended is padded, which its grammar does not expect.
        warnings.filterwarnings("ignore", "Error in LLMatcher", UserWarning)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        tokenizer = transformers.AutoTokenizer.from_pretrained(config.model, trust_remote_code=False)
        model = _whole_model(config)
        _compute_logits_in_float32(model.to(device).eval())
        self._model = outlines.from_transformers(model, tokenizer)
        self._grammars = LLGuidanceBackend(self._model)  # kept: reading a large vocabulary takes a second
        self._end: int = tokenizer.eos_token_id
        self._beat = beat
        self._held: list[Pass] = []
        self._refused: list[PassResult] = []
        context = config.max_model_len or model.config.get_text_config().max_position_embeddings
        dtype = str(model.dtype).removeprefix("torch.")
        name = torch.cuda.get_device_name() if device == "cuda" else device
        self.facts = EngineFacts(TRANSFORMERS.name, transformers.__version__, context, dtype, name)

    def submit(self, item: Pass) -> None:
        """Enqueue a pass; one that can't be generated comes back as a result with `finish` "error"."""
        if refusal := self._refusal(item):
            self._refused.append(PassResult(item.id, finish="error", error=refusal))
        else:
            self._held.append(item)

    def step(self) -> list[PassResult]:
        """Generate one batch: the oldest pass and those that can be generated with it."""
        if self._refused or not self._held:
            refused, self._refused = self._refused, []
            return refused
        kind = _kind(self._held[0])
        batch = list(islice((item for item in self._held if _kind(item) == kind), BATCH))
        taken = {item.id for item in batch}
        self._held = [item for item in self._held if item.id not in taken]
        return self._generate(batch)

    def _refusal(self, item: Pass) -> str:
        """Return why a pass can't be generated; empty if it can."""
        if excess := item.excess(self.facts.max_model_len):
            return excess
        if not item.ids or item.max_tokens < 1:
            return "the request has no prompt, or nothing to generate"
        known = range(self._model.model.config.get_text_config().vocab_size)
        strange = any(token not in known for token in (*item.ids, *item.logprob_ids))
        return "the request holds an id that the judge does not have" if strange else ""

    def _generate(self, batch: list[Pass]) -> list[PassResult]:
        import torch
        from transformers import GenerationConfig

        try:
            mask = self._mask(batch[0].grammar)
        except ValueError:
            return [PassResult(item.id, finish="error", error="the grammar is refused") for item in batch]
        ends = [self._end, *batch[0].stop_ids]
        prompts = [item.ids for item in batch]
        longest = max(map(len, prompts))
        rooms = [
            min(item.max_tokens, self.facts.max_model_len - len(ids)) for item, ids in zip(batch, prompts, strict=True)
        ]
        rows = [[self._end] * (longest - len(ids)) + list(ids) for ids in prompts]
        seen = [[0] * (longest - len(ids)) + [1] * len(ids) for ids in prompts]
        draw = Draw(batch, self._beat)
        model = self._model.model
        with torch.inference_mode():
            out = model.generate(
                torch.tensor(rows, device=model.device),
                attention_mask=torch.tensor(seen, device=model.device),
                logits_processor=[*mask, draw],
                generation_config=GenerationConfig(
                    do_sample=False, max_new_tokens=max(rooms), eos_token_id=ends, pad_token_id=self._end
                ),
            )
        texts = out[:, longest:].tolist()
        return [
            _result(item, text[:room], ends, logprobs)
            for item, text, room, logprobs in zip(batch, texts, rooms, draw.logprobs, strict=True)
        ]

    def _mask(self, grammar: str | None) -> list[Any]:
        """Return Outlines' processor for a grammar, none without one. Raises ValueError for an invalid grammar."""
        from llguidance import LLMatcher

        if grammar is None:
            return []
        processor = self._grammars.get_cfg_logits_processor(grammar)
        if LLMatcher.validate_grammar(processor.grammar, self._grammars.llg_tokenizer):
            raise ValueError("the grammar is refused")
        return [processor]


def _whole_model(config: EngineConfig) -> Any:
    """Return the model with all its weights, and none of its maker's settings for generation.

    Raises WeightsMissing if the folder lacks tensors or holds others: transformers would draw random ones for them.
    """
    import transformers

    named = {"dtype": config.dtype, "trust_remote_code": False, "use_safetensors": True, "output_loading_info": True}
    named["ignore_mismatched_sizes"] = True  # they are in the report, too
    model, told = transformers.AutoModelForCausalLM.from_pretrained(config.model, **named)
    wrong = {"missing": "lack", "unexpected": "hold, beside those of the model,", "mismatched": "misfit"}
    for key, said in wrong.items():
        if strange := sorted(map(str, told[f"{key}_keys"])):
            first = f"{len(strange)} tensors, first {ascii(strange[0])[:80]}"
            raise WeightsMissing(f"the judge's weights {said} {first}", AGAIN)
    # Otherwise `generate` takes from generation_config.json what we leave out, such as tokens to suppress.
    model.generation_config = transformers.GenerationConfig()
    return model


def _compute_logits_in_float32(model: Any) -> None:
    """Make a judge of 16-bit numbers compute its last layer in float32 on a GPU, where that is free.

    On a processor each token would take twice as long. A quantized last layer stays as it is.
    """
    import torch

    head = model.get_output_embeddings()
    plain = type(head) is torch.nn.Linear and head.bias is None and head.weight.dtype != torch.float32
    if plain and head.weight.is_cuda:
        head.forward = lambda hidden: torch.mm(
            hidden.flatten(0, -2), head.weight.t(), out_dtype=torch.float32
        ).unflatten(0, hidden.shape[:-1])


class Draw:
    """A logits processor after the mask: it draws each row's token and masks all others, so that `generate` takes it.

    At each token it records the log-probabilities that the passes ask for, before temperature.
    """

    def __init__(self, batch: list[Pass], beat: Callable[[], None]) -> None:
        import torch

        self._batch, self._beat = batch, beat
        self._dice = [torch.Generator().manual_seed(item.sampling.seed) for item in batch]
        self.logprobs: list[list[dict[int, float]]] = [[] for _ in batch]

    def __call__(self, ids: "torch.Tensor", logits: "torch.Tensor") -> "torch.Tensor":
        import torch

        self._beat()
        logits = logits.float()
        allowed = torch.full_like(logits, float("-inf"))
        for at, (item, row, noted, dice) in enumerate(zip(self._batch, logits, self.logprobs, self._dice, strict=True)):
            if item.logprob_ids:
                wanted = row.log_softmax(-1)[list(item.logprob_ids)].tolist()
                noted.append(dict(zip(item.logprob_ids, wanted, strict=True)))
            allowed[at, _draw(item.sampling, row, dice)] = 0.0
        return allowed


def _draw(how: Sampling, logits: "torch.Tensor", dice: "torch.Generator") -> int:
    """Draw one token: the likeliest at temperature 0, else one of the fewest `top_k` likeliest that hold `top_p`."""
    if how.temperature == 0:
        return int(logits.argmax())
    shares, order = (logits / how.temperature).softmax(-1).cpu().sort(descending=True)
    if how.top_k > 0:
        shares[how.top_k :] = 0
    shares /= shares.sum()
    shares[shares.cumsum(0) - shares > how.top_p] = 0
    return int(order[shares.multinomial(1, generator=dice)])


def _kind(item: Pass) -> tuple[str | None, tuple[int, ...], bool]:
    """Return what passes must share to be generated together; a pass of one token must not wait for long ones."""
    return item.grammar, item.stop_ids, item.max_tokens == 1


def _result(item: Pass, ids: list[int], ends: list[int], logprobs: list[dict[int, float]]) -> PassResult:
    at = next((at for at, token in enumerate(ids) if token in ends), None)
    if at is None:
        return PassResult(item.id, tuple(ids), "length", tuple(logprobs[: len(ids)]))
    return PassResult(item.id, tuple(ids[:at]), "stop", tuple(logprobs[: at + 1]))
