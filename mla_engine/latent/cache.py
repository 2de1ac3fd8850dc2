"""MLA's cache: the latent c_KV and the rotary key k_R, which all heads share."""

from typing import Self

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase
from mla_engine.cache import Cache
from mla_engine.latent.config import LatentConfig


class LatentCache(Cache):
    """MLA's cache: d_latent_kv + d_rope elements per token, whatever the number of heads."""

    kind = "latent"
    config_type, wanted = LatentConfig, Phrase("latent_config")

    @classmethod
    def empty(
        cls,
        config: LatentConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        capacity: int | None = None,
    ) -> Self:
        """Return a cache of no tokens; `capacity` reserves memory, None grows as needed.

        Raises:
            ValueError: a config of another kind, a bad size, or memory beyond the budget.
        """
        checks.kind("config", config, cls.config_type, cls.wanted)
        return cls._reserve(config, cls._row(config), (batch, dtype, device), capacity)

    @staticmethod
    def _row(config: LatentConfig) -> dict[str, tuple[int, ...]]:
        return {"c_KV": (config.d_latent_kv,), "k_R": (config.d_rope,)}

    @property
    def c_KV(self) -> Tensor:
        """The latents held, after norm and scale [b,s,c]."""
        return self._rows("c_KV")

    @property
    def k_R(self) -> Tensor | None:
        """The shared rotary keys held, after rotation [b,s,r]; None without rotary dimensions."""
        return self._rows("k_R") if self.config.d_rope else None

    @property
    def parts(self) -> tuple[Tensor | None, ...]:
        """All that is held of each token."""
        return self.c_KV, self.k_R

    def append(self, c_KV: Tensor, k_R: Tensor | None) -> Self:
        """Return a cache with these tokens [b,t,c], [b,t,r] after those held."""
        return self._append(c_KV=c_KV, k_R=c_KV[..., :0] if k_R is None else k_R)
