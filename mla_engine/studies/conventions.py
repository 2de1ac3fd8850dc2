"""A head's logits when a convention is read wrongly: the pairing, or the scale.

Nothing fails: shapes fit and every row of the map still adds up to one. Some cells stay right, and
a test that looks only at these passes: `unharmed` and `whole_places` say which.
"""

import torch
from torch import Tensor

from kvcount import checks
from mla_engine.config import PAIRINGS, RopeConfig
from mla_engine.latent import LatentConfig
from mla_engine.ops import softmax
from mla_engine.rope import rotate, rotation

PAIRING_READINGS = ("own", "regrouped", "both", "keys", "layout")
SCALE_READINGS = ("own", "absorbed_width", "no_mscale", "rotation_alone")
EXACT = 1e-9  # of the largest logit, in float64


def stored_for(x: Tensor, pairing: str) -> Tensor:
    """Move the pairs of x [..., r] from the other pairing to where `pairing` looks for them."""
    if pairing == "half":
        return x.unflatten(-1, (-1, 2)).mT.flatten(-2)
    return x.unflatten(-1, (2, -1)).mT.flatten(-2)


def position_logits(
    q_R_pre: Tensor, k_R_pre: Tensor, rope: RopeConfig, positions: Tensor, reading: str = "own"
) -> Tensor:
    """Return the unscaled q_R . k_R of one head, with the pairing of the model or a wrong one.

    Args:
        q_R_pre: rotary queries before their rotation [t,r].
        k_R_pre: rotary keys before theirs [s,r].
        rope: the model's own rotation.
        positions: int64 [t], of queries and keys.
        reading: "own"; "regrouped", the other pairing with queries and keys moved to match it
            (right again); "both", the other pairing on them as they are; "keys", on the keys
            alone; "layout", keys moved and queries not.

    Returns:
        float64 [t,s].

    Raises:
        ValueError: an unknown reading.
    """
    checks.choice("reading", reading, PAIRING_READINGS)
    own = rope.pairing
    other = next(pairing for pairing in PAIRINGS if pairing != own)
    q, k = q_R_pre.double(), k_R_pre.double()
    sides = {
        "own": ((q, own), (k, own)),
        "regrouped": ((stored_for(q, other), other), (stored_for(k, other), other)),
        "both": ((q, other), (k, other)),
        "keys": ((q, own), (k, other)),
        "layout": ((q, own), (stored_for(k, other), other)),
    }
    turn = rotation(rope, q.shape[-1], positions)
    q_R, k_R = (rotate(x, *turn, pairing) for x, pairing in sides[reading])
    return q_R @ k_R.T


def scaled_logits(
    content: Tensor, position: Tensor, config: LatentConfig, reading: str = "own"
) -> Tensor:
    """Scale the parts [t,s] of one head's logits by the right scale or a wrong one, and add them.

    Args:
        content: q_C . k_C.
        position: q_R . k_R.
        config: the layer.
        reading: "own"; "absorbed_width", (d_latent_kv + d_rope)^-1/2, the width of an absorbed
            query; "no_mscale", only (d_head + d_rope)^-1/2; "rotation_alone", YaRN's magnitude
            on the rotated part and not on the content.

    Raises:
        ValueError: an unknown reading.
    """
    checks.choice("reading", reading, SCALE_READINGS)
    plain = (config.d_head + config.d_rope) ** -0.5
    absorbed = (config.d_latent_kv + config.d_rope) ** -0.5
    of_content, of_position = {
        "own": (config.scale, config.scale),
        "absorbed_width": (absorbed, absorbed),
        "no_mscale": (plain, plain),
        "rotation_alone": (plain, config.scale),
    }[reading]
    return content * of_content + position * of_position


def masked_attention(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax over the keys that `mask` [t,s] shows, in the dtype of the logits."""
    return softmax(logits.masked_fill(~mask, -torch.inf))


def unharmed(right: Tensor, read: Tensor, mask: Tensor) -> Tensor:
    """Return bool [t,s]: visible cells that are the same in both, up to rounding in float64."""
    largest = right[mask].abs().max()
    return ((right - read).abs() <= EXACT * largest) & mask


def reordered(right: Tensor, read: Tensor, mask: Tensor) -> Tensor:
    """Return bool [t]: rows in which the visible keys, by their logit, stand in another order."""
    ranks = (x.masked_fill(~mask, -torch.inf).argsort(stable=True) for x in (right, read))
    return torch.ne(*ranks).any(-1)


def whole_places(kept: Tensor, mask: Tensor) -> tuple[str, ...]:
    """Name the parts of a map that are unharmed as a whole.

    Args:
        kept: bool [t,s], what `unharmed` returned.
        mask: bool [t,s], True where a query sees a key.

    Returns:
        ("all",), or those of "diagonal", "first_column", "first_row" that hold, in this order.
    """
    if bool((kept == mask).all()):
        return ("all",)
    places = {
        "diagonal": (kept.diagonal(), mask.diagonal()),
        "first_column": (kept[:, 0], mask[:, 0]),
        "first_row": (kept[0], mask[0]),
    }
    return tuple(name for name, (cells, seen) in places.items() if bool((cells == seen).all()))
