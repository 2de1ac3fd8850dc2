"""The model as a chip above the page: its name and sizes; behind it the choice of both."""

import streamlit as st

from mla_engine import PRESETS, mechanisms
from ui.parts import checkpoint, given
from ui.parts.control import control
from ui.parts.typed import exact_control
from ui.parts.ways import of_model, other_layers
from ui.settings import state
from ui.settings.parsers import SMALL, TRAINED, has_preset, is_own
from ui.settings.server import server
from ui.settings.visit import visit
from ui.sources import model, trained
from ui.sources.checkpoint import chosen
from ui.sources.model import Model
from ui.words.numbers import count, heads
from ui.words.text import safe, t


def chip() -> None:
    """Draw a quiet button that says what model is shown and opens the choice of it."""
    with st.popover(_said(model.present()), icon=":material/tune:", key="model_chip"):
        controls()


def _said(shown: Model) -> str:
    """Return the model's name and those sizes that tell it apart, as Markdown."""
    own, sizes = mechanisms.variants()[shown.variant].sizes, shown.sizes
    parts = [
        safe(shown.name) if shown.checkpoint else of_model(shown),
        t("chip.width", n=count(sizes["d_model"])),
        heads(sizes["n_heads"]),
    ]
    if "n_kv_heads" in own:
        groups = sizes["n_kv_heads"]
        parts.append(t("chip.kv_head" if groups == 1 else "chip.kv_heads", n=count(groups)))
    if "d_latent_kv" in own:
        latent = {"n": count(sizes["d_latent_kv"]), "rope": count(sizes["d_rope"])}
        parts.append(t("chip.latent" if sizes["d_rope"] else "chip.latent_alone", **latent))
    return " · ".join(parts)


def controls() -> None:
    """Draw the preset picker, and behind it the sliders of the present variant's sizes.

    A real layer stands in for both where the page can use one.
    """
    if not (visit().page.checkpoints and chosen()):
        shown = model.present()
        _preset(shown)
        if shown.is_trained:
            _trained_layer()
        elif trained.lacking():
            label = t("chip.customise")
            st.button(label, key="customise", type="tertiary", on_click=model.take, args=(SMALL,))
        else:
            with st.expander(t("chip.customise"), expanded=bool(shown.changed)):
                _sliders()
    if visit().page.checkpoints and not server().recorded:
        checkpoint.controls()


def _preset(shown: Model) -> None:
    of_trained = [TRAINED] if visit().page.trained else []
    control(
        "preset",
        shown=shown.preset,
        options=[*of_trained, SMALL, *PRESETS, *[shown.preset] * is_own(shown.preset)],
        write=model.preset_name,
        keep=model.take,
    )
    for sentence in other_layers(shown.preset) if has_preset(shown.preset) else ():
        st.caption(sentence)
    given.draw(shown.preset)


def _sliders() -> None:
    for name in mechanisms.variants()[state.settings()["variant"]].sizes:
        if len(options := model.ladder(name)) > 1:
            exact_control(name, options, write=str, then=model.mend, check=model.check)


def _trained_layer() -> None:
    st.caption(t("reader.what"))
    control("trained_layer", options=range(trained.load(trained.FIRST).config.n_layers))
