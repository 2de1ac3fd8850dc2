"""The call that the compute page counts, its cost in every variant and form, and its controls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from types import SimpleNamespace

import streamlit as st

from mla_engine import LatentConfig, costs, mechanisms
from mla_engine.costs import GPUS, Cost, Device
from ui.engine import shared_cache
from ui.parts import measure
from ui.parts.control import control
from ui.parts.typed import number_control
from ui.parts.ways import MOST, Way, ways
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import SMALL, Setting, one_of, power_of_two, preset_of, whole
from ui.settings.shared import PUBLISHED
from ui.settings.sizes import longest, published
from ui.sources.model import Model, present
from ui.words.numbers import count
from ui.words.text import t

FLOPS = attrgetter("total_flops")
GROUPED = "mha", "gqa", "mqa"
THIS = "this"  # the machine that the app runs on
CONTEXT = 2**15
STEPS = tuple(2**n for n in range(7, 21))  # of the slider of the context
UP_TO_1024 = tuple(2**n for n in range(11))


def layers(preset: str) -> int:
    """Count the attentions of a model that keep a cache, 1 for our own sizes."""
    if preset == SMALL:
        return 1
    found = preset_of(published(preset))
    return found.n_caches or found.n_layers


def other_layers(preset: str) -> int:
    """Count the attentions of another kind that a model has, as windows beside full attention."""
    return 0 if preset == SMALL else sum(n for _, n in preset_of(published(preset)).beside)


SETTINGS = {
    "cost_phase": Setting("decode", one_of("decode", "prefill"), "segmented_control"),
    "cost_ways": Setting("four", one_of("four", "all"), "segmented_control"),
    "cost_scope": Setting("model", one_of("layer", "model"), "segmented_control"),
    "cost_layers": Setting(layers(PUBLISHED), whole(1, 1024), follows=layers),
    "cost_gpu": Setting(
        "h200",
        one_of(*GPUS, THIS),
        "selectbox",
        write=lambda key: t("compute.this_machine") if key == THIS else GPUS[key].name,
    ),
    "cost_context": Setting(
        CONTEXT,
        power_of_two(2**7, 2**20),
        "select_slider",
        follows=partial(longest, most=CONTEXT),
    ),
    "cost_queries": Setting(1, power_of_two(1, 2**10), "select_slider", options=UP_TO_1024),
    "cost_batch": Setting(32, power_of_two(1, 2**10), "select_slider", options=UP_TO_1024),
}


@dataclass(frozen=True)
class View:
    """The sizes, the ways that are compared, a device, and the page's own settings."""

    model: Model
    ways: Mapping[str, Way]
    device: Device
    chosen: SimpleNamespace

    @property
    def decoding(self) -> bool:
        """True if a decode step is counted."""
        return self.chosen.phase == "decode"

    @property
    def layers(self) -> int:
        """The number of layers that are counted."""
        return self.chosen.layers if self.chosen.scope == "model" else 1

    @property
    def latent(self) -> LatentConfig:
        """MLA at the present sizes."""
        return self.ways["mla_absorbed"].config

    @property
    def dense(self) -> str:
        """The way that reads all keys where DSA reads chosen ones."""
        return "mla_absorbed" if self.decoding else "mla_each"

    @property
    def later(self) -> tuple[str, ...]:
        """The ways that came after MLA."""
        of = {code: mechanisms.of(way.config) for code, way in self.ways.items()}
        return tuple(code for code in self.ways if of[code].after_mla)

    @property
    def shown(self) -> str:
        """The way of the chosen variant, of expanded MLA that of the phase."""
        return self.model.variant if self.model.variant in self.ways else self.dense

    @property
    def marked(self) -> Mapping[str, Way]:
        """The ways under the roof: MHA, GQA, MQA and MLA with the chosen one, or all of them."""
        first = (*GROUPED, self.dense, *(() if self.decoding else ("mla_absorbed",)), self.shown)
        every = self.chosen.ways == "all"
        return {code: way for code, way in self.ways.items() if every or code in first}

    def cost(self, code: str, *, batch: int | None = None, tokens: int | None = None) -> Cost:
        """Return the cost of one layer in this way, with the chosen batch and context or others."""
        way, tokens = self.ways[code], tokens or self.chosen.context
        given = {"batch": batch or self.chosen.batch, "dtype_bytes": self.device.dtype_bytes}
        if not self.decoding:
            return costs.prefill(way.config, tokens, way.form, **given)
        given |= {"cache": way.cache, "new_tokens": self.chosen.queries}
        return costs.decode(way.config, tokens, way.form, **given)

    def seconds(self, code: str) -> float:
        """Return the least time of all layers on the device."""
        return self.layers * self.device.seconds(self.cost(code))

    def lighter_from(self, code: str) -> int | None:
        """Return from how many tokens on a way takes fewer FLOP than MLA that reads every key."""
        return lighter(self, code, self.dense)

    def call(self, code: str) -> tuple:
        """Return what the FLOP of a sequence in one layer depend on, apart from the context."""
        return self.ways[code], self.decoding, self.chosen.queries


@shared_cache.cached(key=lambda view, one, other: (*map(view.call, (one, other)), one, other))
def lighter(view: View, one: str, other: str) -> int | None:
    """Return from how many tokens on one way takes fewer FLOP than another."""
    costs_of = [lambda tokens, code=code: view.cost(code, tokens=tokens) for code in (one, other)]
    configs = [view.ways[code].config for code in (one, other)]
    return costs.lighter_from(*costs_of, configs, FLOPS, MOST)


def mend() -> list[Note]:
    """Bring the context to the length that the model was published for; notes as `at_most`."""
    return state.at_most(cost_context=longest(state.settings()["preset"]))


def view() -> View:
    """Return what the present settings stand for.

    Raises:
        ValueError: sizes that no layer can have, or a machine that cannot be measured now.
    """
    chosen, model = state.chosen("compute"), present()
    every = ways(model, decoding=chosen.phase == "decode")
    device = measure.machine() if chosen.gpu == THIS else GPUS[chosen.gpu]
    return View(model, every, device, chosen)


def steps() -> list[int]:
    """Return the lengths that the slider of the context offers."""
    return [n for n in STEPS if n <= longest(state.settings()["preset"])]


def controls() -> None:
    """Draw phase, device, sizes of the call, and one layer or all of them."""
    s = state.settings()
    with st.container(horizontal=True, gap="medium"):  # one below the other where it is narrow
        control("cost_phase")
        control("cost_scope")
        control("cost_ways")
    number_control("cost_layers", disabled=s["cost_scope"] != "model")
    control("cost_gpu")
    control("cost_context", options=steps())
    control("cost_queries", disabled=s["cost_phase"] != "decode")
    control("cost_batch")


def or_never(number: int | None) -> str:
    """Write a number, or that there is none."""
    return t("compute.never") if number is None else count(number)


def plain(text: str) -> str:
    """Return a text without its colours, for alternative texts."""
    return re.sub(r"<[^>]+>|\*\*", "", text)
