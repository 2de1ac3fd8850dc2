"""What the page says of a map whose words are chosen block by block."""

import numpy as np

from ui.parts.maps.columns import entries
from ui.parts.maps.view import Maps
from ui.parts.maps.words import shown
from ui.words.numbers import count
from ui.words.text import sentences, t


def lead(maps: Maps) -> tuple[str, str]:
    """How many words the chosen word reads in place of all up to it.

    Of a text too short for it to read fewer, how many it reads of any.
    """
    said, config = facts(maps), maps.run.config
    fewer = maps.mask[maps.query].sum() <= maps.query
    of_own = "" if (maps.query + 1) % config.pooling else "_full"
    number = t(f"attention_maps.{'reads_words' if fewer else 'short_blocks'}", **said)
    return number, t(f"attention_maps.line_blocks{of_own}", **said)


def look(maps: Maps) -> str:
    """What the patterns of hidden cells mean."""
    if not maps.run.blocks:
        return t("attention_maps.look_no_block", **facts(maps))
    said = t("attention_maps.look_blocks", **facts(maps))
    drawn = isinstance(maps.run.origin, int)
    return sentences((said, t("attention_maps.noise_blocks"))) if drawn else said


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
