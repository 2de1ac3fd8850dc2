"""What is said of a state."""

import numpy as np

from ui.parts import weights
from ui.parts.maps.over_time import view as states
from ui.parts.maps.view import Maps
from ui.parts.maps.words import facts as plain
from ui.parts.maps.words import shown
from ui.words.numbers import count, digits, number, signed
from ui.words.text import t

__all__ = ["facts", "plain", "say"]


def facts(maps: Maps) -> dict[str, str]:
    """What the sentences say, as Markdown."""
    config, word = maps.run.config, maps.query
    put, erased = states.amounts(maps)
    b = float(states.field(maps, "b")[word])
    rows = states.shown(maps)
    return shown(maps) | {
        "seen": count(word + 1),
        "rows": count(config.d_head),
        "columns": count(config.d_value),
        "state": count(config.d_head * config.d_value),
        "tail": count(config.conv_width - 1),
        "weight": signed(maps.share),
        "put": digits(float(put[word])),
        "erased": digits(float(erased[word])),
        "b": digits(b),
        "kept": digits(float(states.field(maps, "a")[word].mean())),
        "most": digits(float(np.abs(states.states(maps)[word]).max())),
        "misfit": number(states.misfit(maps)),
        "first": count(rows[0] + 1),
        "last": count(rows[-1] + 1),
    }


def say(maps: Maps, key: str) -> str:
    """A text of these pictures, marked where its weights are random."""
    return t(f"maps.state_{key}", **facts(maps)) + weights.mark(maps.run.origin)
