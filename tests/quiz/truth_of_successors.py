"""The quiz's answers on what came after MLA, by plain arithmetic of published widths."""

from tests.quiz.truth import Truth, widths

INDEX = {"deepseek-v3.2-exp": (64, 128), "glm-5": (32, 128)}  # heads and width of the indexer
LAYERS = {"kimi-k3": (93, 24), "kimi-linear-48b-a3b": (27, 7)}  # all, and those with a cache


def index_keys(q):
    _, _, _, c, r, _ = widths(q)
    heads, x = INDEX[q.preset]
    return Truth(
        (c, r, x, c + r + x, heads),
        {
            "latent, rotary key and one index key": c + r + x,
            "leaves out the index key": c + r,
            "an index key for each index head": c + r + heads * x,
            "counts everything twice, as key and as value": 2 * (c + r + x),
        },
    )


def chosen_keys(q):
    context, most = q.fact("context"), 2048
    read = min(context, most)
    return Truth(
        (most, read) if context <= most else (read, context),
        {
            "all that there are" if context <= most else "the chosen tokens": read,
            "as many as could be chosen": most,
            "half of the tokens": context / 2,
            "all tokens, as MLA reads": context,
            "those that are left out": context - most,
        },
    )


def hybrid(q):
    _, _, _, c, r, _ = widths(q)
    layers, caches = LAYERS[q.preset]
    row = 2 * (c + r)
    return Truth(
        (c, r, 2, caches, row * caches, layers),
        {
            "the layers that keep latents": row * caches,
            "takes every layer for MLA": row * layers,
            "forgets the number of layers": row,
            "takes one byte a number": row * caches / 2,
            "counts everything twice, as key and as value": 2 * row * caches,
        },
        {"too much|偏大": layers > caches},
    )


def pooled(_):
    return Truth(
        (512, 128, 4, (512 + 128) / 4, 4),
        {
            "entry and index key, over the tokens they stand for": 160,
            "an entry for each token": 640,
            "the entry without its index key": 128,
            "counts everything twice, as key and as value": 320,
        },
    )


def heavily_pooled(_):
    return Truth(
        (512, 128, 512 / 128, 128),
        {
            "an entry, over the tokens it stands for": 4,
            "an entry for each token": 512,
            "pools as few tokens as CSA": 128,
            "counts everything twice, as key and as value": 8,
        },
    )


def state(q):
    heads, context = {"Kimi-K3": 96}.get(q.fact("model"), 32), q.fact("context")
    return Truth(
        (heads, 128, 128, heads * 128 * 128),
        {
            "a matrix for each head": heads * 128**2,
            "a matrix for all heads": 128**2,
            "a vector for each head": heads * 128,
            "keys and values of every token": 2 * heads * 128 * context,
        },
    )


def block_index(q):
    _, _, _, c, r, _ = widths(q)
    return Truth(
        (c, 128, 4, c + r + 128 / 4),
        {
            "the latent and a share of the block's index key": c + r + 32,
            "leaves out the index key": c + r,
            "an index key for each token": c + r + 128,
            "pools the latents, too": (c + r + 128) / 4,
            "counts everything twice, as key and as value": 2 * (c + r + 32),
        },
    )


KINDS = (index_keys, chosen_keys, hybrid, pooled, heavily_pooled, state, block_index)
