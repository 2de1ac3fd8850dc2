"""Absorbed attention in Triton: query rows of all heads over one latent that they share.

A program takes a block of rows, each a head of a query token, and one part of a sequence's keys.
Every tile of the latent [s,c] is read once and used twice, as keys and as values. What the program
has seen is a softmax over its part: o and lse, float32; `_sum_of_parts` weighs the parts by lse.
512 + 64 is no power of two, so latent and rotary key are loaded apart: from two tensors, or from
two views of one. Exponents are to base 2, which the chip has; the scale brings log2(e) along.
"""

import triton
import triton.language as tl

from mla_engine.kernels.plan import LOG2_E

LN_2: tl.constexpr = tl.constexpr(1 / LOG2_E)
SUMMED: tl.constexpr = tl.constexpr(16)  # parts at a time, and columns of the latent, in the
COLUMNS: tl.constexpr = tl.constexpr(128)  # second kernel: a tile of 8 KiB, four programs a row


@triton.jit
def _parts(held, keys_a_part):
    """Return the number of parts of a sequence; an empty one has one, which says so."""
    return tl.maximum(tl.cdiv(held, keys_a_part), 1)


@triton.jit
def _or_0(most):
    """Return what exponents are relative to: 0 where no key was seen, as -inf - -inf is NaN."""
    return tl.where(most == float("-inf"), 0.0, most)


@triton.jit
def _places(b, key, seen, pages, n_pages, c_page, c_key, r_page, r_key, page_keys: tl.constexpr):
    """Return where keys [s] of sequence b begin in c_KV and in k_R."""
    if page_keys:
        page = tl.load(pages + b * n_pages + key // page_keys, mask=seen, other=0).to(tl.int64)
        key = key % page_keys
    else:
        page = b
    return page * c_page + key * c_key, page * r_page + key * r_key


@triton.jit
def _part_of_keys(
    q_C, q_R, c_KV, k_R, pages, chosen, lengths, o, lse, scale_log2,
    n_heads, n_pages, n_chosen, n_parts, keys_a_part, c_page, c_key, r_page, r_key,
    n_queries: tl.constexpr, apart: tl.constexpr, page_keys: tl.constexpr, whole: tl.constexpr,
    d_latent: tl.constexpr, d_rope: tl.constexpr, rows: tl.constexpr, keys: tl.constexpr,
):  # fmt: skip
    """Softmax over one part: o [b,part,t,h,c] and lse [b,part,t,h], or the answer if `whole`.

    q_C [b,t,h,c] and q_R [b,t,h,r] are contiguous. With `chosen` [b,t,n_chosen] each query has
    keys of its own, so a program has rows of one; `apart` is then t, else 1.
    """
    n_rows = n_heads * (n_queries // apart)
    blocks = tl.cdiv(n_rows, rows)
    bt, part = (tl.program_id(0) // blocks).to(tl.int64), tl.program_id(1)
    b = bt // apart
    length = tl.load(lengths + b)
    held = length if chosen is None else n_chosen
    parts = _parts(held, keys_a_part)
    if part >= parts:
        return
    size = tl.cdiv(tl.cdiv(held, parts), keys) * keys  # all parts alike, but the last
    end = tl.minimum((part + 1) * size, held)

    row = tl.program_id(0) % blocks * rows + tl.arange(0, rows)  # of t * n_heads + h
    last = length - n_queries + bt % apart + row // n_heads  # the row's query token itself
    column, turned = tl.arange(0, d_latent), tl.arange(0, d_rope if d_rope else 16)
    at = bt * n_rows + row[:, None]
    within = row[:, None] < n_rows
    q = tl.load(q_C + at * d_latent + column, mask=within, other=0.0)
    if d_rope:
        q_turned = tl.load(q_R + at * d_rope + turned, mask=within, other=0.0)
    most = tl.full([rows], float("-inf"), tl.float32)
    total = tl.zeros([rows], tl.float32)
    weighed = tl.zeros([rows, d_latent], tl.float32)
    for first in range(part * size, end, keys):
        place = first + tl.arange(0, keys)
        key, seen = place, place < end
        if chosen is not None:
            key = tl.load(chosen + bt * n_chosen + place, mask=seen, other=-1)
            seen = (key >= 0) & (key < length)
        in_c, in_r = _places(b, key, seen, pages, n_pages, c_page, c_key, r_page, r_key, page_keys)
        c = tl.load(c_KV + in_c[:, None] + column, mask=seen[:, None], other=0.0)  # the one reading
        scores = tl.dot(q, tl.trans(c), input_precision="ieee")  # rc,sc->rs
        if d_rope:
            k = tl.load(k_R + in_r[:, None] + turned, mask=seen[:, None], other=0.0)
            scores = tl.dot(q_turned, tl.trans(k), scores, input_precision="ieee")
        visible = seen[None, :] & (key[None, :] <= last[:, None])
        scores = tl.where(visible, scores * scale_log2, float("-inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        attention = tl.exp2(scores - _or_0(higher)[:, None])
        faded = tl.exp2(most - _or_0(higher))  # what was summed relative to a lower maximum
        total = total * faded + tl.sum(attention, 1)
        weighed *= faded[:, None]
        weighed = tl.dot(attention.to(c.dtype), c, weighed, input_precision="ieee")  # rs,sc->rc
        most = higher

    answer = weighed / tl.where(total != 0, total, 1.0)[:, None]
    log = most + tl.log2(tl.where(total != 0, total, 1.0))
    if whole:
        log = tl.where(total != 0, log * LN_2, float("inf"))
    else:
        at += (bt * (n_parts - 1) + part) * n_rows
    tl.store(o + at * d_latent + column, answer.to(o.dtype.element_ty), mask=within)
    tl.store(lse + at, log[:, None], mask=within)


@triton.jit
def _sum_of_parts(
    parts_o, parts_lse, lengths, o, lse, n_rows, n_chosen, n_parts, keys_a_part,
    sparse: tl.constexpr, apart: tl.constexpr, d_latent: tl.constexpr,
):  # fmt: skip
    """o [b,t,h,c] and lse [b,t,h] out of the parts of a row, some columns of it."""
    bt, row = (tl.program_id(0) // n_rows).to(tl.int64), tl.program_id(0) % n_rows
    count = _parts(n_chosen if sparse else tl.load(lengths + bt // apart), keys_a_part)
    columns: tl.constexpr = d_latent if d_latent < COLUMNS else COLUMNS
    column = tl.program_id(1) * columns + tl.arange(0, columns)
    most, total = float("-inf"), 0.0
    weighed = tl.zeros([columns], tl.float32)
    for first in range(0, count, SUMMED):
        part = first + tl.arange(0, SUMMED)
        at = (bt * n_parts + part) * n_rows + row
        log = tl.load(parts_lse + at, mask=part < count, other=float("-inf"))
        of_part = at[:, None] * d_latent + column
        answer = tl.load(parts_o + of_part, mask=(part < count)[:, None], other=0.0)
        higher = tl.maximum(most, tl.max(log, 0))
        share, faded = tl.exp2(log - _or_0(higher)), tl.exp2(most - _or_0(higher))
        total = total * faded + tl.sum(share, 0)
        weighed = weighed * faded + tl.sum(share[:, None] * answer, 0)
        most = higher
    answer = weighed / tl.where(total != 0, total, 1.0)
    log = (most + tl.log2(tl.where(total != 0, total, 1.0))) * LN_2
    log = tl.where(total != 0, log, float("inf"))
    at = bt * n_rows + row
    tl.store(o + at * d_latent + column, answer.to(o.dtype.element_ty))
    tl.store(lse + at, log)
