"""The cases that benchmarks/engine.py compares, at published sizes, in float32."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm
from transformers import DynamicCache

from mla_engine import PRESETS, LatentCache, MultiHeadLatentAttention, timing
from mla_engine.budget import PeakBytes
from mla_engine.rope import rotation
from tests.engine.families import FAMILIES, run_theirs, their_module

CACHED = 4096
READ = 2**28  # bytes, beyond what caches on the chip hold
SIDE = 1024


@dataclass(frozen=True)
class Case:
    """Two sides; `same` says that their results are to agree.

    Attributes:
        rates: what the machine can do, timed in the same rounds.
        floor: the seconds of those -> the least that the products and bytes of `ours` take.
    """

    name: str
    ours: Callable[[], Tensor]
    theirs: Callable[[], Tensor]
    reach: float | None
    same: bool = True
    rates: dict[str, Callable] = field(default_factory=dict)
    floor: Callable[[dict[str, float]], float] | None = None


def layer_of(preset: str) -> MultiHeadLatentAttention:
    """A layer with weights drawn at once, of the size that keeps activations near 1."""
    layer = timing.layer_of_zeros(PRESETS[preset].config)
    generator = torch.Generator().manual_seed(0)
    for name, weight in layer.named_parameters():
        if name.endswith("norm"):
            weight.fill_(1)
        else:
            weight.normal_(std=0.02, generator=generator)
    return layer


def hidden(layer: MultiHeadLatentAttention, tokens: int) -> Tensor:
    """Normal hidden states [1,t,d]."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(1, tokens, layer.config.d_model, generator=generator)


def held(layer: MultiHeadLatentAttention) -> LatentCache:
    """A cache with room for one token more, its rows drawn."""
    cache = timing.cache_of_zeros(layer, CACHED, 1, "latent")
    for buffer in cache.buffers.values():
        buffer.normal_(generator=torch.Generator().manual_seed(2))
    return cache


def published(layer: MultiHeadLatentAttention, h: Tensor, cache: LatentCache) -> Callable:
    """The absorbed step of DeepSeek-V3's inference/model.py (9b4e9788), one rank."""
    c, start = layer.config, cache.length
    wq = torch.cat((layer.W_UQ, layer.W_QR), dim=1).flatten(0, 1)
    wkv_a, wo = torch.cat((layer.W_DKV, layer.W_KR)), layer.W_O.flatten(1)
    wkv_b = torch.cat((layer.W_UK, layer.W_UV), dim=1)
    kv_cache, pe_cache = (buffer.clone() for buffer in cache.buffers.values())
    cos, sin = rotation(c.rope, c.d_rope, torch.tensor([start]))
    freqs_cis = torch.complex(cos, sin).to(torch.complex64)

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return rms_norm(x, (x.shape[-1],), weight, c.norm_eps)

    def apply_rotary_emb(x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.float().view(*x.shape[:-1], -1, 2))
        turned = pairs * freqs_cis.view(1, pairs.size(1), 1, pairs.size(-1))
        return torch.view_as_real(turned).flatten(3).to(x.dtype)

    def step() -> Tensor:
        x, end = h, start + 1
        q = linear(norm(linear(x, layer.W_DQ), layer.c_Q_norm) if c.d_latent_q else x, wq)
        q = q.view(1, 1, c.n_heads, c.d_head + c.d_rope)
        q_nope, q_pe = torch.split(q, [c.d_head, c.d_rope], dim=-1)
        q_pe = apply_rotary_emb(q_pe)
        kv, k_pe = torch.split(linear(x, wkv_a), [c.d_latent_kv, c.d_rope], dim=-1)
        k_pe = apply_rotary_emb(k_pe.unsqueeze(2))
        q_nope = torch.einsum("bshd,hdc->bshc", q_nope, wkv_b[:, : c.d_head])
        kv_cache[:, start:end] = norm(kv, layer.c_KV_norm)
        pe_cache[:, start:end] = k_pe.squeeze(2)
        scores = (
            torch.einsum("bshc,btc->bsht", q_nope, kv_cache[:, :end])
            + torch.einsum("bshr,btr->bsht", q_pe, pe_cache[:, :end])
        ) * c.scale
        scores = scores.softmax(dim=-1, dtype=torch.float32).type_as(x)
        x = torch.einsum("bsht,btc->bshc", scores, kv_cache[:, :end])
        x = torch.einsum("bshc,hdc->bshd", x, wkv_b[:, -c.d_value :])
        return linear(x.flatten(2), wo)

    return step


