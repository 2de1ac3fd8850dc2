"""Take times of every way, at sizes that this machine can run.

Each piece is short, waits for its turn in the queue and is kept; between two pieces a reader can
stop. The public call is timed, after a first one that estimates its memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from mla_engine import costs, timing
from mla_engine.costs import Cost
from ui.engine import queue, shared_cache
from ui.engine.device import DEVICE
from ui.parts.measure import DTYPE, machine
from ui.parts.ways import Way

MOST_HEADS = 4 if DEVICE == "cpu" else 128
MOST_BYTES = 2**26  # of weights or of a cache
MOST_SECONDS = 0.02  # of one call by the model; it runs about four times


@dataclass(frozen=True)
class Trial:
    """One way at the sizes that are timed, a single sequence."""

    way: Way
    decoding: bool
    heads: int
    context: int
    queries: int

    def cost(self) -> Cost:
        """Return what the model says of exactly these sizes."""
        given = {"heads": range(self.heads), "dtype_bytes": DTYPE.itemsize}
        if not self.decoding:
            return costs.prefill(self.way.config, self.context, self.way.form, **given)
        given |= {"cache": self.way.cache, "new_tokens": self.queries}
        return costs.decode(self.way.config, self.context, self.way.form, **given)


def trials(ways: Mapping[str, Way], decoding: bool, context: int, queries: int) -> dict[str, Trial]:
    """Return every way, with heads, context and queries halved until the machine can run all.

    All ways get equal sizes, so that their times compare.
    """
    heads = min(MOST_HEADS, *(way.config.n_heads for way in ways.values()))
    queries = min(queries, context)

    def tried() -> dict[str, Trial]:
        return {code: Trial(w, decoding, heads, context, queries) for code, w in ways.items()}

    while heads > 1 and max(t.cost().weight_bytes for t in tried().values()) > MOST_BYTES:
        heads = (heads + 1) // 2
    while context > 1 and not all(map(_affordable, tried().values())):
        context //= 2
        queries = min(queries, context)
    return tried()


def _affordable(trial: Trial) -> bool:
    cost = trial.cost()
    weights_aside = cost.total_bytes - cost.weight_bytes
    return weights_aside <= MOST_BYTES and machine().seconds(cost) <= max(
        MOST_SECONDS, 1.5 * cost.weight_bytes / machine().bytes_per_second
    )


@shared_cache.cached
def seconds(trial: Trial) -> float:
    """Return the time that one call takes here.

    Raises:
        MemoryBudgetError, FullError: in the engine's words, or too much waits to be run.
    """
    way, tokens = trial.way, trial.queries if trial.decoding else trial.context
    with queue.turn(whole=True), torch.inference_mode():
        layer = timing.layer_of_zeros(way.config, range(trial.heads), DTYPE, DEVICE)
        h = torch.zeros(1, tokens, way.config.d_model, dtype=DTYPE, device=DEVICE)
        if not trial.decoding:
            return timing.seconds(timing.prefill(layer, h, way.form), DEVICE)
        cache = timing.cache_of_zeros(layer, trial.context, tokens, way.cache)
        return timing.seconds(timing.step(layer, h, cache, way.form), DEVICE)


@shared_cache.cached
def kernel_seconds(trial: Trial) -> float | None:
    """Return the time of the kernel alone at the sizes of absorbed MLA; None where none runs.

    Raises:
        FullError: too much waits to be run.
    """
    if DEVICE == "cpu" or not trial.decoding:
        return None
    sizes = trial.heads, trial.context + trial.queries, trial.queries
    with queue.turn(whole=True), torch.inference_mode():
        run = timing.kernel_step(trial.way.config, *sizes, DTYPE, DEVICE)
        return run and timing.seconds(run, DEVICE)
