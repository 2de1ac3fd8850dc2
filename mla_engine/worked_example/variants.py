"""The example's steps: MLA and MHA as published, and both completed to two tokens.

As published there is one token, whose position is not given; W_QR and W_O are missing, and a
position part of one number cannot be rotated, since RoPE turns pairs. Those cells stay unknown.
Completed, two tokens stand at positions 0 and 1, the position part has two numbers, and what was
missing is ours.
"""

from collections.abc import Callable, Mapping

from mla_engine.worked_example import build
from mla_engine.worked_example.step import Matrix, Step

Inputs = Mapping[str, Matrix]
Figures = Mapping[str, Matrix]
Sizes = Mapping[str, int]

# The equations in LaTeX, by the key of their step.
_WIDTH = r"\sqrt{d_h + d_h^R}"
ONE_TOKEN = {
    "c_KV": r"\mathbf{c}^{KV}_t = \mathbf{W}^{DKV}\,\mathbf{h}_t",
    "c_Q": r"\mathbf{c}^{Q}_t = \mathbf{W}^{DQ}\,\mathbf{h}_t",
    "k_R_pre": r"\mathbf{k}^{R,\mathrm{pre}}_t = \mathbf{W}^{KR}\,\mathbf{h}_t",
    "k_R": r"\mathbf{k}^{R}_t = \mathrm{RoPE}_t\left(\mathbf{k}^{R,\mathrm{pre}}_t\right)",
    "k_C": r"\mathbf{k}^{C}_t = \mathbf{W}^{UK}\,\mathbf{c}^{KV}_t",
    "v_C": r"\mathbf{v}^{C}_t = \mathbf{W}^{UV}\,\mathbf{c}^{KV}_t",
    "q_C": r"\mathbf{q}^{C}_t = \mathbf{W}^{UQ}\,\mathbf{c}^{Q}_t",
    "q_R_pre": r"\mathbf{q}^{R,\mathrm{pre}}_t = \mathbf{W}^{QR}\,\mathbf{c}^{Q}_t",
    "q_R": r"\mathbf{q}^{R}_t = \mathrm{RoPE}_t\left(\mathbf{W}^{QR}\,\mathbf{c}^{Q}_t\right)",
    "k_C_heads": r"\mathbf{k}^{C}_t \rightarrow [\mathbf{k}^{C}_{t,1};\ \mathbf{k}^{C}_{t,2}]",
    "v_C_heads": r"\mathbf{v}^{C}_t \rightarrow [\mathbf{v}^{C}_{t,1};\ \mathbf{v}^{C}_{t,2}]",
    "q_C_heads": r"\mathbf{q}^{C}_t \rightarrow [\mathbf{q}^{C}_{t,1};\ \mathbf{q}^{C}_{t,2}]",
    "q": r"\mathbf{q}_{t,i} = [\mathbf{q}^{C}_{t,i};\ \mathbf{q}^{R}_{t,i}]",
    "k": r"\mathbf{k}_{t,i} = [\mathbf{k}^{C}_{t,i};\ \mathbf{k}^{R}_{t}]",
    "scores_C": r"s^{C}_{i} = \mathbf{q}^{C\top}_{t,i}\,\mathbf{k}^{C}_{t,i} \,/\, " + _WIDTH,
    "scores": r"s_{i} = \mathbf{q}_{t,i}^{\top}\,\mathbf{k}_{t,i} \,/\, " + _WIDTH,
    "attention": r"\alpha_{i} = \mathrm{softmax}(s_{i}) = e^{s_i} / e^{s_i}",
    "o": r"\mathbf{o}_{t,i} = \alpha_{i}\,\mathbf{v}^{C}_{t,i}",
    "u": r"\mathbf{u}_t = \mathbf{W}^{O}\,[\mathbf{o}_{t,1};\ \mathbf{o}_{t,2}]",
    "cache_mha": r"2\, n_h\, d_h\, L",
    "cache_mla": r"(d_c + d_h^R)\, L",
    "cache_ratio": r"\frac{2\, n_h\, d_h}{d_c + d_h^R}",
}
ONE_TOKEN_MHA = ONE_TOKEN | {
    "q": r"\mathbf{q}_t = \mathbf{W}^{Q}\,\mathbf{h}_t",
    "k": r"\mathbf{k}_t = \mathbf{W}^{K}\,\mathbf{h}_t",
    "v": r"\mathbf{v}_t = \mathbf{W}^{V}\,\mathbf{h}_t",
    "q_heads": r"\mathbf{q}_t \rightarrow [\mathbf{q}_{t,1};\ \mathbf{q}_{t,2}]",
    "k_heads": r"\mathbf{k}_t \rightarrow [\mathbf{k}_{t,1};\ \mathbf{k}_{t,2}]",
    "v_heads": r"\mathbf{v}_t \rightarrow [\mathbf{v}_{t,1};\ \mathbf{v}_{t,2}]",
    "scores": r"s_{i} = \mathbf{q}_{t,i}^{\top}\,\mathbf{k}_{t,i} \,/\, \sqrt{d_h}",
    "o": r"\mathbf{o}_{t,i} = \alpha_{i}\,\mathbf{v}_{t,i}",
}
TWO_TOKENS = ONE_TOKEN | {
    "q_R": r"\mathbf{q}^{R}_{t,i} = \mathrm{RoPE}_t\left(\mathbf{q}^{R,\mathrm{pre}}_{t,i}\right)",
    "scores_C": r"s^{C}_{i,t,s} = \mathbf{q}^{C\top}_{t,i}\,\mathbf{k}^{C}_{s,i} \,/\, " + _WIDTH,
    "scores_R": r"s^{R}_{i,t,s} = \mathbf{q}^{R\top}_{t,i}\,\mathbf{k}^{R}_{s} \,/\, " + _WIDTH,
    "scores": r"s_{i,t,s} = s^{C}_{i,t,s} + s^{R}_{i,t,s}\quad (s \le t)",
    "attention": r"\alpha_{i,t,s} = e^{s_{i,t,s}} \,/\, \textstyle\sum_{j \le t} e^{s_{i,t,j}}",
    "o": r"\mathbf{o}_{t,i} = \textstyle\sum_{s \le t} \alpha_{i,t,s}\,\mathbf{v}^{C}_{s,i}",
}
TWO_TOKENS_MHA = TWO_TOKENS | {
    "q": ONE_TOKEN_MHA["q"],
    "k": ONE_TOKEN_MHA["k"],
    "v": ONE_TOKEN_MHA["v"],
    "scores_unmasked": r"s_{i,t,s} = \mathbf{q}_{t,i}^{\top}\,\mathbf{k}_{s,i} \,/\, \sqrt{d_h}",
    "scores": r"s_{i,t,s} = -\infty \quad (s > t)",
    "o": r"\mathbf{o}_{t,i} = \textstyle\sum_{s \le t} \alpha_{i,t,s}\,\mathbf{v}_{s,i}",
}


