"""The oracle of Kimi Delta Attention: loops over batch, heads, tokens and channels, in float64.

Written from equations 1 and 10 of Kimi Linear (arXiv 2510.26692): the state is decayed, its part
along the key taken away, the value written there, token by token. It shares no code with the
engine, whose matrices it knows only by their names.
"""

import math

import numpy as np

from tests import reference


def silu(x):
    """x sigmoid(x)."""
    return x * sigmoid(x)


def sigmoid(x):
    """1 / (1 + exp(-x)), without an overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x):
    """log(1 + exp(x)), without an overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def unit(x):
    """x over its length, with 1e-6 beside the squares."""
    return x / math.sqrt(math.fsum(x * x) + 1e-6)


def convolved(rows, kernel):
    """The last token's channels after a causal convolution: rows [t,k], kernel [k,w]."""
    channels, width = kernel.shape
    out = np.zeros(channels)
    for c in range(channels):
        terms = [
            kernel[c, width - 1 - back] * rows[len(rows) - 1 - back, c]
            for back in range(min(width, len(rows)))
        ]
        out[c] = silu(math.fsum(terms))
    return out


def log_decay(config, rate, x):
    """The logarithm of one channel's decay."""
    if config.decay_floor is not None:
        return config.decay_floor * sigmoid(math.exp(rate) * x)
    return -math.exp(rate) * softplus(x)


def through(matrix, between, x):
    """matrix between x, where there is something between."""
    return reference.times(matrix, x if between is None else reference.times(between, x))


def delta(config, w, h):
    """Every field of a trace that both forms have, and the state after each token."""
    batch, length, d = h.shape
    n, k, v = config.n_heads, config.d_head, config.d_value
    of_keys, of_values = (batch, length, n, k), (batch, length, n, v)
    names = ("q_D_pre", "q_D_conv", "q_D", "k_D_pre", "k_D_conv", "k_D", "a_pre", "log_a", "a")
    out = reference._blank(**dict.fromkeys(names, of_keys))
    names = ("v_D_pre", "v_D", "erased", "written", "o", "gate", "o_normed", "o_gated")
    out |= reference._blank(**dict.fromkeys(names, of_values), b=(batch, length, n))
    out |= reference._blank(states=(batch, length, n, k, v), u=(batch, length, d))
    out["h"] = h
    for name, matrix in (("c_A", "W_DA"), ("c_G", "W_DG")):
        if matrix in w:
            rows = [[reference.times(w[matrix], x) for x in one] for one in h]
            out[name] = np.array(rows)
    for b, i in np.ndindex(batch, n):
        S = np.zeros((k, v))
        for t in range(length):
            S = _token(config, w, out, S, (b, t, i))
    for b, t in np.ndindex(batch, length):
        flat, o = w["W_O"].reshape(d, -1), out["o_gated"][b, t].reshape(-1)
        out["u"][b, t] = reference.times(flat, o)
    return out | {"S": out["states"][:, -1]}


def _token(config, w, out, S, place):
    """One token of one head, from the state before it to that after it."""
    b, t, i = place
    x = out["h"][b, t]
    for side in ("q", "k", "v"):
        matrix, kernel = w[f"W_{side.upper()}"][i], w[f"conv_{side.upper()}"][i]
        out[f"{side}_D_pre"][place] = reference.times(matrix, x)
        mixed = convolved(out[f"{side}_D_pre"][b, : t + 1, i], kernel)
        if side == "v":
            out["v_D"][place] = mixed
        else:
            out[f"{side}_D_conv"][place], out[f"{side}_D"][place] = mixed, unit(mixed)
    out["a_pre"][place] = through(w["W_UA"][i], w.get("W_DA"), x) + w["b_A"][i]
    for c in range(config.d_head):
        out["log_a"][b, t, i, c] = log_decay(config, w["A_log"][i], out["a_pre"][b, t, i, c])
        out["a"][b, t, i, c] = math.exp(out["log_a"][b, t, i, c])
    out["b"][place] = sigmoid(reference.dot(w["W_B"][i], x))
    S = _written(out, S, place)
    reads = [reference.dot(S[:, c], out["q_D"][place]) for c in range(config.d_value)]
    out["o"][place] = np.array(reads) / math.sqrt(config.d_head)
    gate = through(w["W_UG"][i], w.get("W_DG"), x)
    out["gate"][place] = [sigmoid(y) for y in gate]
    out["o_normed"][place] = reference.rms_norm(out["o"][place], w["o_norm"], config.norm_eps)
    out["o_gated"][place] = out["gate"][place] * out["o_normed"][place]
    return S


def _written(out, S, place):
    """(I - b k k^T) Diag(a) S + b k v^T, entry by entry."""
    k, v, a, b = (out[name][place] for name in ("k_D", "v_D", "a", "b"))
    decayed = np.array([a[r] * S[r] for r in range(len(k))])
    for c in range(len(v)):
        out["erased"][place][c] = b * reference.dot(decayed[:, c], k)
        out["written"][place][c] = b * v[c] - out["erased"][place][c]
    S = np.zeros_like(S)
    for r, c in np.ndindex(*S.shape):
        minus = math.fsum((float(r == m) - b * k[r] * k[m]) * decayed[m, c] for m in range(len(k)))
        S[r, c] = minus + b * k[r] * v[c]
    out["states"][place] = S
    return S
