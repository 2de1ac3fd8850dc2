"""The oracle of attention over a window and pooled entries: loops, in float64.

Written from section 2.3 of the DeepSeek-V4 report (equations 9 to 23). It shares no code with the
engine: an entry is made from the hidden states of its tokens, slot by slot and channel by
channel, and the chosen entries are found by sorting pairs of numbers by hand.
"""

import math

import numpy as np

from tests import reference
from tests.reference_indexer import highest
from tests.reference_rope import rotate, stretch

ONE = 1.0  # the weight of a norm that has none


def turn(config, x, position, back=False):
    """The last d_rope rotated at a position, or back from it with the same magnitude."""
    r = config.d_rope
    if not r or config.rope is None:
        return x
    turned = rotate(config.rope, x[len(x) - r :], -position if back else position)
    return np.concatenate((x[: len(x) - r], turned))


def slots(config, e):
    """The (token, series) pairs that entry e pools: with overlap first those of the block before.

    A token's last series goes into its own entry, its first into the next one; no token: None.
    """
    m = config.pooling
    own = [(e * m + i, config.n_series - 1) for i in range(m)]
    if not config.overlap:
        return own
    return [((e - 1) * m + i if e else None, 0) for i in range(m)] + own


def pool(config, w, h, place, names):
    """Entries of one kind from h [s,d]: gates [e,p,x], sums, normed, rotated, and c, z [s,a,x]."""
    W_c, W_z, b_z, norm = (w[name] for name in names)
    a, x, _ = W_c.shape
    c, z = (np.zeros((len(h), a, x)) for _ in range(2))
    for s, i in np.ndindex(len(h), a):
        c[s, i], z[s, i] = reference.times(W_c[i], h[s]), reference.times(W_z[i], h[s])
    count = len(h) // config.pooling
    gates = np.zeros((count, config.n_slots, x))
    pre, normed, turned = (np.zeros((count, x)) for _ in range(3))
    for e in range(count):
        there = [(p, s, i) for p, (s, i) in enumerate(slots(config, e)) if s is not None]
        for channel in range(x):
            logits = [z[s, i, channel] + b_z[i, s % config.pooling, channel] for _, s, i in there]
            shares = reference.softmax(logits)
            for share, (p, s, i) in zip(shares, there, strict=True):
                gates[e, p, channel] = share
                pre[e, channel] += share * c[s, i, channel]
        normed[e] = reference.rms_norm(pre[e], norm, config.norm_eps)
        turned[e] = turn(config, normed[e], int(place[e * config.pooling]))
    return c, z, gates, pre, normed, turned


def _queries(config, w, h, place, out):
    for b, t in np.ndindex(h.shape[:2]):
        out["c_Q_pre"][b, t] = reference.times(w["W_DQ"], h[b, t])
        out["c_Q"][b, t] = reference.rms_norm(out["c_Q_pre"][b, t], w["c_Q_norm"], config.norm_eps)
        for i in range(config.n_heads):
            q = reference.times(w["W_UQ"][i], out["c_Q"][b, t])
            out["q_pre"][b, t, i] = q
            out["q_normed"][b, t, i] = reference.rms_norm(q, ONE, config.norm_eps)
            out["q"][b, t, i] = turn(config, out["q_normed"][b, t, i], int(place[b, t]))
        kv = reference.times(w["W_T"], h[b, t])
        out["kv_T_pre"][b, t] = kv
        out["kv_T_normed"][b, t] = reference.rms_norm(kv, w["kv_T_norm"], config.norm_eps)
        out["kv_T"][b, t] = turn(config, out["kv_T_normed"][b, t], int(place[b, t]))


def _entries(config, w, h, place, out):
    """Every entry that the text completes, and for the indexer its keys."""
    kinds = [(("W_E", "W_Z", "b_Z", "kv_E_norm"),
              ("c_E", "z_E", "gates", "kv_E_pre", "kv_E_normed", "kv_E"))]  # fmt: skip
    if config.chooses:
        kinds += [(("W_IE", "W_IZ", "b_IZ", "k_E_norm"),
                   ("c_IE", "z_IE", "gates_I", "k_E_pre", "k_E_normed", "k_E"))]  # fmt: skip
    for weights, fields in kinds:
        of_each = [pool(config, w, h[b], place[b], weights) for b in range(len(h))]
        for field, parts in zip(fields, zip(*of_each, strict=True), strict=True):
            out[field] = np.stack(parts)
    every = range(out["kv_E"].shape[1])
    stand_for = [[-1 if s is None else s for s, _ in slots(config, e)] for e in every]
    out["members"] = np.array(stand_for, dtype=int).reshape(len(every), config.n_slots)


