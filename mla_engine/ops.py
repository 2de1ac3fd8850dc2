"""Products, norms, masks and attention that all mechanisms share.

Norm and softmax run in max(float32, dtype).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, einsum
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

PARTS = 16  # of an operand that several threads share
FASTEST = (  # backends of a GPU, in the order in which they are tried
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
)


def product(equation: str, x: Tensor, weight: Tensor) -> Tensor:
    """Return einsum(equation, x, weight) of rows x [b,t,i] and a weight [*o,i]: [b,t,*o].

    On the CPU a single row is multiplied by one thread, at the rate that one thread reads memory;
    products with parts of the weight, which are views, are made by all threads.
    """
    parts = _parts(weight.shape[:-1].numel())
    if x.shape[:-1].numel() > 1 or parts == 1 or x.is_cuda or not weight.is_contiguous():
        return einsum(equation, x, weight)
    rows = weight.view(parts, -1, weight.shape[-1])
    return torch.bmm(x.expand(parts, -1, -1), rows.mT).view(1, 1, *weight.shape[:-1])


def _parts(size: int) -> int:
    """Return how many equal parts of an axis the threads share; one thread takes it whole.

    So does a graph that is compiled, which cannot ask how many threads will run it.
    """
    whole = torch.compiler.is_compiling() or torch.get_num_threads() == 1
    return 1 if whole else math.gcd(size, PARTS)


def against_shared(q: Tensor, keys: Tensor) -> Tensor:
    """Return einsum("bthc,bsc->bhts", q, keys): every head's queries, keys that all heads share.

    For one new token the many keys go first: the CPU's product with a few wide rows is slow.
    """
    if q.shape[1] > 1 or q.is_cuda:
        return einsum("bthc,bsc->bhts", q, keys)
    return torch.bmm(keys, q.squeeze(1).mT).mT.unsqueeze(2)


def of_each(attention: Tensor, values: Tensor) -> Tensor:
    """Return the sums of each head's own values."""
    return einsum("bhts,bshv->bthv", attention, values)


def of_shared(attention: Tensor, values: Tensor) -> Tensor:
    """Return einsum("bhts,bsc->bthc", attention, values): sums of values that all heads share.

    For one new token parts of the columns, which are views, are summed by all threads.
    """
    parts = _parts(values.shape[-1])
    if attention.shape[2] > 1 or values.shape[0] > 1 or parts == 1 or values.is_cuda:
        return einsum("bhts,bsc->bthc", attention, values)
    columns = values.squeeze(0).unflatten(-1, (parts, -1)).transpose(0, 1)
    summed = torch.bmm(attention.squeeze(2).expand(parts, -1, -1), columns)
    return summed.transpose(0, 1).reshape(1, 1, -1, values.shape[-1])


def hidden_(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the scores [b,h,t,s], changed in place to -inf where the query does not see the key.

    Nothing is done where it sees all, as a single new token does. A sum with 0 or -inf takes a
    fraction of the time of a fill, and gives the same unless a score is NaN or Inf.
    """
    if torch.compiler.is_compiling():
        return scores.masked_fill_(~mask, -torch.inf)
    if not mask.is_meta and mask.all():
        return scores
    if not finite(scores):
        return scores.masked_fill_(~mask, -torch.inf)
    return scores.add_(torch.where(mask, scores.new_zeros(()), -torch.inf))


def finite(x: Tensor) -> bool:
    """Return True if x is finite, as far as its sum tells, or has no data."""
    total = x.sum()
    return x.is_meta or math.isfinite(total.item())


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Return weight * x / sqrt(mean(x^2) + eps) over the last axis."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt() * weight).to(x.dtype)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Return weight * (x - mean(x)) / sqrt(var(x) + eps) + bias over the last axis."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    centred = wide - wide.mean(-1, keepdim=True)
    scaled = centred * (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
    return (scaled * weight + bias).to(x.dtype)


def softmax(scores: Tensor) -> Tensor:
    """Return exp(scores) / sum exp(scores) over the keys, the last axis."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    return torch.softmax(scores, dim=-1, dtype=wide).to(scores.dtype)


def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x))."""
    return x.to(torch.promote_types(x.dtype, torch.float32)).sigmoid().to(x.dtype)


def causal_mask(
    n_keys: int,
    n_new: int,
    queries: slice = slice(None),
    window: int | None = None,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return True where a query sees a key: itself and earlier ones, at most `window` of them.

    Goes by index, aligned at the bottom right: the last of the `n_new` queries is the last key.

    Returns:
        bool [t,s], the chosen rows of the `n_new`.
    """
    key = torch.arange(n_keys, device=device)
    query = key[n_keys - n_new :][queries].unsqueeze(-1)
    visible = key <= query
    return visible if window is None else visible & (key > query - window)