def _full_cache(sizes: Sizes) -> Step:
    n_heads, d_head, n_tokens = (sizes[name] for name in ("n_heads", "d_head", "n_tokens"))
    operands = {"n_heads": n_heads, "d_head": d_head, "n_tokens": n_tokens}
    text = f"2 × {n_heads} × {d_head} × {n_tokens}"
    return build.count("cache_mha", operands, text, 2 * n_heads * d_head * n_tokens)


def _caches(sizes: Sizes, d_rope: int) -> tuple[Step, ...]:
    d_latent, n_tokens = sizes["d_latent_kv"], sizes["n_tokens"]
    operands = {"d_latent_kv": d_latent, "d_rope": d_rope, "n_tokens": n_tokens}
    text, value = f"({d_latent} + {d_rope}) × {n_tokens}", (d_latent + d_rope) * n_tokens
    full = _full_cache(sizes)
    small = build.count("cache_mla", operands, text, value, notes=("k_R_is_cached",))
    return full, small, build.ratio("cache_ratio", full.result, small.result)


def _split(steps: tuple[Step, ...], n_heads: int) -> tuple[Step, ...]:
    return tuple(build.heads(f"{step.name}_heads", step.result, n_heads) for step in steps)


def mla(x: Inputs, figures: Figures, sizes: Sizes) -> tuple[Step, ...]:
    """Return MLA as published: one token; what is not given stays unknown."""
    c_KV = build.product("c_KV", x["W_DKV"], x["h"])
    c_Q = build.product("c_Q", x["W_DQ"], x["h"])
    k_R_pre = build.product("k_R_pre", x["W_KR"], x["h"])
    pre = k_R_pre.result
    lost = {"missing": ("position",), "notes": ("odd_rope",)}
    k_R = build.unknown("k_R", (pre,), pre.shape, pre.axes, **lost)
    k_C = build.product("k_C", x["W_UK"], c_KV.result)
    v_C = build.product("v_C", x["W_UV"], c_KV.result)
    q_C = build.product("q_C", x["W_UQ"], c_Q.result)
    lost["missing"] = "W_QR", "position"
    shape = sizes["n_heads"] * sizes["d_rope"], 1
    q_R = build.unknown("q_R", (c_Q.result,), shape, ("h r", "t"), **lost)
    k_heads, v_heads, q_heads = splits = _split((k_C, v_C, q_C), sizes["n_heads"])
    q = build.joined("q", q_heads.result, q_R.result, missing=("q_R",))
    k = build.joined("k", k_heads.result, k_R.result, missing=("k_R",))
    width = sizes["d_head"] + sizes["d_rope"]
    scores_C = build.row_scores("scores_C", q_heads.result, k_heads.result, width)
    scores = build.row_scores("scores", q.result, k.result, width, missing=("q_R", "k_R"))
    projections = (c_KV, c_Q, k_R_pre, k_R, k_C, v_C, q_C, q_R, *splits, q, k, scores_C, scores)
    tail = _one_key(scores, v_heads, figures, width)
    return *projections, *tail, *_caches(sizes, sizes["d_rope"])


