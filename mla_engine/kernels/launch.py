"""Starts the kernels of `decode` on valid arguments."""

import torch
from torch import Tensor

from mla_engine.kernels import decode, plan
from mla_engine.kernels.keys import Keys
from mla_engine.kernels.plan import Tile


def attend(
    q_C: Tensor, q_R: Tensor | None, keys: Keys, scale: float, tile: Tile, cut: int, most: int
) -> tuple[Tensor, Tensor]:
    """Return o [b,t,h,c] in q_C's dtype and lse [b,t,h] in float32.

    Arguments as `attention.absorbed_attention`; then the tile, the most keys of a part, and
    those of the longest sequence.
    """
    c_KV, k_R, pages, chosen = keys.c_KV, keys.k_R, keys.pages, keys.chosen
    b, t, h, d_latent = q_C.shape
    apart = 1 if chosen is None else t  # queries that have keys of their own
    n_chosen = 0 if chosen is None else chosen.shape[-1]
    n_rows, n_parts = h * (t // apart), max(1, -(-(n_chosen or most) // cut))
    o, lse = torch.empty_like(q_C), q_C.new_empty(b, t, h, dtype=torch.float32)
    parts = o, lse
    if n_parts > 1:
        of_parts = q_C.new_empty(b * apart, n_parts, n_rows, d_latent, dtype=torch.float32)
        parts = of_parts, of_parts.new_empty(of_parts.shape[:-1])
    sizes = {"n_chosen": n_chosen, "n_parts": n_parts, "keys_a_part": cut}
    sizes |= {"apart": apart, "d_latent": d_latent}
    decode._part_of_keys[b * apart * -(-n_rows // tile.rows), n_parts](
        *(q_C, q_R, c_KV, k_R, pages, chosen, keys.lengths, *parts, scale * plan.LOG2_E, h),
        **_cache(c_KV, k_R, pages) | sizes | tile.options(),
        n_queries=t,
        whole=n_parts == 1,
    )
    if n_parts > 1:
        grid = b * apart * n_rows, -(-d_latent // decode.COLUMNS.value)
        sparse = chosen is not None
        decode._sum_of_parts[grid](*parts, keys.lengths, o, lse, n_rows, **sizes, sparse=sparse)
    return o, lse


def _cache(c_KV: Tensor, k_R: Tensor | None, pages: Tensor | None) -> dict[str, int]:
    """Return the strides of a cache, from page (or sequence) to page and key to key; its pages."""
    d_rope, turned = (0, (0, 0)) if k_R is None else (k_R.shape[-1], k_R.stride()[:2])
    n_pages, page_keys = (0, 0) if pages is None else (pages.shape[1], c_KV.shape[1])
    names = "c_page", "c_key", "r_page", "r_key"
    strides = dict(zip(names, (*c_KV.stride()[:2], *turned), strict=True))
    return strides | {"d_rope": d_rope, "n_pages": n_pages, "page_keys": page_keys}
