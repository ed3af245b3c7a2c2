# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A causal language model of transformers as the batch uses it, and the check that it computes what the model says."""

import inspect
from collections.abc import Mapping
from typing import Final, cast

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

from rgsupport.errors import EngineError, one_line
from rgsupport.samplers._hf_cache import Prefix, SlotCache

# How far two ways to compute the same logits may differ, as a share of the range of the logits.
_TOLERANCE: Final = 1e-3
_TOLERANCE_16_BIT: Final = 0.1

# Lengths of the two texts of the check, different on purpose, and how many tokens of each are fed one by one.
_CHECK_LENGTHS: Final = (6, 11)
_CHECK_STEPS: Final = 2


class CausalModel:
    """A model that computes prompts alone, and new tokens in batches of rows at different positions.

    Attributes:
        model: The model of transformers.
        vocabulary: Number of logits.
        bytes_per_token: Memory a token takes in the cache.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        """Wrap a causal language model in evaluation mode.

        Raises:
            EngineError: The architecture does not work with rows at different positions.
        """
        self.model = model
        accepted = inspect.signature(model.forward).parameters
        # transformers renamed the argument in 5.24.
        cache_names = [name for name in ("cache", "past_key_values") if name in accepted]
        if not cache_names or getattr(model, "_is_stateful", False):
            raise EngineError(self._refusal("it keeps a state other than keys and values"))
        self._cache_name = cache_names[0]
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self.vocabulary, self.bytes_per_token = self._check()

    @torch.inference_mode()
    def prefill(self, token_ids: tuple[int, ...]) -> Prefix:
        """Compute a prompt."""
        # Made without the model's configuration, so that layers with a sliding window keep every position too.
        cache = DynamicCache()
        logits = self._logits({"input_ids": torch.tensor([token_ids]), self._cache_name: cache, **self._last_only})
        layers = cast("list[DynamicLayer]", cache.layers)
        keys = [layer.keys for layer in layers if layer.keys is not None]
        values = [layer.values for layer in layers if layer.values is not None]
        return Prefix(keys, values, logits=logits[0, -1].clone(), length=len(token_ids))

    @torch.inference_mode()
    def decode(self, token_ids: Tensor, cache: SlotCache, *, mask: Tensor, positions: Tensor) -> Tensor:
        """Feed one token per row.

        Args:
            token_ids: [rows, 1] int64.
            cache: What the rows hold; the new tokens are added.
            mask: [rows, 1, 1, width], added to the attention scores.
            positions: [rows, 1] int64, where in its text each token stands.

        Returns:
            [rows, vocabulary], logits of the next token.
        """
        arguments = {"input_ids": token_ids, "attention_mask": mask, "position_ids": positions, self._cache_name: cache}
        return self._logits(arguments)[:, -1]

    def _logits(self, arguments: Mapping[str, Tensor | Cache | int]) -> Tensor:
        """Return the logits, [rows, tokens, vocabulary]."""
        on_device = {k: v.to(self.model.device) if isinstance(v, Tensor) else v for k, v in arguments.items()}
        return self.model(**on_device, use_cache=True).logits

    def _check(self) -> tuple[int, int]:
        """Compare a batch with the plain model; return the vocabulary and the bytes a token takes in the cache."""
        config = self.model.config.get_text_config()
        texts = [[(7 + 13 * i) % config.vocab_size for i in range(length)] for length in _CHECK_LENGTHS]
        try:
            expected = [self._plain(text) for text in texts]
            prefixes = [self.prefill(tuple(text[:-_CHECK_STEPS])) for text in texts]
            found = self._stepwise(texts, prefixes)
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
            raise EngineError(self._refusal(f"it fails with {one_line(error)}")) from error
        want = torch.stack(expected).float()
        tolerance = _TOLERANCE_16_BIT if self.model.dtype.itemsize < 4 else _TOLERANCE
        if not (found.float() - want).abs().max() <= tolerance * (want.max() - want.min()):
            raise EngineError(self._refusal("texts of different lengths in one batch change each other"))
        return want.shape[-1], prefixes[0].bytes_per_token

    @torch.inference_mode()
    def _plain(self, text: list[int]) -> Tensor:
        """Return the plain model's logits after each of the last tokens, [steps, vocabulary]."""
        return self.model(input_ids=torch.tensor([text], device=self.model.device)).logits[0, -_CHECK_STEPS:]

    @torch.inference_mode()
    def _stepwise(self, texts: list[list[int]], prefixes: list[Prefix]) -> Tensor:
        """Return the batch's logits after each of the last tokens, [texts, steps, vocabulary]."""
        cache = SlotCache(prefixes[0], max_rows=len(texts), max_tokens=len(texts) * max(_CHECK_LENGTHS))
        for prefix in prefixes:
            cache.append(prefix)
        logits: list[Tensor] = []
        for step in range(_CHECK_STEPS):
            places = np.array([prefix.length + step for prefix in prefixes])
            mask, positions = cache.step(places)
            token_ids = torch.tensor([[text[place]] for text, place in zip(texts, places.tolist(), strict=True)])
            logits.append(self.decode(token_ids, cache, mask=mask, positions=positions))
        return torch.stack(logits, dim=1)

    def _refusal(self, reason: str) -> str:
        """Return the message that names the architecture."""
        return f"the hf engine cannot run a {type(self.model).__name__}: {reason}; name a model of another architecture"
