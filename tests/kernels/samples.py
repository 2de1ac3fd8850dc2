"""Caches whose unused slots are NaN and whose page tables end in numbers of no page."""

import math
from dataclasses import dataclass, replace

import torch

from mla_engine.kernels import Keys

NO_PAGE = 2147480000
SCALE = 0.1352337788608801  # of DeepSeek-V3: with YaRN, so that no width tells it


@dataclass(frozen=True)
class Case:
    """Queries, a cache, and how long its sequences are."""

    q_C: torch.Tensor
    q_R: torch.Tensor | None
    c_KV: torch.Tensor
    k_R: torch.Tensor | None
    lengths: torch.Tensor
    pages: torch.Tensor | None = None
    chosen: torch.Tensor | None = None

    @property
    def keys(self):
        return Keys(self.c_KV, self.k_R, self.lengths, self.pages, self.chosen)

    @property
    def asked(self):
        """The arguments of `absorbed_attention`."""
        return self.q_C, self.q_R, self.keys, SCALE

    def to(self, dtype, device="cpu"):
        kept = {name: None if x is None else x.to(device) for name, x in vars(self).items()}
        numbers = {
            name: None if kept[name] is None else kept[name].to(dtype)
            for name in ("q_C", "q_R", "c_KV", "k_R")
        }
        return Case(**kept | numbers)

    def paged(self, page_keys, seed=7):
        """The same keys in shuffled pages, those that hold no key full of NaN."""
        b, s = self.c_KV.shape[:2]
        n = math.ceil(s / page_keys)
        pages = torch.randperm(b * n, generator=torch.manual_seed(seed)).view(b, n)
        used = -(-self.lengths // page_keys)
        held = {name: _in_pages(getattr(self, name), pages, page_keys) for name in ("c_KV", "k_R")}
        table = pages.masked_fill(torch.arange(n) >= used[:, None], NO_PAGE).to(torch.int32)
        return replace(self, **held, pages=table)

    def sparse(self, topk, seed=3):
        """Each query sees `topk` keys in any order, -1 and places behind its own among them."""
        b, t = self.q_C.shape[:2]
        draw = torch.rand(b, t, self.c_KV.shape[1] + topk, generator=torch.manual_seed(seed))
        place = draw.argsort(-1)[..., :topk]
        place = place.where(place < self.c_KV.shape[1], -1)
        return replace(self, chosen=place.to(torch.int32))


def _in_pages(cache, pages, page_keys):
    if cache is None:
        return None
    b, s, width = cache.shape
    room = cache.new_full((b, pages.shape[1] * page_keys, width), torch.nan)
    room[:, :s] = cache
    held = cache.new_full((pages.numel(), page_keys, width), torch.nan)
    held[pages.flatten()] = room.view(-1, page_keys, width)
    return held


def case(heads, lengths, queries=1, c=32, r=16, seed=0):
    """float64, of the size of FlashMLA's tests: normal numbers over 10; more keys than are held."""
    generator = torch.manual_seed(seed)

    def normal(*shape):
        drawn = torch.randn(*shape, generator=generator, dtype=torch.float64) / 10
        return drawn.clamp(-1, 1)

    lengths = torch.tensor(lengths, dtype=torch.int32)
    b, s = len(lengths), int(lengths.max()) + 5
    one = Case(
        normal(b, queries, heads, c),
        normal(b, queries, heads, r) if r else None,
        normal(b, s, c),
        normal(b, s, r) if r else None,
        lengths,
    )
    for cache in (one.c_KV, one.k_R):
        if cache is not None:
            cache.masked_fill_((torch.arange(s) >= lengths[:, None])[..., None], torch.nan)
    return one


def assert_close(answer, truth):
    """FlashMLA's bounds: each output, the angle of all, and the logarithm of each sum."""
    (o, lse), (o_true, lse_true) = ([x.double().cpu() for x in pair] for pair in (answer, truth))
    assert o.shape == o_true.shape
    assert lse.shape == lse_true.shape
    off = (o - o_true).abs()
    assert bool(((off <= 8e-4) | (off <= 2.01 / 128 * o_true.abs())).all()), off.max()
    squares = (o * o + o_true * o_true).sum()
    assert 1 - 2 * (o * o_true).sum() / squares.clamp_min(1e-300) < 5e-6 or squares == 0
    empty = lse_true == torch.inf
    assert torch.equal(lse == torch.inf, empty)
    assert not o[empty].any()
    off = (lse - lse_true)[~empty].abs()
    bound = 8.01 / 65536 * lse_true[~empty].abs()
    assert bool(((off <= 1e-6) | (off <= bound)).all()), off.max()
