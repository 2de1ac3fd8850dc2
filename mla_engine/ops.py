"""What all mechanisms share; norm and softmax run in max(float32, dtype)."""

import torch
from torch import Tensor, einsum
from torch.nn.functional import scaled_dot_product_attention


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """weight * x / sqrt(mean(x^2) + eps) over the last axis."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt() * weight).to(x.dtype)


def softmax(scores: Tensor) -> Tensor:
    """exp(scores) / sum exp(scores) over the keys, the last axis."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    return torch.softmax(scores, dim=-1, dtype=wide).to(scores.dtype)


def causal_mask(
    n_keys: int,
    n_new: int,
    queries: slice = slice(None),
    window: int | None = None,
    device: torch.device | str = "cpu",
) -> Tensor:
    """True where a query sees a key: itself and earlier ones, at most `window` of them.

    Goes by index, aligned at the bottom right: the last of the `n_new` queries is the last key.

    Returns:
        bool [t,s], the chosen rows of the `n_new`.
    """
    key = torch.arange(n_keys, device=device)
    query = key[n_keys - n_new :][queries].unsqueeze(-1)
    visible = key <= query
    return visible if window is None else visible & (key > query - window)


def attended(equation: str, attention: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """einsum(equation, attention, values), in which a key that the mask hides brings nothing.

    Its attention is 0, and 0 times NaN or Inf is NaN, in every earlier row. Only where that has
    happened the finite values are weighed alone, for the rows that see no other. A graph that is
    being compiled has no such branch.
    """
    summed = einsum(equation, attention, values)
    if torch.compiler.is_compiling() or summed.is_meta or summed.sum().isfinite():
        return summed
    finite = values.isfinite()
    of_finite = einsum(equation, attention, values.where(finite, 0))
    visible = mask.expand(attention.shape).to(values.dtype)
    sees_another = einsum(equation, visible, (~finite).to(values.dtype)) > 0
    return summed.where(sees_another, of_finite)


def output(o: Tensor, W_O: Tensor, b_O: Tensor | None, n_heads: int) -> Tensor:
    """u = W_O o + b_O; each head brings 1/n_heads of b_O, so that parts add up to the whole."""
    u = einsum("bthv,dhv->btd", o, W_O)
    return u if b_O is None else u + b_O * (W_O.shape[1] / n_heads)


def fused_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    """o [b,t,h,v] by torch's own kernel, which keeps no scores and no attention.

    Args:
        q: [b,t,h,k].
        k: [b,s,h,k].
        v: [b,s,h,v].
        mask: bool [t,s], True where the query sees the key.
        scale: of the scores.
    """
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale).transpose(1, 2)
