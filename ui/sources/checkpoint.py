"""A layer of a checkpoint with a text for it, as the reader chooses it.

Nothing of a stranger's checkpoint is opened here: workers do that, in processes of their own.
Pages that can show one say so in their `Page`; the others take no notice of the choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import streamlit as st
import torch

from kvcount.drawn import drawn
from kvcount.files.folder import REPOSITORY
from kvcount.refusals import Phrase, RefusedError
from mla_engine import mechanisms
from mla_engine.checkpoints import HiddenBytes, HiddenStates, Plan
from mla_engine.checkpoints.tokens import check_text
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.mechanism import Variant
from ui.engine import folders, shared_cache
from ui.engine.device import DEVICE
from ui.engine.workers import access, limits
from ui.engine.workers.access import Place
from ui.engine.workers.pool import ask
from ui.settings import state
from ui.settings.page import PAGES, Note, Page
from ui.settings.visit import visit
from ui.sources import whole
from ui.words.numbers import count, size
from ui.words.text import listed, safe, t

MOST_TOKENS, LONGEST_NAME = 512, 40  # so that maps can be drawn, and a title read
MOST_ASKED = 8  # layers among which one is looked for that the page shows


@dataclass(frozen=True)
class Checkpoint:
    """One attention layer of a checkpoint, and a text."""

    stays_here: ClassVar[bool] = True  # what strangers chose is read by this server alone

    location: str  # a repository of the Hub, or a folder on this server
    revision: str
    layer: int
    text: str = ""
    activations: str = ""  # a file with the layer's inputs, in the place of the text
    written: int = 0  # when its folder was, so that nothing is kept of another in its place

    @property
    def weights(self) -> "Checkpoint":
        """This layer without a text: what its weights depend on."""
        return replace(self, text="", activations="")

    def attention(
        self, config: AttentionConfig, heads: tuple[int, ...] | None, dtype: torch.dtype
    ) -> AttentionLayer:
        """Have a worker read the layer: no turn is needed, and none should be held meanwhile.

        Its weights may be asked for with another rotation, or without its latent norms.

        Raises:
            CheckpointError, MemoryBudgetError: as `checkpoints.load_attention`.
        """
        made = {"heads": heads, "dtype": dtype, "device": DEVICE}
        read = _attention(self, **made)
        if config == read.config:
            return read
        kind = mechanisms.of(config).layer
        wanted = dict(kind(config, heads=heads, device="meta").named_parameters())
        weights = {name: weight for name, weight in read.named_parameters() if name in wanted}
        return kind.of_weights(config, weights, **made)

    def hidden(self, words: Sequence[str], _d_model: int) -> torch.Tensor:
        """Return what enters the layer of so many of its text's tokens, h [1,t,d]."""
        return inputs(self).h[:, : len(words)].to(DEVICE, torch.float32)


def chosen() -> Checkpoint | None:
    """Return the layer that the settings name; None where it could not be read."""
    return None if visit().failed else named()


def named() -> Checkpoint | None:
    """Return the layer that the settings name, also where it cannot be read; None for no layer."""
    s, page = state.settings(), visit().page
    source = state.source()
    if not (source and page.checkpoints):
        return None
    text = s["text"] or t("checkpoint.example")
    written = folders.written(source)
    return Checkpoint(source, s["revision"], s["layer"], text, s["activations"], written)


def place(loaded: Checkpoint) -> Place:
    """Return what is to be read: a folder, or else a repository of the Hub.

    Raises:
        CheckpointError: what this server does not read.
    """
    name, revision = loaded.location.strip(), loaded.revision
    if REPOSITORY.fullmatch(name) and not folders.is_meant(name):
        return access.repository(name, revision)
    return access.folder(name, revision)


@shared_cache.cached(key=lambda where, _: where)
def _plan(where: Checkpoint, _place: Place) -> Plan:
    return ask("plan", _place, limits.of_looking(), layer=where.layer)


