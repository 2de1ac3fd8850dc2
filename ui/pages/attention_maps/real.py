"""The app's own real model's map: who looks at what, and what the head does on this text."""

import torch

from ui.pages.attention_maps.sentences import EXAMPLES
from ui.pages.attention_maps.trained import Look, looks, spoken
from ui.parts import examples
from ui.parts.maps.view import Maps
from ui.sources import checkpoint
from ui.words.numbers import share


def lead(maps: Maps, look: Look) -> tuple[str, str]:
    """Return the cell's share, and whose look it is at what."""
    return share(maps.share), looks(maps, look, maps.model.checkpoint.layer)


def under(maps: Maps) -> list[str]:
    """Below the map: what the head does on this text, by its own mask and temperature."""
    loaded = maps.model.checkpoint
    if loaded.activations:
        return []
    one = maps.run.attention(causal=True, temperature=1.0)[maps.place]
    head = {"layer": loaded.layer, "map_head": maps.head}
    pairs = examples.told_of_pairs(EXAMPLES, spoken(maps), one, head)
    ids = checkpoint.inputs(loaded).ids
    said = pairs or examples.told(ids, one, maps.head)
    return [said] if said else []


def strongest(maps: Maps) -> tuple[int, int]:
    """Return the cell of the head's strongest look at an earlier word, but the first."""
    earlier = torch.tensor(maps.attention[maps.place]).tril(-1)
    earlier[:, 0] = 0
    place = int(earlier.argmax())
    return divmod(place, earlier.shape[1])
