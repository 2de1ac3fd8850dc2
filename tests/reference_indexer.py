"""The oracle of DeepSeek Sparse Attention: loops over batch, heads and positions, in float64.

Written from equations 1 and 2 of the DeepSeek-V3.2-Exp report and from its published model.py. It
shares no code with the engine: the highest scores are found by sorting pairs of numbers by hand.
"""

import math
from dataclasses import replace

import numpy as np

from tests import reference
from tests.reference_rope import rotate


def layer_norm(x, weight, bias):
    """(x - mean) / sqrt(variance + 1e-6), times the weight, plus the bias."""
    mean = math.fsum(x) / len(x)
    variance = math.fsum((x - mean) ** 2) / len(x)
    return (x - mean) / math.sqrt(variance + 1e-6) * weight + bias


def highest(scores, k):
    """The places of the k highest scores; of equal ones the earliest come first."""
    ranked = sorted(range(len(scores)), key=lambda s: (-scores[s], s))
    return sorted(ranked[:k])


def _turn(config, x, position, length):
    """The first d_rope of an index vector rotated in the indexer's own pairing."""
    r = config.d_rope
    if not r or config.rope is None:
        return x
    rope = replace(config.rope, pairing=config.index_pairing)
    return np.concatenate((rotate(rope, x[:r], position, length), x[r:]))


def index(config, w, h, source, positions=None):
    """Everything of the indexer, and the keys that each query chooses, True in `chosen`."""
    batch, length, _ = h.shape
    j, x = config.n_index_heads, config.d_index
    place = reference._positions(h, positions)
    longest = int(place.max()) + 1
    out = reference._blank(
        q_I_pre=(batch, length, j, x), q_I=(batch, length, j, x), w_I=(batch, length, j),
        k_I_pre=(batch, length, x), k_I_normed=(batch, length, x), k_I=(batch, length, x),
        scores_I=(batch, j, length, length), index=(batch, length, length),
    )  # fmt: skip
    for b, t in np.ndindex(batch, length):
        at = int(place[b, t])
        for i in range(j):
            out["q_I_pre"][b, t, i] = reference.times(w["W_IQ"][i], source[b, t])
            out["q_I"][b, t, i] = _turn(config, out["q_I_pre"][b, t, i], at, longest)
        out["w_I"][b, t] = reference.times(w["W_IW"], h[b, t]) / math.sqrt(j)
        out["k_I_pre"][b, t] = reference.times(w["W_IK"], h[b, t])
        out["k_I_normed"][b, t] = layer_norm(out["k_I_pre"][b, t], w["k_I_norm"], w["b_IK"])
        out["k_I"][b, t] = _turn(config, out["k_I_normed"][b, t], at, longest)
    for b, i, t, s in np.ndindex(batch, j, length, length):
        product = reference.dot(out["q_I"][b, t, i], out["k_I"][b, s])
        out["scores_I"][b, i, t, s] = max(product / math.sqrt(x), 0.0)
    out["chosen"] = np.zeros((batch, length, length), dtype=bool)
    for b, t in np.ndindex(batch, length):
        for s in range(length):
            out["index"][b, t, s] = math.fsum(out["w_I"][b, t] * out["scores_I"][b, :, t, s])
        out["chosen"][b, t, highest(out["index"][b, t, : t + 1], config.index_topk)] = True
    return out


def over_choice(config, w, out, chosen):
    """The dense oracle's fields with attention over only the chosen keys, and what is left out."""
    batch, n, length, _ = out["attention"].shape
    dense = out["attention"]
    out = out | {"attention": np.zeros_like(dense), "left_out": np.zeros((batch, n, length))}
    weighed, held = ("o_latent", "c_KV") if "o_latent" in out else ("o", "v_C")
    out[weighed] = np.zeros_like(out[weighed])
    for b, i, t in np.ndindex(batch, n, length):
        seen = [s for s in range(t + 1) if chosen[b, t, s]]
        missed = [s for s in range(t + 1) if not chosen[b, t, s]]
        logits = [out["scores_C"][b, i, t, s] + _position(out, b, i, t, s) for s in seen]
        for s, share in zip(seen, reference.softmax(logits), strict=True):
            out["attention"][b, i, t, s] = share
            value = out[held][b, s] if held == "c_KV" else out[held][b, s, i]
            out[weighed][b, t, i] += share * value
        out["left_out"][b, i, t] = math.fsum(dense[b, i, t, s] for s in missed)
        if weighed == "o_latent":
            out["o"][b, t, i] = reference.times(w["W_UV"][i], out["o_latent"][b, t, i])
    return reference.latent_output(config, w, out | {"chosen": chosen})


def _position(out, b, i, t, s):
    part = out["scores_R"][b, i, t, s]
    return 0.0 if np.isnan(part) else part


def indexed(config, w, h, positions=None, chosen=None, form=reference.latent):
    """DSA in either form of MLA; `chosen` is given to a layer that shares its choice."""
    out = form(config, w, h, positions)
    if chosen is None:
        source = out["c_Q"] if config.d_latent_q else h
        out |= index(config, w, h, source, positions)
        chosen = out["chosen"]
    return over_choice(config, w, out, chosen)