def mha(x: Inputs, figures: Figures, sizes: Sizes) -> tuple[Step, ...]:
    """Return MHA as published: one token, no position."""
    q, k, v = _projections(x)
    q_heads, k_heads, v_heads = splits = _split((q, k, v), sizes["n_heads"])
    scores = build.row_scores("scores", q_heads.result, k_heads.result, sizes["d_head"])
    tail = _one_key(scores, v_heads, figures, sizes["d_head"])
    return q, k, v, *splits, scores, *tail, _full_cache(sizes)


def _projections(x: Inputs) -> tuple[Step, ...]:
    return tuple(
        build.product(name, x[weight], x["h"])
        for name, weight in (("q", "W_Q"), ("k", "W_K"), ("v", "W_V"))
    )


def _one_key(scores: Step, v_heads: Step, figures: Figures, width: int) -> tuple[Step, ...]:
    """Return the printed vectors' own score, softmax over one key, o, and u, which lacks W_O."""
    q, k = (figures[name] for name in (("q", "k") if "k_R" in figures else ("q_heads", "k_heads")))
    told = {"notes": ("from_printed",), "repeats": True}
    printed = build.row_scores("scores_printed", q, k, width, **told)
    attention = build.softmax("attention", scores.result, notes=("one_key",))
    o = build.weighted("o", attention.result, v_heads.result, v_heads.result.shape[0])
    d_model = o.result.shape[0] * o.result.shape[1]
    u = build.unknown("u", (o.result,), (d_model, 1), ("d", "t"), missing=("W_O",))
    return printed, attention, o, u


def mla_completed(x: Inputs, figures: Figures, sizes: Sizes) -> tuple[Step, ...]:
    """Return MLA with two tokens, a rotated position part of two numbers, W_QR and W_O."""
    n_heads = sizes["n_heads"]
    c_KV = build.product("c_KV", x["W_DKV"], x["h"])
    c_Q = build.product("c_Q", x["W_DQ"], x["h"])
    k_R_pre = build.product("k_R_pre", x["W_KR"], x["h"])
    k_R = build.rotated("k_R", k_R_pre.result)
    k_C = build.product("k_C", x["W_UK"], c_KV.result)
    v_C = build.product("v_C", x["W_UV"], c_KV.result)
    q_C = build.product("q_C", x["W_UQ"], c_Q.result)
    q_R_pre = build.product("q_R_pre", x["W_QR"], c_Q.result)
    q_R = build.rotated("q_R", q_R_pre.result)
    width = sizes["d_head"] + k_R.result.shape[0]
    scores_C = build.token_scores("scores_C", q_C.result, k_C.result, width, n_heads)
    scores_R = build.token_scores("scores_R", q_R.result, k_R.result, width, n_heads)
    scores = build.masked("scores", (scores_C.result, scores_R.result))
    projections = (c_KV, c_Q, k_R_pre, k_R, k_C, v_C, q_C, q_R_pre, q_R)
    tail = _outputs(scores, v_C, x["W_O"], n_heads)
    return *projections, scores_C, scores_R, scores, *tail, *_caches(sizes, k_R.result.shape[0])


def mha_completed(x: Inputs, figures: Figures, sizes: Sizes) -> tuple[Step, ...]:
    """Return MHA with two tokens and W_O; it has no position part, as published."""
    n_heads = sizes["n_heads"]
    q, k, v = _projections(x)
    raw = build.token_scores("scores_unmasked", q.result, k.result, sizes["d_head"], n_heads)
    scores = build.masked("scores", (raw.result,))
    return q, k, v, raw, scores, *_outputs(scores, v, x["W_O"], n_heads), _full_cache(sizes)


def _outputs(scores: Step, v: Step, W_O: Matrix, n_heads: int) -> tuple[Step, ...]:
    attention = build.softmax("attention", scores.result)
    o = build.weighted("o", attention.result, v.result, n_heads)
    return attention, o, build.product("u", W_O, o.result)


BUILDERS: dict[str, Callable[[Inputs, Figures, Sizes], tuple[Step, ...]]] = {
    "mla": mla,
    "mha": mha,
    "mla_completed": mla_completed,
    "mha_completed": mha_completed,
}
FORMULAS = {
    "mla": ONE_TOKEN,
    "mha": ONE_TOKEN_MHA,
    "mla_completed": TWO_TOKENS,
    "mha_completed": TWO_TOKENS_MHA,
}
