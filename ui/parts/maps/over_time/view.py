"""What is shown of a state: after each word, what a word puts in, erases and keeps."""

import numpy as np
import torch

from mla_engine.delta import forms
from ui.engine import shared_cache
from ui.engine.layers import to_numpy
from ui.parts.maps.run import WIDTH, Run
from ui.parts.maps.view import Maps

ROWS = 16  # words whose writes are drawn, up to the chosen one


def field(maps: Maps, code: str) -> np.ndarray:
    """A field of the trace of the chosen head, a row a word [t] or [t,k]."""
    return maps.run.tensors[code][0, :, maps.place]


def states(maps: Maps) -> np.ndarray:
    """The state of the chosen head after each word [t,k,v]."""
    return _states(maps.run, maps.place)


@shared_cache.cached
def _states(run: Run, place: int) -> np.ndarray:
    rows = [torch.tensor(run.tensors[code][:, :, place]) for code in ("k_D", "a", "written")]
    shared_cache.evict_for(WIDTH * 2 * rows[0].numel() * rows[2].shape[-1])
    empty = rows[0].new_zeros(1, rows[0].shape[-1], rows[2].shape[-1])
    found = to_numpy(forms.states(run.layer, *rows, empty)[0])
    found.flags.writeable = False
    return found


def amounts(maps: Maps) -> tuple[np.ndarray, np.ndarray]:
    """The lengths of what each word puts into the state, and of what it erases there [t]."""
    erased = field(maps, "erased")
    put = field(maps, "written") + erased
    return np.linalg.norm(put, axis=-1), np.linalg.norm(erased, axis=-1)


def misfit(maps: Maps) -> float:
    """How far the values, weighed as the map has it, are at most from what was read of the state.

    Over all words of the text and channels of the head.
    """
    read = maps.attention[maps.place].astype(np.float64) @ field(maps, "v_D")
    return float(np.abs(read - field(maps, "o")).max())


def shown(maps: Maps) -> range:
    """The words whose writes are drawn: the last ones up to the chosen one."""
    return range(max(0, maps.query + 1 - ROWS), maps.query + 1)
