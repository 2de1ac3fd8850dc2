"""Real decoding: each way keeps its cache, which holds every token up to the furthest step.

Every piece of work is short and waits for its turn: some tokens, then the step shown. A runner
keeps only its cache; weights and inputs are asked for piece by piece. Of a step
the public call is timed, after a first one: that estimates the memory, which takes longer than
a small step itself.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from mla_engine import costs, mechanisms, timing
from mla_engine.cache import Cache
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.studies.agreement import relative_error
from ui.engine import queue, shared_cache
from ui.engine.device import DEVICE
from ui.parts.ways import Way, Ways
from ui.sources import Checkpoint, Source, layers

CHUNK = 64  # tokens in a piece before the step
WIDTH = 4  # bytes a number: float32
ROOM = 32  # steps after the prompt
MOST_SHARED = 24 * 2**20  # weights of one head that are drawn beside those of all other ways
AUTOMATIC_ELEMENTS = 5 * 2**20  # weights of MHA that are drawn in a moment
Words = tuple[str, ...]


def runnable(ways: Ways) -> Ways:
    """Return the ways without those after MLA that take long for one head: they share weights."""
    return {
        code: way
        for code, way in ways.items()
        if not costs.kept_parts(way.config, 1, WIDTH)
        or costs.parameters(way.config, range(1)) <= MOST_SHARED
    }


def most_heads(ways: Ways, prompt: int) -> int:
    """Return how many heads of every way the server can keep at once."""
    every = runnable(ways).values()
    heads = range(1, min(way.config.n_heads for way in every) + 1)
    most = shared_cache.page_budget_bytes()
    return max(1, bisect_right(heads, most, key=lambda n: n_bytes(every, n, prompt)))


def n_bytes(ways: Iterable[Way], heads: int, prompt: int) -> int:
    """Return the bytes of the layers, inputs and caches of all these ways together."""
    chosen, tokens = range(heads), prompt + ROOM
    configs = {way.config for way in ways}
    kept = (costs.held_bytes(way.config, tokens, WIDTH, way.cache, chosen) for way in ways)
    inputs = WIDTH * tokens * max(config.d_model for config in configs)
    return inputs + int(sum(kept)) + sum(layers.n_bytes(config, chosen) for config in configs)


def automatic_heads(mha: AttentionConfig) -> int:
    """Return as many heads as are drawn in a moment, halved from all of them."""
    heads = mha.n_heads
    while heads > 1 and costs.parameters(mha, range(heads)) > AUTOMATIC_ELEMENTS:
        heads = (heads + 1) // 2
    return heads


@dataclass(frozen=True)
class Step:
    """One token's step: the time that it took, and how far its output is from the whole's."""

    seconds: float
    difference: float


class Runner:
    """One way on its way through the tokens: `words`, of which the first are the prompt."""

    def __init__(
        self,
        way: Way,
        heads: int,
        prompt: int,
        words: Words,
        source: Source,
        inputs: Checkpoint | None = None,
    ) -> None:
        self.way, self.prompt, self.heads = way, prompt, tuple(range(heads))
        self.words, self.source, self.inputs = words, source, inputs or source
        kind, tokens = mechanisms.of(way.config).cache(way.cache), self.h.shape[1]
        self.cache = self.first = self.layer.empty_cache(kind, 1, tokens)
        self.steps: dict[int, Step] = {}

    @property
    def layer(self) -> AttentionLayer:
        """The layer of its heads."""
        return layers.layer(self.way.config, self.source, self.heads)

    @property
    def h(self) -> torch.Tensor:
        """The inputs of every token up to the last step, h [1,t,d]."""
        return self.inputs.hidden(self.words, self.way.config.d_model)

    def pieces_to(self, step: int) -> int:
        """Return how many pieces are missing until this step is done, from 1 to ROOM."""
        if step in self.steps:
            return 0
        before = self.prompt + step - 1
        left = max(0, before - self._towards(before).length)
        return -(-left // CHUNK) + 1

    def _towards(self, before: int) -> Cache:
        """Return the cache to write on from: one that cannot go back begins at the first token."""
        goes_back = self.cache.grows_evenly and not self.cache.fixed
        return self.cache if goes_back or self.cache.length <= before else self.first

    def advance(self, step: int) -> None:
        """Do the next piece towards a step: some of the tokens before it, or the step itself.

        Raises:
            MemoryBudgetError: in the engine's words.
        """
        layers.bring(self.way.config, self.source, self.heads)
        with queue.turn(whole=True), torch.inference_mode():  # the step is timed
            layer, h = self.layer, self.h
            before = self.prompt + step - 1
            self.cache = self._towards(before)
            held = self.cache.length
            if held < before:
                part = h[:, held : min(held + CHUNK, before)]
                _, self.cache = layer.decode(part, self.cache)
            elif step not in self.steps:
                self.steps[step] = self._step(layer, h, before)

    def _step(self, layer: AttentionLayer, h: torch.Tensor, before: int) -> Step:
        """Run the token after `before` others; its row of the cache is written again, the same."""
        new = h[:, before : before + 1]
        run = timing.step(layer, new, self.cache.rewind(before), self.way.form)
        seconds = timing.seconds(run, DEVICE)
        trace, cache = run()
        if before == self.cache.length:
            self.cache = cache
        self.cache.rewind(self.cache.length)  # its last rows are its own again
        error = relative_error(trace.u, _whole(layer, h[:, : before + 1], cache))
        return Step(seconds, float(error))


def _whole(layer: AttentionLayer, h: torch.Tensor, cache: Cache) -> torch.Tensor:
    """Return the last output of a sequence computed at once [b,1,d]; a state needs every query."""
    last = slice(h.shape[1] - 1, h.shape[1])
    return layer(h).u[:, last] if cache.fixed else layer(h, queries=last).u


@shared_cache.cached
def runner(
    way: Way, heads: int, prompt: int, words: Words, source: Source, inputs: Checkpoint | None
) -> Runner:
    """Return the runner that all sessions share; it reads a real layer's inputs, or the words'.

    Raises:
        MemoryBudgetError: in the engine's words.
    """
    return Runner(way, heads, prompt, words, source, inputs)