def highest(scores: Tensor, keys: int) -> Tensor:
    """Return True at the `keys` highest scores of a row, the first of equal ones; bool [...,s]."""
    least = scores.topk(min(keys, scores.shape[-1]), sorted=False).values.amin(-1, keepdim=True)
    above, equal = scores > least, scores == least
    room = keys - above.sum(-1, keepdim=True, dtype=torch.int32)
    return above | (equal & (equal.cumsum(-1, dtype=torch.int32) <= room))


def attended(
    weigh: Callable[[Tensor, Tensor], Tensor], attention: Tensor, values: Tensor, mask: Tensor
) -> Tensor:
    """Return weigh(attention, values), linear in both; keys that the mask hides add nothing.

    Its attention is 0, and 0 times NaN or Inf is NaN, in every earlier row. Only where that has
    happened only the finite values are weighed, for the rows that see no other. A graph that is
    compiled has both ways in it, and takes one when it runs; gradients flow through the first.
    """

    def kept(summed: Tensor, *_: Tensor) -> Tensor:
        return summed.clone()  # what a branch of a graph returns is its own

    def mended(summed: Tensor, attention: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        whole = values.isfinite()
        of_finite = weigh(attention, values.where(whole, 0))
        visible = mask.expand(attention.shape).to(values.dtype)
        sees_another = weigh(visible, (~whole).to(values.dtype)) > 0
        return summed.where(sees_another, of_finite)

    summed = weigh(attention, values)
    seen = summed, attention, values, mask
    if torch.compiler.is_compiling():
        whole, known = summed.isfinite(), [tensor.detach() for tensor in seen]
        return summed.where(whole, torch.cond(whole.all(), kept, mended, known))
    return summed if finite(summed) else mended(*seen)


def output(o: Tensor, W_O: Tensor, b_O: Tensor | None, n_heads: int) -> Tensor:
    """Return u = W_O o + b_O; each head adds b_O / n_heads, so that parts sum to the whole."""
    if W_O.is_contiguous():
        u = product("bti,di->btd", o.flatten(2), W_O.flatten(1))
    else:  # of some heads
        u = einsum("bthv,dhv->btd", o, W_O)
    return u if b_O is None else u + b_O * (W_O.shape[1] / n_heads)


def fused_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float, *, causal: bool = False
) -> Tensor:
    """Return o [b,t,h,v] of q [b,t,h,k], k [b,s,h,k] and v [b,s,h,v] by `torch_attention`."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return torch_attention(q, k, v, mask, scale, causal=causal).transpose(1, 2)


def torch_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, *, causal: bool = False
) -> Tensor:
    """Return o [b,h,t,v] by torch's own attention, which keeps no scores and no attention.

    On a GPU by the fastest backend that takes the call: not every one takes MLA's keys, which are
    wider than its values (192 and 128 in DeepSeek-V3).

    Args:
        q: [b,h,t,k].
        k: [b,h,s,k].
        v: [b,h,s,v].
        mask: bool, broadcast to [b,h,t,s], True where the query sees the key.
        scale: of the scores.
        causal: the mask is the causal one of t = s; a GPU's kernels take no other by itself.
    """
    causal = causal and q.is_cuda
    given = {"attn_mask": None if causal else mask, "is_causal": causal, "scale": scale}
    if torch.compiler.is_compiling() or not q.is_cuda:
        return scaled_dot_product_attention(q, k, v, **given)
    with sdpa_kernel(fastest_backend(q, k, v, given)):
        return scaled_dot_product_attention(q, k, v, **given)


def fastest_backend(q: Tensor, k: Tensor, v: Tensor, given: dict) -> SDPBackend:
    """Return the first of FASTEST that takes the call."""
    for backend in FASTEST:
        with sdpa_kernel(backend):
            if torch._fused_sdp_choice(q, k, v, **given) == backend.value:
                return backend
    return SDPBackend.MATH
