"""What the compute page compares: every variant and form, its cost, and where bounds change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from mla_engine import LatentConfig, costs, mechanisms
from mla_engine.costs import GPUS, Cost, Device
from ui.engine import shared_cache
from ui.engine.model import Model, present
from ui.parts import measure
from ui.parts.ways import INDEXED, MOST, SUCCESSORS, Way, ways
from ui.settings.page import Note
from ui.settings.sizes import longest
from ui.settings.state import at_most, settings

FLOPS = attrgetter("total_flops")
THIS = "this"  # the machine that the app runs on
DOUBLINGS = tuple(2**n for n in range(13))
CONTEXTS = tuple(2**n for n in range(8, 18))  # over which choosing keys is set against all

# Each is a search or a curve over many calls: found once for all visitors.
attention_intensity = shared_cache.cached(costs.attention_intensity)
attention_turns = shared_cache.cached(costs.attention_turns)
expanding_wins = shared_cache.cached(costs.expanding_wins)


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
    def phase(self) -> str:
        """What is counted: "decode" or "prefill"."""
        return "decode" if self.decoding else "prefill"

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

    def call(self, code: str) -> tuple:
        """On what the FLOP of one layer depend for each sequence, apart from the context."""
        return self.ways[code], self.decoding, self.queries

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

    @property
    def later(self) -> tuple[str, ...]:
        """The ways that came after MLA."""
        every = mechanisms.ways()
        key = {code: mechanisms.of_variant(every[code].variant).key for code in self.ways}
        return tuple(code for code in self.ways if key[code] in SUCCESSORS)

    @property
    def shown(self) -> str:
        """The way of the chosen variant, of expanded MLA that of the phase."""
        return self.model.variant if self.model.variant in self.ways else self.dense

    def over_contexts(self, work: Callable[[Cost], float]) -> dict[str, np.ndarray]:
        """Of one layer in MLA and in each way after it, over CONTEXTS tokens."""
        return {
            code: np.array([work(self.cost(code, tokens=n)) for n in CONTEXTS])
            for code in (self.dense, *self.later)
        }

    def entry_bytes(self, code: str) -> float:
        """What each token adds to a way's cache in one layer, on average."""
        way = self.ways[code]
        return costs.cache_bytes_per_token(way.config, self.device.dtype_bytes, way.cache)

    def lighter_from(self, code: str) -> int | None:
        """Tokens from which on a way takes fewer FLOP than MLA that reads every key."""
        return lighter(self, code, self.dense)

    def intensities(self) -> np.ndarray:
        """FLOP per byte of absorbed attention alone over DOUBLINGS heads x query tokens."""
        at = [
            attention_intensity(self.latent, self.context, rows, self.device) for rows in DOUBLINGS
        ]
        return np.array(at)


@shared_cache.cached(key=lambda view, one, other: (*map(view.call, (one, other)), one, other))
def lighter(view: View, one: str, other: str) -> int | None:
    """Tokens from which on one way takes fewer FLOP than another, found once for all visitors."""
    costs_of = [partial(_at, view, code) for code in (one, other)]
    configs = [view.ways[code].config for code in (one, other)]
    return costs.lighter_from(*costs_of, configs, FLOPS, MOST)


def _at(view: View, code: str, tokens: int) -> Cost:
    return view.cost(code, tokens=tokens)


def cache_bytes(cost: Cost) -> float:
    """What a call reads of caches, and what it writes into them."""
    return cost.cache_read_bytes + cost.cache_written_bytes


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
    layers = s["cost_layers"] if s["cost_scope"] == "model" else 1
    return View(model, every, s["cost_gpu"], device, decoding, *sizes, layers)