def plan(loaded: Checkpoint) -> Plan:
    """Return what the layer is and how many bytes it takes to read.

    Raises:
        CheckpointError: a layer that cannot be read, with the reason.
    """
    return _plan(loaded.weights, place(loaded))


@shared_cache.cached(key=lambda loaded, _: loaded)
def _inputs(loaded: Checkpoint, _place: Place) -> HiddenStates:
    file = str(folders.inside(loaded.activations)) if loaded.activations else None
    given = {"text": loaded.text, "layer": loaded.layer, "activations": file}
    return ask("inputs", _place, limits.of_reading(), **given)


def inputs(loaded: Checkpoint) -> HiddenStates:
    """Return what enters the layer: h [1,t,d] and its tokens by the model's own tokenizer.

    Raises:
        CheckpointError, MemoryBudgetError: no tokenizer, a text over the limit, a layer too deep.
    """
    check_text(loaded.text)
    where, first = place(loaded), replace(loaded, layer=0)
    if (own := whole.held(where.folder)) and not loaded.activations:
        return whole.inputs(own, loaded.text, loaded.layer)
    every = None
    if loaded.layer and not loaded.activations:
        every = inputs_of_layers.peek(first, plan(first).n_layers)
    if every is None:
        return _inputs(loaded, where)
    return replace(_inputs(first, where), h=every[loaded.layer], origin="prefix")


def _attention(
    loaded: Checkpoint,
    heads: tuple[int, ...] | None,
    dtype: torch.dtype,
    device: torch.device | str,
) -> AttentionLayer:
    if own := whole.held(place(loaded).folder):
        return whole.attention(own, loaded.layer, heads, dtype, device)
    given = {"layer": loaded.layer, "heads": heads, "dtype": str(dtype).removeprefix("torch.")}
    config, weights = ask("attention", place(loaded), limits.of_reading(), **given)
    return mechanisms.of(config).layer.of_weights(config, weights, heads, dtype, device)


def needed(loaded: Checkpoint) -> HiddenBytes:
    """Return what `inputs` of this layer and text reads and holds, known from headers.

    Raises:
        CheckpointError: as `inputs`.
    """
    check_text(loaded.text)
    given = {"text": loaded.text, "layer": loaded.layer}
    return ask("needed", place(loaded), limits.of_looking(), **given)


@shared_cache.cached
def inputs_of_layers(loaded: Checkpoint, n_layers: int) -> Mapping[int, torch.Tensor]:
    """Return what enters each of the first layers, h [1,t,d], by one run of the model's beginning.

    Once all layers of a text were read, `inputs` takes each from here.

    Raises:
        CheckpointError, MemoryBudgetError: as `inputs`.
    """
    check_text(loaded.text)
    if own := whole.held(place(loaded).folder):
        return whole.inputs_of_layers(own, loaded.text, n_layers)
    given = {"text": loaded.text, "n_layers": n_layers}
    return ask("inputs_of_layers", place(loaded), limits.of_reading(), **given)


def prepare() -> list[Note]:
    """Bring the layer's number within the model, and read what is not there yet.

    What fails is told above the title, and the page goes on with seeded weights.
    """
    visit().failed = None
    loaded = named()
    if loaded is None:
        return []
    try:
        notes = state.at_most(layer=plan(replace(loaded, layer=0)).n_layers - 1)
        _require_shown(named())
        _fetch(named())
        _check(named())
    except ValueError as error:
        visit().failed = error
        return []
    return notes


def _check(loaded: Checkpoint) -> None:
    """Raise ValueError where this page cannot show the layer or the text."""
    if not visit().page.checkpoints(plan(loaded).config):
        raise ValueError(t("checkpoint.no_latent"))
    if (given := len(inputs(loaded).tokens)) > MOST_TOKENS:
        raise ValueError(t("checkpoint.too_many", given=count(given), most=count(MOST_TOKENS)))


