"""What the compute page compares: every variant and form, its cost, and where bounds change."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mla_engine import PRESETS, LatentConfig, costs
from mla_engine.costs import GPUS, Cost, Device
from ui.parts import measure
from ui.parts.ways import Way, ways
from ui.settings.parsers import SMALL
from ui.settings.state import settings

THIS = "this"  # the machine that the app runs on
LENGTHS = tuple(2**n for n in range(7, 21))
QUERIES = tuple(2**n for n in range(11))
BATCHES = tuple(2**n for n in range(11))
DOUBLINGS = tuple(2**n for n in range(13))


@dataclass(frozen=True)
class Scene:
    """The sizes and the reader's choices."""

    ways: dict[str, Way]
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

    def cost(self, code: str, *, batch: int | None = None, heads: range | None = None) -> Cost:
        """Cost of one layer in this way."""
        way = self.ways[code]
        given = {"batch": batch or self.batch, "heads": heads}
        given["dtype_bytes"] = self.device.dtype_bytes
        if not self.decoding:
            return costs.prefill(way.config, self.context, way.form, **given)
        given |= {"cache": way.cache, "new_tokens": self.queries}
        return costs.decode(way.config, self.context, way.form, **given)

    def places(self) -> dict[str, tuple[float, float]]:
        """Code -> FLOP per byte, and the FLOP/s that the device can reach there."""
        at = {code: self.cost(code).flops_per_byte for code in self.ways}
        return {code: (x, self.device.attainable(x)) for code, x in at.items()}

    def seconds(self, code: str) -> float:
        """The least time of all layers on the device."""
        return self.layers * self.device.seconds(self.cost(code))

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

    def expansion_flops(self) -> tuple[np.ndarray, np.ndarray]:
        """FLOP of one layer, absorbed and expanded each step, over DOUBLINGS query tokens."""
        return tuple(
            np.array([self._step_flops(form, n) for n in DOUBLINGS])
            for form in ("absorbed", "expanded")
        )

    def expansion_crossing(self) -> tuple[int, float] | None:
        """Query tokens from which on expanding needs fewer FLOP, and these."""
        queries = costs.expanding_wins(self.latent, self.context)
        return queries and (queries, self._step_flops("expanded", queries))

    def _step_flops(self, form: str, queries: int) -> int:
        return costs.decode(self.latent, self.context, form, new_tokens=queries).total_flops

    def intensities(self) -> np.ndarray:
        """FLOP per byte of absorbed attention alone over DOUBLINGS heads x query tokens."""
        return np.array(
            [
                costs.attention_intensity(self.latent, self.context, n, self.device)
                for n in DOUBLINGS
            ]
        )


def layers() -> int:
    """Attention layers of the chosen model, 1 for a layer or our own sizes."""
    s = settings()
    if s["cost_scope"] == "layer" or s["preset"] == SMALL:
        return 1
    preset = PRESETS[s["preset"]]
    return preset.n_caches or preset.n_layers


def scene() -> Scene:
    """The scene of the present settings.

    Raises:
        ValueError: sizes that no layer can have.
    """
    s = settings()
    decoding = s["cost_phase"] == "decode"
    device = measure.machine() if s["cost_gpu"] == THIS else GPUS[s["cost_gpu"]]
    sizes = (s["cost_context"], s["cost_queries"], s["cost_batch"])
    return Scene(ways(decoding), device, decoding, *sizes, layers())


def table(shown: Scene) -> pd.DataFrame:
    """Every cost as numbers, for the download."""
    rows = []
    for code, way in shown.ways.items():
        cost = shown.cost(code)
        rows.append(
            {
                "way": code,
                "phase": "decode" if shown.decoding else "prefill",
                "context": shown.context,
                "query_tokens": shown.queries if shown.decoding else shown.context,
                "batch": shown.batch,
                "heads": way.config.n_heads,
                "layers": shown.layers,
                "flop": shown.layers * cost.total_flops,
                "attention_flop": shown.layers * cost.attention_flops,
                **{f"{part}_bytes": n[len(rows)] for part, n in shown.bytes_by_part().items()},
                "flop_per_byte": cost.flops_per_byte,
                "device": shown.device.name,
                "ridge_flop_per_byte": shown.device.ridge,
                "least_seconds": shown.seconds(code),
            }
        )
    return pd.DataFrame(rows)


def expansion_table(shown: Scene) -> pd.DataFrame:
    """The first crossing's two lines."""
    absorbed, expanded = shown.expansion_flops()
    columns = {"query_tokens": DOUBLINGS, "absorbed_flop": absorbed, "expanded_flop": expanded}
    return pd.DataFrame(columns)


def intensity_table(shown: Scene) -> pd.DataFrame:
    """The second crossing's two lines."""
    columns = {"heads_x_query_tokens": DOUBLINGS, "flop_per_byte": shown.intensities()}
    return pd.DataFrame(columns).assign(ridge_flop_per_byte=shown.device.ridge)
