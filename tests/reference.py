"""The oracle: attention by loops over batch, heads and positions, in float64, from the formulas.

Written from DeepSeek-V2 (arXiv 2405.04434, section 2.1) and "Attention is all you need". It shares
no code with the engine: a sum is `math.fsum`, nothing is batched. Weights arrive as a dict of
float64 arrays under the names of the engine's parameters.
"""

import math

import numpy as np

from tests.reference_rope import rotate, yarn_magnitude


def times(matrix, x, bias=None):
    """y_i = sum_j M_ij x_j + b_i."""
    y = np.array([math.fsum(row * x) for row in matrix])
    return y if bias is None else y + bias


def dot(x, y):
    """The sum of x_i y_i."""
    return math.fsum(x * y)


def rms_norm(x, weight, eps):
    """x / sqrt(mean(x^2) + eps), times the weight."""
    return x / math.sqrt(math.fsum(x * x) / len(x) + eps) * weight


def softmax(logits):
    """exp(z_j) / sum exp(z)."""
    top = max(logits)
    powers = [math.exp(z - top) for z in logits]
    return np.array(powers) / math.fsum(powers)


def softmax_scale(config, width):
    """width^-1/2, times YaRN's magnitude squared; a given scale is final."""
    if config.softmax_scale is not None:
        return config.softmax_scale
    yarn = config.rope.scaling if config.rope else None
    if type(yarn).__name__ != "YarnConfig" or config.d_rope == 0:
        return 1 / math.sqrt(width)
    return yarn_magnitude(yarn.factor, yarn.mscale_all_dim) ** 2 / math.sqrt(width)


def _positions(h, positions):
    batch, length = h.shape[:2]
    given = np.arange(length) if positions is None else np.asarray(positions)
    return np.broadcast_to(given, (batch, length))


def _blank(**shapes):
    return {name: np.full(shape, np.nan) for name, shape in shapes.items()}


def _latent_tokens(config, w, h, positions):
    """Everything that attention does not need: latents, queries, the shared rotary key."""
    batch, length, _ = h.shape
    n, k, r, c = config.n_heads, config.d_head, config.d_rope, config.d_latent_kv
    place = _positions(h, positions)
    rope = config.rope if r else None

    def turn(x, b, t):
        return x if rope is None else rotate(rope, x, int(place[b, t]), int(place.max()) + 1)

    def norm(x, weight):
        return rms_norm(x, w[weight], config.norm_eps) if config.latent_norm else x

    query = (batch, length, config.d_latent_q or 0)
    out = _blank(c_Q_pre=query, c_Q=query) | _blank(
        q_C=(batch, length, n, k), q_R_pre=(batch, length, n, r), q_R=(batch, length, n, r)
    )
    token = (batch, length)
    out |= _blank(c_KV_pre=(*token, c), c_KV=(*token, c), k_R_pre=(*token, r), k_R=(*token, r))
    for b, t in np.ndindex(batch, length):
        x = h[b, t]
        if config.d_latent_q:
            out["c_Q_pre"][b, t] = times(w["W_DQ"], x, w.get("b_DQ"))
            out["c_Q"][b, t] = norm(out["c_Q_pre"][b, t], "c_Q_norm")
        source = out["c_Q"][b, t] if config.d_latent_q else x
        out["c_KV_pre"][b, t] = times(w["W_DKV"], x, w.get("b_DKV"))
        out["c_KV"][b, t] = norm(out["c_KV_pre"][b, t], "c_KV_norm") * config.kv_latent_scale
        for i in range(n):
            out["q_C"][b, t, i] = times(w["W_UQ"][i], source) * config.q_latent_scale
        if r:
            out["k_R_pre"][b, t] = times(w["W_KR"], x, w.get("b_KR"))
            out["k_R"][b, t] = turn(out["k_R_pre"][b, t], b, t)
            for i in range(n):
                out["q_R_pre"][b, t, i] = times(w["W_QR"][i], source) * config.q_latent_scale
                out["q_R"][b, t, i] = turn(out["q_R_pre"][b, t, i], b, t)
    return out


def _output(w, o):
    """u_t = sum over the heads of W_O,i o_t,i, plus the bias."""
    batch, length, n, _ = o.shape
    u = np.zeros((batch, length, len(w["W_O"])))
    for b, t in np.ndindex(batch, length):
        for i in range(n):
            u[b, t] += times(w["W_O"][:, i], o[b, t, i])
        u[b, t] += w.get("b_O", 0.0)
    return u


def latent_output(config, w, out):
    """Return u of o, after an output gate where there is one, g = sigmoid(W_OG h) times o."""
    if config.output_gate is None:
        return out | {"u": _output(w, out["o"])}
    h, rows = out["h"], w["W_OG"] if config.output_gate == "channel" else w["w_OG"]
    gate = np.zeros(out["o"].shape)
    for b, t, i, v in np.ndindex(gate.shape):
        row = rows[i, v] if config.output_gate == "channel" else rows[i]
        gate[b, t, i, v] = 1 / (1 + math.exp(-dot(row, h[b, t])))
    gated = gate * out["o"]
    return out | {"gate": gate, "o_gated": gated, "u": _output(w, gated)}


