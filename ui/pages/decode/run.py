"""Real decoding: each way keeps its cache, which holds every token up to the furthest step.

Every piece of work is short and waits for its turn: some tokens, then the step shown. Of a step
the time is that of its formulas alone: the public call runs once before, with its checks and its
estimate of the memory, which takes longer than a small step itself.
"""

from dataclasses import dataclass, field

import numpy as np
import streamlit as st
import torch

from mla_engine import mechanisms, timing
from mla_engine.studies.agreement import relative_error
from ui.engine import layers, queue
from ui.engine.real_layer import Origin, RealLayer
from ui.parts.ways import Way

CHUNK = 64  # tokens in a piece before the step
WIDTH = 4  # bytes a number: float32
ROOM = 32  # steps after the prompt


@dataclass(frozen=True)
class Step:
    """One token's step: its time, what the run's cache holds after it, the output's error."""

    seconds: float
    held_bytes: int
    difference: float
    u: np.ndarray = field(repr=False, compare=False)  # [d]


class Runner:
    """One way on its way through the tokens."""

    def __init__(
        self, way: Way, heads: int, prompt: int, origin: Origin, inputs: RealLayer | None = None
    ) -> None:
        self.way, self.prompt = way, prompt
        self.layer = layers.layer(way.config, origin, tuple(range(heads)))
        words = tuple(str(n) for n in range(prompt + ROOM))
        self.h = layers.hidden(words, inputs or origin, way.config.d_model)
        kind = mechanisms.of(way.config).cache(way.cache)
        self.cache = self.layer.empty_cache(kind, 1, self.h.shape[1])
        self.steps: dict[int, Step] = {}

    def pieces_to(self, step: int) -> int:
        """How many pieces are missing until this step is done, from 1 to ROOM."""
        left = max(0, self.prompt + step - 1 - self.cache.length)
        return -(-left // CHUNK) + (step not in self.steps)

    def advance(self, step: int) -> None:
        """The next piece towards a step: some of the tokens before it, or the step itself.

        Raises:
            MemoryBudgetError: in the engine's words.
        """
        with queue.turn(), torch.inference_mode():
            held, before = self.cache.length, self.prompt + step - 1
            if held < before:
                part = self.h[:, held : min(held + CHUNK, before)]
                _, self.cache = self.layer.decode(part, self.cache)
            elif step not in self.steps:
                self.steps[step] = self._step(before)

    def _step(self, before: int) -> Step:
        """The token after `before` others; its row of the cache is written again, the same."""
        new = self.h[:, before : before + 1]
        run = timing.step(self.layer, new, self.cache.rewind(before), self.way.form)
        seconds = timing.seconds(run, layers.DEVICE)
        trace, cache = run()
        if before == self.cache.length:
            self.cache = cache
        self.cache.rewind(self.cache.length)  # its last rows are its own again
        whole = self.layer(self.h[:, : before + 1], queries=slice(before, before + 1))
        error = float(relative_error(trace.u, whole.u))
        return Step(seconds, cache.nbytes, error, layers.to_numpy(trace.u[0, 0]))


@st.cache_resource(max_entries=18, show_spinner=False)
def runner(way: Way, heads: int, prompt: int, origin: Origin, inputs: RealLayer | None) -> Runner:
    """The runner that all sessions share; it reads a real layer's inputs, or those of the seed.

    Raises:
        MemoryBudgetError: in the engine's words.
    """
    return Runner(way, heads, prompt, origin, inputs)