def _fetch(loaded: Checkpoint) -> None:
    """Read what a run will need, with progress; a change of any widget stops it in between."""
    origin = place(loaded)
    if not origin.folder:
        _download(loaded, origin)
    with st.spinner(t("checkpoint.preparing", layer=loaded.layer), show_time=True):
        inputs(loaded)


@shared_cache.cached(key=lambda loaded, _: loaded)
def _download(loaded: Checkpoint, origin: Place) -> None:
    """Bring the layer's bytes to this server, unless they came lately."""
    told = t("checkpoint.reading", size=size(plan(loaded).n_bytes), name=safe(loaded.location))
    bar = st.progress(0.0, told)

    def progress(done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), told)

    text = None if loaded.activations else loaded.text
    ask("fetch", origin, limits.of_reading(), progress, text=text, layer=loaded.layer)
    bar.empty()


def _require_shown(loaded: Checkpoint) -> None:
    """Refuse a layer that this page does not show.

    Raises:
        RefusedError: with a layer of the model that it shows, and the pages that show this one.
    """
    config = plan(loaded).config
    if _shows(visit().page, config):
        return
    other, pages, called = _other_layer(loaded), listed(_pages_of(config)), _called(config)
    if other is None:
        if pages:
            raise RefusedError("not_here", called=called, pages=pages)
        raise RefusedError("no_page", called=called)
    values = {"called": called, "layer": loaded.layer, "other": other}
    if pages:
        raise RefusedError("not_here_of_layer", **values, pages=pages)
    raise RefusedError("no_page_of_layer", **values)


def _shows(page: Page, config: AttentionConfig) -> bool:
    """Tell whether a page shows layers of this kind."""
    if mechanisms.of(config).key not in page.mechanisms:
        return False
    return any(variant.offered or page.every_kind for variant in _variants(config))


def _variants(config: AttentionConfig) -> list[Variant]:
    """Return the variants of its kind."""
    mechanism = mechanisms.of(config)
    kind = mechanism.kind(config)
    return [variant for variant in mechanism.variants if variant.kind == kind]


def _called(config: AttentionConfig) -> str | Phrase:
    """Return its mechanism's name, or its kind's where this page shows others of the mechanism."""
    mechanism = mechanisms.of(config)
    if not mechanism.variants or mechanism.key not in visit().page.mechanisms:
        return mechanism.called
    return Phrase("layer_of_kind", kind=mechanism.kind(config))


def _pages_of(config: AttentionConfig) -> list[str]:
    """Return the names of the pages that show a real layer of this kind."""
    shown = (page for page in PAGES.values() if page.checkpoints and page.checkpoints(config))
    return [t(f"{page.name}.link") for page in shown if _shows(page, config)]


def _other_layer(loaded: Checkpoint) -> int | None:
    """Return a layer of the model that this page shows: the next one, or else the first."""
    found, page = plan(loaded).mechanisms, visit().page
    layers = [*range(loaded.layer, len(found)), *range(loaded.layer)]
    alike = [one for one in layers if found[one] in page.mechanisms][:MOST_ASKED]
    configs = ((one, plan(replace(loaded, layer=one)).config) for one in alike)
    return next((one for one, config in configs if _shows(page, config)), None)


def name(loaded: Checkpoint) -> str:
    """Return the checkpoint and its layer in a few words, safe as Markdown."""
    key = "name_random" if plan(loaded).is_random else "name"
    return t(f"checkpoint.{key}", model=safe(loaded.location), layer=loaded.layer)


def own_name(loaded: Checkpoint) -> str:
    """Return the checkpoint's own name as plain text; a long one is cut."""
    name = drawn(loaded.location.rstrip("/").rsplit("/", 1)[-1])
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def title(loaded: Checkpoint) -> str:
    """Return the checkpoint's own name, safe as Markdown."""
    return safe(own_name(loaded))
