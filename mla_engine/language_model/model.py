"""A small decoder over the engine's own attention layers, with the trace of all that it computes.

Embedding, then in each layer x + attention(norm(x)) and x + SwiGLU(norm(x)), a last norm, and the
embedding once more as the output (as Llama and DeepSeek-V3's dense layers are built).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

import torch
from torch import Tensor, einsum, nn
from torch.nn.functional import silu

from kvcount.refusals import RefusedError
from mla_engine import mechanisms, tree
from mla_engine.cache import Cache
from mla_engine.language_model.config import ModelConfig
from mla_engine.layer import AttentionLayer
from mla_engine.ops import rms_norm, softmax
from mla_engine.trace import Trace
from mla_engine.weights import Weights

__all__ = ["Block", "BlockTrace", "LanguageModel", "ModelTrace"]

SEEDS_A_LAYER = 1000  # a model's seeds lie below, so that no two layers of two models share one


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockTrace:
    """One layer; its attention reads the norm of x, which its trace has as h."""

    x: Tensor  # [b,t,d], the residual stream as it comes in
    attention: Trace
    x_mid: Tensor  # [b,t,d], x + u
    normed: Tensor  # [b,t,d], the norm of x_mid
    gate: Tensor  # [b,t,f]
    up: Tensor  # [b,t,f]
    hidden: Tensor  # [b,t,f], silu(gate) * up
    x_out: Tensor  # [b,t,d], x_mid + W_down hidden


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelTrace:
    """From words to the logits of the next word."""

    tokens: Tensor  # int64 [b,t]
    embedded: Tensor  # [b,t,d]
    blocks: tuple[BlockTrace, ...]
    normed: Tensor  # [b,t,d], the norm of the last block's x_out
    logits: Tensor  # [b,t,n]

    def of_text(self, place: int) -> "ModelTrace":
        """Return the trace of one of several texts, its batch 1; it holds nothing of the others."""
        return _of_text(self, place)

    def probabilities(self, temperature: float = 1.0) -> Tensor:
        """Return the probability of every next word, softmax(logits / temperature) [b,t,n]."""
        return softmax(self.logits / temperature)


def _of_text(value: object, place: int) -> object:
    if isinstance(value, Tensor):
        return value if value.dtype is torch.bool else value[place : place + 1].clone()
    if isinstance(value, tuple):
        return tuple(_of_text(part, place) for part in value)
    if not is_dataclass(value):
        return value
    return replace(
        value, **{f.name: _of_text(getattr(value, f.name), place) for f in fields(value)}
    )


for kind in (BlockTrace, ModelTrace):
    tree.register(
        kind, lambda trace: (vars(trace), None), lambda parts, _, kind=kind: kind(**parts)
    )


class Block(nn.Module):
    """One layer: attention_norm [d], attention, mlp_norm [d], W_gate, W_up [f,d], W_down [d,f]."""

    def __init__(self, config: ModelConfig, weights: Weights, number: int) -> None:
        super().__init__()
        d, f = config.d_model, config.d_mlp
        self.norm_eps = config.norm_eps
        self.attention_norm, self.mlp_norm = weights.ones(d), weights.ones(d)
        layer_type = mechanisms.of(config.attention).layer
        seed = weights.seed + SEEDS_A_LAYER * (number + 1)
        self.attention: AttentionLayer = layer_type(
            config.attention, seed=seed, dtype=weights.dtype, device=weights.device
        )
        self.W_gate = weights.shared(f"W_gate/{number}", f, d, fan_in=d)
        self.W_up = weights.shared(f"W_up/{number}", f, d, fan_in=d)
        self.W_down = weights.shared(f"W_down/{number}", d, f, fan_in=f)

    def forward(self, x: Tensor, attend: Callable[[AttentionLayer, Tensor], Trace]) -> BlockTrace:
        """Take x [b,t,d] through attention and SwiGLU; `attend` says how the attention is run."""
        trace = attend(self.attention, self.before_attention(x))
        x_mid = x + trace.u
        return BlockTrace(x=x, attention=trace, x_mid=x_mid, **self.mlp(x_mid))

    def before_attention(self, x: Tensor) -> Tensor:
        """Return the input of the attention, h [b,t,d]."""
        return rms_norm(x, self.attention_norm, self.norm_eps)

    def mlp(self, x_mid: Tensor) -> dict[str, Tensor]:
        """Add SwiGLU (arXiv 2002.05202): x_mid + W_down (silu(W_gate m) * W_up m), m its norm."""
        normed = rms_norm(x_mid, self.mlp_norm, self.norm_eps)
        gate = einsum("btd,fd->btf", normed, self.W_gate)
        up = einsum("btd,fd->btf", normed, self.W_up)
        hidden = silu(gate) * up
        x_out = x_mid + einsum("btf,df->btd", hidden, self.W_down)
        return {"normed": normed, "gate": gate, "up": up, "hidden": hidden, "x_out": x_out}


class LanguageModel(nn.Module):
    """A decoder: W_E [n,d], the blocks, norm [d]. Its weights are those of `seed` until trained."""

    def __init__(
        self,
        config: ModelConfig,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        self.config, self.mechanism = config, mechanisms.of(config.attention)
        weights = Weights(seed, dtype, device)
        self.W_E = weights.shared("W_E", len(config.words), config.d_model, fan_in=config.d_model)
        self.blocks = nn.ModuleList(Block(config, weights, i) for i in range(config.n_layers))
        self.norm = weights.ones(config.d_model)

    def forward(self, tokens: Tensor, form: str | None = None) -> ModelTrace:
        """Run a text and return every intermediate.

        Args:
            tokens: int64 [b,t].
            form: of the attention, the mechanism's first one by default.

        Raises:
            ValueError: tokens that are none of the vocabulary, a form that there is not.
            MemoryBudgetError: an attention would hold more than the memory budget.
        """
        run = self.mechanism.form(form or self.mechanism.forms[0].name).forward
        return self._traced(tokens, run)

    def decode(
        self, tokens: Tensor, caches: Sequence[Cache], form: str | None = None
    ) -> tuple[ModelTrace, tuple[Cache, ...]]:
        """Run new tokens [b,t] after those of the caches, one a layer; return the longer ones, too.

        Raises:
            ValueError, MemoryBudgetError: as `forward` and the layers' decode.
        """
        held, longer = iter(caches), []

        def step(layer: AttentionLayer, h: Tensor) -> Trace:
            trace, cache = layer.decode(h, next(held), form=form)
            longer.append(cache)
            return trace

        return self._traced(tokens, step), tuple(longer)

    def empty_caches(
        self, kind: str | None = None, batch: int = 1, capacity: int | None = None
    ) -> tuple[Cache, ...]:
        """Return a cache a layer, of a kind that the mechanism can keep; by default its own."""
        cache = self.mechanism.cache(kind) if kind else self.mechanism.caches[0]
        return tuple(b.attention.empty_cache(cache, batch, capacity) for b in self.blocks)

    def logits(self, tokens: Tensor) -> Tensor:
        """Return the logits of the next word [b,t,n] through torch's own attention: for training.

        Args:
            tokens: int64 [b,t].
        """
        x, positions = self.W_E[tokens], torch.arange(tokens.shape[1], device=tokens.device)
        for block in self.blocks:
            x = x + self.mechanism.fused(block.attention, block.before_attention(x), positions)
            x = block.mlp(x)["x_out"]
        return self._output(x)[1]

    def _traced(self, tokens: Tensor, attend: Callable) -> ModelTrace:
        self._check(tokens)
        x = embedded = self.W_E[tokens]
        blocks = []
        for block in self.blocks:
            blocks.append(block(x, attend))
            x = blocks[-1].x_out
        normed, logits = self._output(x)
        return ModelTrace(
            tokens=tokens, embedded=embedded, blocks=tuple(blocks), normed=normed, logits=logits
        )

    def _output(self, x: Tensor) -> tuple[Tensor, Tensor]:
        normed = rms_norm(x, self.norm, self.config.norm_eps)
        return normed, einsum("btd,nd->btn", normed, self.W_E)

    def _check(self, tokens: Tensor) -> None:
        words = len(self.config.words)
        if tokens.ndim != 2 or tokens.dtype != torch.int64 or not tokens.numel():
            raise RefusedError("tokens_shape", shape=list(tokens.shape), dtype=tokens.dtype)
        if torch.compiler.is_compiling():
            return  # a graph that is compiled has shapes, and no words to look at
        if tokens.min() < 0 or tokens.max() >= words:
            worst = int(tokens.min()) if tokens.min() < 0 else int(tokens.max())
            raise RefusedError("no_token", token=worst, last=words - 1)
