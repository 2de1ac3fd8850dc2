"""The oracle of DSA over pooled index keys: loops over batch, tokens and channels, in float64.

Written from what GLM-5.3-Flash's indexer says of itself in transformers (glm5_next): each block's
index keys are averaged channel by channel by a softmax of gate scores and of a bias by place, a
block may be chosen when its last token is visible, and the block that is not full is always seen.
"""

import math

import numpy as np

from tests import reference
from tests.reference_indexer import highest, layer_norm, over_choice


def pooled(config, w, k_I, z_IE, block):
    """The gates of a block [p,x] and its index key [x], of the tokens' keys and gate scores."""
    m, x = config.pooling, config.d_index
    gates = np.zeros((m, x))
    for i in range(x):
        gates[:, i] = reference.softmax(
            [z_IE[block * m + p, 0, i] + w["b_IZ"][0, p, i] for p in range(m)]
        )
    key = [math.fsum(gates[p, i] * k_I[block * m + p, i] for p in range(m)) for i in range(x)]
    return gates, np.array(key)


def seen_tokens(config, chosen_blocks, t):
    """The tokens that query t attends to: of chosen blocks, and of its own while it is not full."""
    m = config.pooling
    tokens = {block * m + p for block in chosen_blocks for p in range(m)}
    started = t - (t + 1) % m + 1
    return sorted(tokens | set(range(started, t + 1)))


def index(config, w, h, source):
    """Everything of the indexer, and the tokens that each query attends to."""
    batch, length, _ = h.shape
    j, x, m = config.n_index_heads, config.d_index, config.pooling
    blocks = length // m
    out = reference._blank(
        q_I=(batch, length, j, x), w_I=(batch, length, j), k_I_pre=(batch, length, x),
        k_I=(batch, length, x), z_IE=(batch, length, 1, x), gates_I=(batch, blocks, m, x),
        k_E=(batch, blocks, x), scores_IE=(batch, j, length, blocks),
        index_E=(batch, length, blocks),
    )  # fmt: skip
    out["members"] = np.arange(blocks * m).reshape(blocks, m)
    out["chosen_E"] = np.zeros((batch, length, blocks), dtype=bool)
    out["chosen"] = np.zeros((batch, length, length), dtype=bool)
    for b, t in np.ndindex(batch, length):
        for i in range(j):
            out["q_I"][b, t, i] = reference.times(w["W_IQ"][i], source[b, t])
        out["w_I"][b, t] = reference.times(w["W_IW"], h[b, t]) / math.sqrt(j)
        out["k_I_pre"][b, t] = reference.times(w["W_IK"], h[b, t])
        out["k_I"][b, t] = layer_norm(out["k_I_pre"][b, t], w["k_I_norm"], w["b_IK"])
        out["z_IE"][b, t, 0] = reference.times(w["W_IZ"][0], h[b, t])
    for b, block in np.ndindex(batch, blocks):
        found = pooled(config, w, out["k_I"][b], out["z_IE"][b], block)
        out["gates_I"][b, block], out["k_E"][b, block] = found
    for b, t in np.ndindex(batch, length):
        for block in range(blocks):
            for i in range(j):
                product = reference.dot(out["q_I"][b, t, i], out["k_E"][b, block])
                out["scores_IE"][b, i, t, block] = max(product / math.sqrt(x), 0.0)
            of_heads = out["w_I"][b, t] * out["scores_IE"][b, :, t, block]
            out["index_E"][b, t, block] = math.fsum(of_heads)
        full = (t + 1) // m
        best = highest(out["index_E"][b, t, :full], config.index_topk // m)
        out["chosen_E"][b, t, best] = True
        out["chosen"][b, t, seen_tokens(config, best, t)] = True
    return out


def pooled_index(config, w, h, chosen=None, form=reference.latent):
    """Run it in either form of MLA; `chosen` is given to a layer that shares its choice."""
    out = form(config, w, h, None)
    if chosen is None:
        out |= index(config, w, h, out["c_Q"] if config.d_latent_q else h)
        chosen = out["chosen"]
    return over_choice(config, w, out, chosen)