def floor(layer: MultiHeadLatentAttention, seconds: dict[str, float]) -> float:
    """Weights read once, then the cache read once beside both products with it."""
    c = layer.config
    per_byte, per_add = seconds["read"] / READ, seconds["product"] / SIDE**3
    weights = sum(weight.nbytes for weight in layer.parameters())
    cached = 4 * CACHED * (c.d_latent_kv + c.d_rope)
    adds = c.n_heads * CACHED
    scores = max(cached * per_byte, adds * (c.d_latent_kv + c.d_rope) * per_add)
    return weights * per_byte + scores + adds * c.d_latent_kv * per_add


def step_of(preset: str, reach: float) -> Case:
    """The public absorbed step against the published one."""
    layer = layer_of(preset)
    h, cache = hidden(layer, 1), held(layer)
    read, square = torch.ones(READ // 4), torch.ones(SIDE, SIDE)
    return Case(
        name=f"absorbed step, {preset}, {CACHED:,} cached",
        ours=lambda: layer.decode(h, cache.rewind(CACHED))[0].u,
        theirs=published(layer, h, cache),
        reach=reach,
        rates={"read": read.sum, "product": lambda: square @ square},
        floor=lambda seconds: floor(layer, seconds),
    )


def module_of(layer: MultiHeadLatentAttention) -> tuple[object, torch.nn.Module]:
    """The attention of transformers with the same weights."""
    config = layer.config
    names = ("d_model", "n_heads", "d_head", "d_rope", "d_value", "d_latent_kv", "d_latent_q")
    sizes = {name: getattr(config, name) for name in names} | {"latent_norm": True}
    family = replace(FAMILIES["DeepSeek-V2"], rope=config.rope, ours=sizes)
    return family, their_module(family, layer)


def expanded_step() -> Case:
    """The absorbed step against transformers, which expands its latent cache in each step."""
    layer = layer_of("deepseek-v2-lite")
    h, cache, (family, module) = hidden(layer, 1), held(layer), module_of(layer)
    theirs, filled = DynamicCache(), [buffer[:, None, :CACHED] for buffer in cache.buffers.values()]
    theirs.update(*filled, 0)
    position = torch.tensor([CACHED])

    def step() -> Tensor:
        theirs.layers[0].keys, theirs.layers[0].values = filled
        return run_theirs(family, module, h, position, theirs)[0]

    ours = lambda: layer.decode(h, cache.rewind(CACHED))[0].u  # noqa: E731
    return Case("absorbed step against transformers' cache", ours, step, None)


def prefill() -> Case:
    """Everything traced against only the map."""
    layer = layer_of("deepseek-v2-lite")
    h, (family, module) = hidden(layer, 512), module_of(layer)
    positions = torch.arange(512)
    theirs = lambda: run_theirs(family, module, h, positions)[0]  # noqa: E731
    return Case("prefill, deepseek-v2-lite, 512 tokens", lambda: layer(h).u, theirs, 0.95)


def window() -> Case:
    """256 queries of one head over 32,768 tokens against the whole map of 2,048."""
    layer = layer_of("deepseek-v2-lite")
    long, short = hidden(layer, 32_768), hidden(layer, 2048)
    latents, rows = layer.compress(long), slice(32_768 - 256, 32_768)
    ours = lambda: layer(long, heads=[0], queries=rows, latents=latents).u  # noqa: E731
    name = "one head, 256 queries of 32,768"
    return Case(name, ours, lambda: layer(short).u, 0.5, same=False)


def memory() -> float:
    """The peak of a traced run over the bytes of what it returns, h aside."""
    layer = layer_of("deepseek-v2-lite")
    h = hidden(layer, 512)
    with PeakBytes() as meter:
        trace = layer(h)
    tensors = [getattr(trace, name) for name in (*trace.steps, "mask") if name != "h"]
    return meter.peak / sum(storage.nbytes() for storage in {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors
    }.values())  # fmt: skip


CASES = {
    "step-v2-lite": lambda: step_of("deepseek-v2-lite", 0.8),
    "step-v3": lambda: step_of("deepseek-v3", 0.9),
    "expanded-step": expanded_step,
    "prefill": prefill,
    "window": window,
}
