"""What the compute page compares: every variant and form, its cost, and where bounds change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from mla_engine import PRESETS, LatentConfig, costs
from mla_engine.costs import GPUS, Cost, Device
from ui.engine import kept
from ui.engine.model import Model, present
from ui.parts import measure
from ui.parts.ways import INDEXED, MOST, Way, ways
from ui.settings.page import Note
from ui.settings.parsers import SMALL
from ui.settings.sizes import longest
from ui.settings.state import at_most, settings

FLOPS = attrgetter("total_flops")
THIS = "this"  # the machine that the app runs on
DOUBLINGS = tuple(2**n for n in range(13))
CONTEXTS = tuple(2**n for n in range(8, 18))  # over which choosing keys is set against all

# Each is a search or a curve over many calls: found once for all visitors.
attention_intensity = kept.keep(costs.attention_intensity)
attention_turns = kept.keep(costs.attention_turns)
expanding_wins = kept.keep(costs.expanding_wins)


@dataclass(frozen=True)
class View:
    """The sizes and the reader's choices; `gpu` is the device's key, or THIS."""

    model: Model
    ways: Mapping[str, Way]
    gpu: str
    device: Device
    decoding: bool
    context: int
    queries: int
    batch: int
    layers: int

    @property
    def latent(self) -> LatentConfig:
        """MLA at the present sizes."""
        return self.ways["mla_absorbed"].config

    def cost(self, code: str, *, batch: int | None = None, tokens: int | None = None) -> Cost:
        """Cost of one layer in this way, with the present batch and context unless told others."""
        way, tokens = self.ways[code], tokens or self.context
        given = {"batch": batch or self.batch, "dtype_bytes": self.device.dtype_bytes}
        if not self.decoding:
            return costs.prefill(way.config, tokens, way.form, **given)
        given |= {"cache": way.cache, "new_tokens": self.queries}
        return costs.decode(way.config, tokens, way.form, **given)

    def places(self) -> dict[str, tuple[float, float]]:
        """Code -> FLOP per byte, and the FLOP/s that the device can reach there."""
        at = {code: self.cost(code).flops_per_byte for code in self.ways}
        return {code: (x, self.device.attainable(x)) for code, x in at.items()}

    def seconds(self, code: str) -> float:
        """The least time of all layers on the device."""
        return self.layers * self.device.seconds(self.cost(code))

    def bytes_in_all(self) -> dict[str, float]:
        """Code -> bytes of all layers."""
        return {code: self.layers * self.cost(code).total_bytes for code in self.ways}

    def bytes_by_part(self) -> dict[str, list[float]]:
        """Part -> bytes of all layers in every way."""
        all_costs = [self.cost(code) for code in self.ways]
        parts = {
            "weights": [c.weight_bytes for c in all_costs],
            "cache": [c.cache_read_bytes + c.cache_written_bytes for c in all_costs],
            "up_projected": [c.up_projected_bytes for c in all_costs],
            "hidden": [c.activation_bytes for c in all_costs],
        }
        return {part: [self.layers * n for n in numbers] for part, numbers in parts.items()}

    def turning_batch(self, code: str) -> int | None:
        """Sequences at once from which on this way is compute-bound."""
        return costs.step_turns(lambda n: self.cost(code, batch=n), self.device)

    def turning_rows(self) -> int | None:
        """Heads x query tokens from which on absorbed attention alone is compute-bound."""
        return attention_turns(self.latent, self.context, self.device)

    @property
    def rows(self) -> int:
        """Heads x query tokens of the present step."""
        return self.latent.n_heads * self.queries

    def expansion_flops(self) -> tuple[np.ndarray, np.ndarray]:
        """FLOP of one layer, absorbed and expanded each step, over DOUBLINGS query tokens."""
        return tuple(
            np.array([self._step_flops(form, n) for n in DOUBLINGS])
            for form in ("absorbed", "expanded")
        )

    def expansion_crossing(self) -> tuple[int, float] | None:
        """Query tokens from which on expanding needs fewer FLOP, and these."""
        queries = expanding_wins(self.latent, self.context)
        return queries and (queries, self._step_flops("expanded", queries))

    def expansion_by_clock(self) -> int | None:
        """Query tokens from which on expanding takes less time on the device."""
        return expanding_wins(self.latent, self.context, self.device, batch=self.batch)

    def _step_flops(self, form: str, queries: int) -> int:
        return costs.decode(self.latent, self.context, form, new_tokens=queries).total_flops

    @property
    def dense(self) -> str:
        """The way that reads all keys where DSA reads chosen ones."""
        return "mla_absorbed" if self.decoding else "mla_each"

    def choosing_flops(self) -> tuple[np.ndarray, np.ndarray]:
        """FLOP of one layer, reading all keys and chosen ones, over CONTEXTS tokens."""
        return tuple(
            np.array([self.cost(code, tokens=n).total_flops for n in CONTEXTS])
            for code in (self.dense, INDEXED)
        )

    def indexer_flops(self) -> int:
        """FLOP of the indexer in one layer: what MLA does not do."""
        of_mla = self.cost("mla_absorbed").step_flops
        steps = self.cost(INDEXED).step_flops.items()
        return sum(flops for name, flops in steps if name not in of_mla)

    def choosing_wins(self, work: Callable[[Cost], float] = FLOPS) -> int | None:
        """Tokens from which on choosing keys takes less work than reading all."""

        def wins(tokens: int) -> bool:
            chosen, every = (self.cost(code, tokens=tokens) for code in (INDEXED, self.dense))
            return work(chosen) < work(every)

        return costs.first_whole(wins, MOST)

    def intensities(self) -> np.ndarray:
        """FLOP per byte of absorbed attention alone over DOUBLINGS heads x query tokens."""
        at = [
            attention_intensity(self.latent, self.context, rows, self.device) for rows in DOUBLINGS
        ]
        return np.array(at)


def mend() -> list[Note]:
    """Bring the context to the length that the model was published for; notes as `at_most`."""
    return at_most(cost_context=longest(settings()["preset"]))


def view() -> View:
    """What the present settings stand for.

    Raises:
        ValueError: sizes that no layer can have, or a machine that cannot be measured now.
    """
    s, model = settings(), present()
    decoding = s["cost_phase"] == "decode"
    every = ways(model, decoding=decoding)
    device = measure.machine() if s["cost_gpu"] == THIS else GPUS[s["cost_gpu"]]
    sizes = (s["cost_context"], s["cost_queries"], s["cost_batch"])
    layers = _layers(model.preset) if s["cost_scope"] == "model" else 1
    return View(model, every, s["cost_gpu"], device, decoding, *sizes, layers)


def _layers(preset: str) -> int:
    """Attention layers of a published model, 1 for our own sizes."""
    if preset == SMALL:
        return 1
    return PRESETS[preset].n_caches
