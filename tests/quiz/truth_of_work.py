"""The quiz's answers on work, bytes and parameters, by plain arithmetic."""

from mla_engine import PRESETS
from tests.quiz.truth import MILLION, Truth, widths

H200_RIDGE = 989.5 / 4.8  # FLOP per byte, by the data sheet


def matrices(x):
    """Elements of the matrices of an MLA layer, and of its norms together."""
    source = x.d_latent_q or x.d_model
    sizes = {
        "W_DQ": (x.d_latent_q or 0) * x.d_model,
        "W_UQ": x.n_heads * x.d_head * source,
        "W_QR": x.n_heads * x.d_rope * source,
        "W_DKV": x.d_latent_kv * x.d_model,
        "W_KR": x.d_rope * x.d_model,
        "W_UK": x.n_heads * x.d_head * x.d_latent_kv,
        "W_UV": x.n_heads * x.d_value * x.d_latent_kv,
        "W_O": x.n_heads * x.d_value * x.d_model,
    }
    return sizes, (x.d_latent_q or 0) + x.d_latent_kv if x.latent_norm else 0


def _flops(x, queries, keys, expanded):
    """2 x the multiply-adds; `expanded` keys come out of the latent, None in the absorbed form."""
    h, k, v, c, r = x.n_heads, x.d_head, x.d_value, x.d_latent_kv, x.d_rope
    sizes, _ = matrices(x)
    pairs = queries * keys
    total = queries * (sum(sizes.values()) - sizes["W_UK"] - sizes["W_UV"])
    if expanded is None:
        total += queries * h * c * (k + v) + pairs * h * (2 * c + r)
    else:
        total += expanded * h * c * (k + v) + pairs * h * (k + r + v)
    return 2 * total


def bytes_read(q):
    h, k, v, c, r, preset = widths(q)
    x, keys = preset.config, q.fact("context") + 1
    sizes, norms = matrices(x)
    rest = sum(sizes.values()) + norms + 2 * x.d_model
    absorbed = 2 * (rest + keys * (c + r))
    again = absorbed + 2 * 2 * keys * h * (k + v)
    cached = 2 * (rest + keys * h * (k + r + v))
    least = min(absorbed, again, cached)
    return Truth(
        (absorbed, again, cached),
        {
            "absorbed, out of the latent cache": absorbed == least,
            "the latent cache, expanded again in each step": again == least,
            "expanded keys and values, cached in full": cached == least,
        },
    )


def flops_of_a_step(q):
    x, keys = PRESETS[q.preset].config, q.fact("context") + 1
    absorbed, again, cached = (_flops(x, 1, keys, n) / 1e9 for n in (None, keys, 1))
    return Truth(
        (absorbed, again, cached),
        {
            "absorbed, out of the latent cache": absorbed > max(again, cached),
            "the latent cache, expanded again in each step": again > max(absorbed, cached),
            "expanded keys and values, cached in full": cached > max(absorbed, again),
        },
        {"again dwarfs all else|远远超过其他开销": again > 10 * max(absorbed, cached)},
    )


def prefill_form(q):
    _, k, _, c, r, preset = widths(q)
    tokens = q.fact("tokens")
    expanded, absorbed = (_flops(preset.config, tokens, tokens, n) / 1e12 for n in (tokens, None))
    dearer = c + r > k + r and absorbed > expanded
    return Truth(
        (expanded, absorbed, c, r, k, r),
        {"expanded": expanded < absorbed, "absorbed": absorbed < expanded},
        {r"cost more than over \d+ \+ \d+|就比在 \d+ \+ \d+ 个数上更贵": dearer},
    )


def crossover(q):
    h, k, v, c, _, _ = widths(q)
    right = round(c * (k + v) / (2 * c - k - v))
    off = abs(right * (2 * c - k - v) - c * (k + v))
    return Truth(
        (right, 2),
        {
            "where both forms compute as much": right,
            "for single tokens alone": 1,
            "taken from the latent's width": c,
            "taken from the number of heads": h,
            "ten times too many": 10 * right,
        },
        {
            "equals the wider scores and mixing|二者相等|更宽的得分与混合": off
            < 2 * c - k - v
            < 2 * c,
            "more per query and key|每对查询和键多": 2 * c > k + v,
        },
    )


def intensity(q):
    h, _, _, c, r, _ = widths(q)
    right = h * (2 * c + r) / (c + r)
    bound = 16 * right / h < H200_RIDGE < 128 * right / h
    return Truth(
        (h, right),
        {
            "all heads use what is read once": right,
            "as if there were one head": right / h,
            "takes one byte a number": 2 * right,
            "counts the scores alone": h,
            "taken from the number of heads": 4 * h,
        },
        {"Few heads leave|many bring|头少时|头多时": bound},
    )


def weights(q):
    x = PRESETS[q.preset].config
    sizes, norms = matrices(x)
    named = ("W_DKV", "W_UK", "W_UQ", "W_O")
    most = max(sizes[name] for name in named)
    texts = (
        "down to the KV latent",
        "up to the keys",
        "up to the queries",
        "the output projection",
    )
    return Truth(
        (*(sizes[name] / MILLION for name in named), (sum(sizes.values()) + norms) / MILLION),
        {f"{n}, {text}": sizes[n] == most for n, text in zip(named, texts, strict=True)},
    )


def merged(q):
    h, k, _, c, _, preset = widths(q)
    width = preset.config.d_latent_q
    entries, factors = h * width * c, h * k * (width + c)
    return Truth(
        (entries / MILLION, factors / MILLION, entries / factors),
        {
            "a matrix for each head": entries / factors,
            "one matrix for all heads": entries / h / factors,
            "as many": 1,
            "taken from the number of heads": h,
            "half as many": 0.5,
        },
        {"keep the factors|保留因子": entries > factors},
    )


def absorbed_width(q):
    _, k, _, c, r, _ = widths(q)
    return Truth(
        (c, r, c + r),
        {
            "latent and rotary width": c + r,
            "content and rotary width": k + r,
            "leaves out the rotary part": c,
            "the latent's width twice, as key and as value": 2 * c,
        },
        {"of the same width|同样宽": True},  # [c_KV; k_R] has c + r, too
    )


def scale(q):
    _, k, _, c, r, _ = widths(q)
    return Truth(
        (k, r, (k + r) ** 0.5),
        {
            "content and rotary width": (k + r) ** 0.5,
            "taken from the absorbed query": (c + r) ** 0.5,
            "taken from the latent's width": c**0.5,
            "leaves out the rotary part": k**0.5,
        },
    )


KINDS = (
    bytes_read, flops_of_a_step, prefill_form, crossover, intensity, weights, merged,
    absorbed_width, scale,
)  # fmt: skip
