"""What is said of a map whose words are chosen block by block."""

import numpy as np

from ui.parts.maps.columns import entries
from ui.parts.maps.view import Maps
from ui.parts.maps.words import shown
from ui.words.numbers import count


def facts(maps: Maps) -> dict[str, str]:
    """What the sentences say, as Markdown."""
    config, seen = maps.run.config, maps.query + 1
    full, own = divmod(seen, config.pooling)
    return shown(maps) | {
        "n": count(int(maps.mask[maps.query].sum())),
        "seen": count(seen),
        "entries": count(maps.run.blocks),
        "read": count(len(chosen(maps))),
        "full": count(full),
        "own": count(own),
        "pools": count(config.pooling),
        "slots": count(config.n_slots),
        "k": count(config.chosen_blocks),
        "most": count(config.index_topk + config.pooling - 1),
    }


def chosen(maps: Maps) -> list[str]:
    """The blocks that the chosen word chooses, by their words."""
    if not maps.run.blocks:
        return []
    places = np.flatnonzero(maps.run.tensors["chosen_E"][0, maps.query])
    return [entries(maps.run)[place] for place in places]
