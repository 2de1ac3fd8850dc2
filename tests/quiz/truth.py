"""The quiz's answers, worked out apart from it: of published widths, by plain arithmetic.

Option texts are looked up by their English words, so that a changed wording needs a new thought.
"""

from dataclasses import dataclass, field

from mla_engine import PRESETS

MILLION = 1e6


@dataclass(frozen=True)
class Truth:
    """The truth of one question.

    Attributes:
        numbers: every number and map letter of the explanation, in order; a pair is a range.
        options: English words of every option that can be drawn -> its amount, or whether it holds.
            Of amounts and of maps the right one stands first.
        said: wordings that compare or order, as patterns of both languages -> whether they hold.
    """

    numbers: tuple
    options: dict[str, float | bool]
    said: dict[str, bool] = field(default_factory=dict)


def widths(question):
    """Heads, the widths of key, value, latent and rotary key, and the whole preset."""
    preset = PRESETS[question.preset]
    x = preset.config
    return x.n_heads, x.d_head, x.d_value, x.d_latent_kv, x.d_rope, preset


def elements(q):
    h, k, v, c, r, _ = widths(q)
    return Truth(
        (c, r, c + r),
        {
            "latent and shared rotary key": c + r,
            "leaves out the rotary part": c,
            "keys and values of all heads, as MHA": h * (k + v),
            "a rotary key for each head": c + h * r,
            "counts everything twice, as key and as value": 2 * (c + r),
        },
    )


def own_heads(q):
    h, k, v, c, r, _ = widths(q)
    return Truth(
        (h * (k + r + v),),
        {
            "all heads, expanded": h * (k + r + v),
            "latent and shared rotary key": c + r,
            "all heads, without the rotary part": h * (k + v),
            "counts keys alone": h * (k + r),
        },
        {"larger of the two figures|较大的一个": h * (k + r + v) > h * (k + v)},
    )


def whole_model(q):
    h, k, v, c, r, preset = widths(q)
    layers, context = preset.n_caches, q.fact("context")
    right = (c + r) * 2 * layers * context
    return Truth(
        (c, r, 2, layers, context, right, 2),
        {
            "latent and shared rotary key": right,
            "forgets the number of layers": right / layers,
            "counts everything twice, as key and as value": 2 * right,
            "keys and values of all heads, as MHA": h * (k + v) * 2 * layers * context,
            "takes one byte a number": right / 2,
        },
    )


def ratio(q):
    h, k, v, c, r, _ = widths(q)
    right, without = h * (k + v) / (c + r), h * (k + v) / c
    return Truth(
        (h, k, v, c, r, right),
        {
            "latent and shared rotary key": right,
            "leaves out the rotary part": without,
            "against MLA's own expanded heads, another baseline": h * (k + r + v) / (c + r),
            "taken from the number of heads": h,
            "counts keys alone": h * k / (c + r),
        },
        {
            "forgets the rotary key in the cache gets more|忘了缓存中的旋转键，得数就偏大": without
            > right
        },
    )


def grouped(q):
    h, g, k = q.fact("n_heads"), q.fact("groups"), q.fact("d_head")
    return Truth(
        (2, g, k, 2 * g * k, h),
        {
            "a key and a value for each KV head": 2 * g * k,
            "keys and values of all heads, as MHA": 2 * h * k,
            "counts keys alone": g * k,
            "as MQA, one KV head": 2 * k,
            "takes the heads of a group for the groups": 2 * h // g * k,
        },
    )


def equivalent(q):
    h, k, v, c, r, _ = widths(q)
    return Truth(
        (c, r, k, v, (c + r) / (k + v), h),
        {
            "a KV head takes a key and a value": (c + r) / (k + v),
            "taken from the number of heads": h,
            "as if there were one head": 1,
            "counts keys alone": (c + r) / k,
            "what grouped models often have": 8,
        },
    )


def rope_per_head(q):
    h, k, v, c, r, _ = widths(q)
    return Truth(
        (c, h, r, c + h * r),
        {
            "a rotary key for each head": c + h * r,
            "latent and shared rotary key": c + r,
            "leaves out the rotary part": c,
            "counts the rotary key twice": c + 2 * r,
            "all heads, expanded": h * (k + r + v),
        },
        {"rotary keys alone would outweigh the latent|光是旋转键就超过潜在向量": h * r > c},
    )


def per_gpu(q):
    h, k, v, c, r, _ = widths(q)
    gpus = q.fact("gpus")
    return Truth(
        (c + r,),
        {
            "every GPU needs it whole": c + r,
            "the cache divided by the GPUs": (c + r) / gpus,
            "MHA's share of the heads": h * (k + v) / gpus,
            "the latent divided, the rotary key whole": c / gpus + r,
        },
    )


def longest(q):
    h, k, v, c, r, preset = widths(q)
    memory, layers = q.fact("memory"), preset.n_caches
    token = (c + r) * 2 * layers
    return Truth(
        (token, memory // token),
        {
            "latent and shared rotary key": memory // token,
            "keys and values of all heads, as MHA": memory // (h * (k + v) * 2 * layers),
            "forgets the number of layers": memory // ((c + r) * 2),
            "takes one byte a number": memory // ((c + r) * layers),
            "counts everything twice, as key and as value": memory // (2 * token),
        },
    )


def query_latent(q):
    h, k, _, c, r, preset = widths(q)
    d, width = preset.config.d_model, q.fact("d_latent_q")
    before, after = d * h * (k + r), width * (d + h * (k + r))
    return Truth(
        (c + r, c + r, after / MILLION, before / MILLION),
        {"it becomes smaller": False, "it stays the same": True, "it becomes larger": False},
        {
            "saves weights|节省权重": after < before,
            "costs weights|增加权重": after > before,
            "fewer activations|激活较少": width < h * (k + r),
        },
    )


KINDS = (
    elements, own_heads, whole_model, ratio, grouped, equivalent, rope_per_head, per_gpu, longest,
    query_latent,
)  # fmt: skip