def _latent_scores(config, out, content):
    """Both parts of the logits and the causal softmax; `content(b, i, t, s)` is the dot product."""
    batch, length, n, _ = out["q_C"].shape
    maps = (batch, n, length, length)
    out |= _blank(scores_C=maps, scores_R=maps) | {"attention": np.zeros(maps)}
    scale = softmax_scale(config, config.d_head + config.d_rope)
    for b, i, t, s in np.ndindex(maps):
        out["scores_C"][b, i, t, s] = scale * content(b, i, t, s)
        out["scores_R"][b, i, t, s] = scale * dot(out["q_R"][b, t, i], out["k_R"][b, s])
    for b, i, t in np.ndindex(maps[:3]):
        seen = slice(0, t + 1)
        logits = out["scores_C"][b, i, t, seen] + out["scores_R"][b, i, t, seen]
        out["attention"][b, i, t, seen] = softmax(logits)


def latent(config, w, h, positions=None):
    """Expanded MLA: keys and values of every head made from the latent (equations 9 to 19)."""
    out = _latent_tokens(config, w, h, positions)
    batch, length, n, k = out["q_C"].shape
    out |= _blank(k_C=(batch, length, n, k), v_C=(batch, length, n, config.d_value))
    for b, s, i in np.ndindex(batch, length, n):
        out["k_C"][b, s, i] = times(w["W_UK"][i], out["c_KV"][b, s])
        out["v_C"][b, s, i] = times(w["W_UV"][i], out["c_KV"][b, s])
    _latent_scores(config, out, lambda b, i, t, s: dot(out["q_C"][b, t, i], out["k_C"][b, s, i]))
    out["o"] = np.zeros((batch, length, n, config.d_value))
    for b, t, i, s in np.ndindex(batch, length, n, length):
        out["o"][b, t, i] += out["attention"][b, i, t, s] * out["v_C"][b, s, i]
    return latent_output(config, w, out | {"h": h})


def absorbed(config, w, h, positions=None):
    """Absorbed MLA: queries carried into the latent space, values taken out of it at the end."""
    out = _latent_tokens(config, w, h, positions)
    batch, length, n, _ = out["q_C"].shape
    wide = (batch, length, n, config.d_latent_kv)
    out |= _blank(q_C_absorbed=wide, o=(*wide[:3], config.d_value)) | {"o_latent": np.zeros(wide)}
    for b, t, i in np.ndindex(wide[:3]):
        out["q_C_absorbed"][b, t, i] = times(w["W_UK"][i].T, out["q_C"][b, t, i])
    _latent_scores(
        config, out, lambda b, i, t, s: dot(out["q_C_absorbed"][b, t, i], out["c_KV"][b, s])
    )
    for b, t, i, s in np.ndindex(*wide[:3], length):
        out["o_latent"][b, t, i] += out["attention"][b, i, t, s] * out["c_KV"][b, s]
    for b, t, i in np.ndindex(wide[:3]):
        out["o"][b, t, i] = times(w["W_UV"][i], out["o_latent"][b, t, i])
    return latent_output(config, w, out | {"h": h})


def _grouped_tokens(config, w, h, positions):
    batch, length, _ = h.shape
    place = _positions(h, positions)
    out = {}
    for name, count in (("q", config.n_heads), ("k", config.n_kv_heads)):
        out |= _blank(**dict.fromkeys((f"{name}_pre", name), (batch, length, count, config.d_head)))
        for b, t, i in np.ndindex(batch, length, count):
            bias = w[f"b_{name.upper()}"][i] if config.bias else None
            x = times(w[f"W_{name.upper()}"][i], h[b, t], bias)
            out[f"{name}_pre"][b, t, i] = x
            if config.qk_norm:
                x = rms_norm(x, w[f"{name}_norm"], config.norm_eps)
            if config.rope:
                x = rotate(config.rope, x, int(place[b, t]), int(place.max()) + 1)
            out[name][b, t, i] = x
    out |= _blank(v=(batch, length, config.n_kv_heads, config.d_value))
    for b, t, g in np.ndindex(batch, length, config.n_kv_heads):
        out["v"][b, t, g] = times(w["W_V"][g], h[b, t], w["b_V"][g] if config.bias else None)
    return out


def grouped(config, w, h, positions=None):
    """MHA, GQA and MQA: query head i reads KV head floor(i n_kv / n_heads)."""
    out = _grouped_tokens(config, w, h, positions)
    batch, length, n, k = out["q"].shape
    maps = (batch, n, length, length)
    out |= {"scores": np.full(maps, -np.inf), "attention": np.zeros(maps)}
    out["o"] = np.zeros((batch, length, n, config.d_value))
    scale = softmax_scale(config, k)
    for b, i, t in np.ndindex(maps[:3]):
        g = i * config.n_kv_heads // n
        first = 0 if config.sliding_window is None else max(0, t - config.sliding_window + 1)
        for s in range(first, t + 1):
            z = scale * dot(out["q"][b, t, i], out["k"][b, s, g])
            if config.logit_softcap is not None:
                z = config.logit_softcap * math.tanh(z / config.logit_softcap)
            out["scores"][b, i, t, s] = z
        seen = list(out["scores"][b, i, t, first : t + 1])
        shares = softmax([*seen, w["sink"][i]] if config.sinks else seen)
        out["attention"][b, i, t, first : t + 1] = shares[: len(seen)]
        if config.sinks:
            out.setdefault("sink_mass", np.zeros(maps[:3]))[b, i, t] = shares[-1]
        for s in range(first, t + 1):
            out["o"][b, t, i] += out["attention"][b, i, t, s] * out["v"][b, s, g]
    return out | {"h": h, "u": _output(w, out["o"])}
