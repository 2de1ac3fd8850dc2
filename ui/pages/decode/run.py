"""Real decoding: each way keeps its cache, which holds every token up to the furthest step.

Every piece of work is short and waits for its turn: some tokens, then the step shown. A runner
keeps its cache alone; weights and inputs are asked for piece by piece. Of a step
the public call is timed, after a first one: that estimates the memory, which takes longer than
a small step itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from mla_engine import costs, mechanisms, timing
from mla_engine.cache import Cache
from mla_engine.language_model import generate
from mla_engine.layer import AttentionLayer
from mla_engine.studies.agreement import relative_error
from ui.engine import layers, queue, shared_cache, trained
from ui.engine.layers import Origin
from ui.engine.real_layer import RealLayer
from ui.parts.ways import Way

CHUNK = 64  # tokens in a piece before the step
WIDTH = 4  # bytes a number: float32
ROOM = 32  # steps after the prompt
Words = tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """One token's step: its time, what the run's cache holds after it, the output's error."""

    seconds: float
    held_bytes: int
    difference: float


class Runner:
    """One way on its way through the tokens: `words`, of which the first are the prompt."""

    def __init__(
        self,
        way: Way,
        heads: int,
        prompt: int,
        words: Words,
        origin: Origin,
        inputs: RealLayer | None = None,
    ) -> None:
        self.way, self.prompt, self.heads = way, prompt, tuple(range(heads))
        self.words, self.origin, self.inputs = words, origin, inputs or origin
        kind, tokens = mechanisms.of(way.config).cache(way.cache), self.h.shape[1]
        self.cache = self.first = self.layer.empty_cache(kind, 1, tokens)
        self.steps: dict[int, Step] = {}
        self.u = np.zeros((ROOM, way.config.d_model), np.float32)  # of every step [step,d]

    @property
    def layer(self) -> AttentionLayer:
        """The layer of its heads."""
        return layers.layer(self.way.config, self.origin, self.heads)

    @property
    def h(self) -> torch.Tensor:
        """Return the inputs of every token up to the last step."""
        return layers.hidden(self.words, self.inputs, self.way.config.d_model)

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
        """The next piece towards a step: some of the tokens before it, or the step itself.

        Raises:
            MemoryBudgetError: in the engine's words.
        """
        layers.bring(self.way.config, self.origin, self.heads)
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
        """The token after `before` others; its row of the cache is written again, the same."""
        new = h[:, before : before + 1]
        run = timing.step(layer, new, self.cache.rewind(before), self.way.form)
        seconds = timing.seconds(run, layers.DEVICE)
        trace, cache = run()
        if before == self.cache.length:
            self.cache = cache
        self.cache.rewind(self.cache.length)  # its last rows are its own again
        error = float(relative_error(trace.u, _whole(layer, h[:, : before + 1], cache)))
        self.u[before - self.prompt] = layers.to_numpy(trace.u[0, 0])
        return Step(seconds, cache.nbytes, error)


def _whole(layer: AttentionLayer, h: torch.Tensor, cache: Cache) -> torch.Tensor:
    """The last output of a sequence computed at once [b,1,d]; a state asks for every token's."""
    last = slice(h.shape[1] - 1, h.shape[1])
    return layer(h).u[:, last] if cache.fixed else layer(h, queries=last).u


def n_bytes(ways: Iterable[Way], heads: int, prompt: int) -> int:
    """Return the bytes of the layers, inputs and caches of all these ways together."""
    chosen, tokens = range(heads), prompt + ROOM
    configs = {way.config for way in ways}
    kept = (costs.held_bytes(way.config, tokens, WIDTH, way.cache, chosen) for way in ways)
    inputs = WIDTH * tokens * max(config.d_model for config in configs)
    return inputs + int(sum(kept)) + sum(layers.n_bytes(config, chosen) for config in configs)


@shared_cache.cached
def runner(
    way: Way, heads: int, prompt: int, words: Words, origin: Origin, inputs: RealLayer | None
) -> Runner:
    """The runner that all sessions share; it reads a real layer's inputs, or those of the words.

    Raises:
        MemoryBudgetError: in the engine's words.
    """
    return Runner(way, heads, prompt, words, origin, inputs)


@shared_cache.cached(anywhere=True)
def written(code: str, when: int, sentence: Words, steps: int) -> Words:
    """The words that a trained model writes after a sentence, the likeliest ones, by its cache.

    Args:
        code: the model's variant.
        when: its file was written, so that a newer one writes again.
        sentence: what it reads first.
        steps: how many words.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    model = trained.load(code).model
    prompt = torch.tensor([model.config.tokens(" ".join(sentence))])
    with queue.turn():
        tokens = [int(step.token) for step in generate(model, prompt, steps)]
    return tuple(model.config.words[token] for token in tokens)
