"""Weights drawn at random from a seed, for a layer of any sizes and a text of any words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.studies.words import hidden_states
from ui.engine import shared_cache
from ui.engine.device import DEVICE


@dataclass(frozen=True)
class Drawn:
    """The weights of a seed."""

    seed: int

    @property
    def weights(self) -> "Drawn":
        """Return what the weights depend on: the seed."""
        return self

    def attention(
        self, config: AttentionConfig, heads: tuple[int, ...] | None, dtype: torch.dtype
    ) -> AttentionLayer:
        """Return a layer of this configuration, or these heads of it."""
        made = {"heads": heads, "dtype": dtype, "device": DEVICE}
        return mechanisms.of(config).layer(config, seed=self.seed, **made)

    def hidden(self, words: Sequence[str], d_model: int) -> torch.Tensor:
        """Return the hidden states of any words, h [1,t,d]: equal words have equal ones."""
        return _hidden(tuple(words), self.seed, d_model)


@shared_cache.cached
def _hidden(words: tuple[str, ...], seed: int, d_model: int) -> torch.Tensor:
    return torch.from_numpy(hidden_states(words, seed, d_model))[None].to(DEVICE)