def _choice(config, w, h, place, out):
    """Find the entries that each query attends to, True in chosen_E; with an indexer its scores."""
    batch, length, _ = h.shape
    count, j, x = out["kv_E"].shape[1], config.n_index_heads, config.d_index
    out["chosen_E"] = np.zeros((batch, length, count), dtype=bool)
    seen = [(t + 1) // config.pooling for t in range(length)]
    if not config.chooses:
        for t in range(length):
            out["chosen_E"][:, t, : seen[t]] = True
        return
    out |= reference._blank(
        q_I_pre=(batch, length, j, x), q_I=(batch, length, j, x), w_I=(batch, length, j),
        scores_IE=(batch, j, length, count), index_E=(batch, length, count),
    )  # fmt: skip
    for b, t in np.ndindex(batch, length):
        for i in range(j):
            q = reference.times(w["W_IQ"][i], out["c_Q"][b, t])
            out["q_I_pre"][b, t, i], out["q_I"][b, t, i] = q, turn(config, q, int(place[b, t]))
        out["w_I"][b, t] = reference.times(w["W_IW"], h[b, t]) / math.sqrt(j)
        for e in range(count):
            for i in range(j):
                product = reference.dot(out["q_I"][b, t, i], out["k_E"][b, e]) / math.sqrt(x)
                out["scores_IE"][b, i, t, e] = max(product, 0.0)
            out["index_E"][b, t, e] = math.fsum(out["w_I"][b, t] * out["scores_IE"][b, :, t, e])
        out["chosen_E"][b, t, highest(out["index_E"][b, t, : seen[t]], config.index_topk)] = True


def _attend(config, w, place, out):
    """One softmax a head over the window, the chosen entries and the sink."""
    batch, length, n, k = out["q"].shape
    entries, scale = out.get("kv_E"), reference.softmax_scale(config, k)
    count = 0 if entries is None else entries.shape[1]
    out |= {name: np.zeros((batch, n, length, width)) for name, width in (
        ("scores_T", length), ("attention", length), ("scores_E", count), ("attention_E", count),
    )} | {"sink_mass": np.zeros((batch, n, length))}  # fmt: skip
    out |= {name: np.zeros((batch, length, n, k)) for name in ("o_turned", "o")}
    for b, i, t in np.ndindex(batch, n, length):
        q = out["q"][b, t, i]
        for s in range(length):
            out["scores_T"][b, i, t, s] = scale * reference.dot(q, out["kv_T"][b, s])
        for e in range(count):
            out["scores_E"][b, i, t, e] = scale * reference.dot(q, entries[b, e])
        tokens = range(max(0, t + 1 - config.window), t + 1)
        chosen = [e for e in range(count) if out["chosen_E"][b, t, e]]
        logits = [out["scores_T"][b, i, t, s] for s in tokens]
        logits += [out["scores_E"][b, i, t, e] for e in chosen]
        *shares, out["sink_mass"][b, i, t] = reference.softmax([*logits, w["sink"][i]])
        for s, share in zip(tokens, shares, strict=False):
            out["attention"][b, i, t, s] = share
            out["o_turned"][b, t, i] += share * out["kv_T"][b, s]
        for e, share in zip(chosen, shares[len(tokens) :], strict=True):
            out["attention_E"][b, i, t, e] = share
            out["o_turned"][b, t, i] += share * entries[b, e]
        out["o"][b, t, i] = turn(config, out["o_turned"][b, t, i], int(place[b, t]), back=True)


def _output(config, w, out):
    """A latent of each group of heads, and what all latents give."""
    batch, length, n, _ = out["o"].shape
    groups, width = w["W_UO"].shape[1:]
    out["c_O"] = np.zeros((batch, length, groups, width))
    out["u"] = np.zeros((batch, length, len(w["W_UO"])))
    for b, t in np.ndindex(batch, length):
        for i in range(n):
            group = i * groups // n
            out["c_O"][b, t, group] += reference.times(w["W_DO"][i], out["o"][b, t, i])
        for group in range(groups):
            out["u"][b, t] += reference.times(w["W_UO"][:, group], out["c_O"][b, t, group])


def pooled(config, w, h, positions=None):
    """Every intermediate of a run over h [b,t,d]."""
    batch, length, _ = h.shape
    place, n, k = reference._positions(h, positions), config.n_heads, config.d_head
    assert not config.rope or stretch(config.rope) == 1
    token = (batch, length)
    out = reference._blank(
        c_Q_pre=(*token, config.d_latent_q), c_Q=(*token, config.d_latent_q),
        q_pre=(*token, n, k), q_normed=(*token, n, k), q=(*token, n, k),
        kv_T_pre=(*token, k), kv_T_normed=(*token, k), kv_T=(*token, k),
    ) | {"h": h}  # fmt: skip
    _queries(config, w, h, place, out)
    if config.pooling:
        _entries(config, w, h, place, out)
        _choice(config, w, h, place, out)
    _attend(config, w, place, out)
    _output(config, w, out)
    return out
