"""The text of the decode page: what is read first, who writes on, and whose weights take it in."""

from functools import partial

from ui.engine import real_layer, real_model, trained
from ui.engine.model import Model
from ui.pages.decode.sentences import EXAMPLES
from ui.pages.decode.view import FIRST_STEP, View, prompts, writer
from ui.parts import reader, real_sentences, trained_layer
from ui.parts.control import control
from ui.parts.ways import INDEXED, label
from ui.settings import state
from ui.settings.parsers import MOST_WORDS
from ui.words.numbers import count
from ui.words.text import parted, sentences, t


def controls(model: Model) -> None:
    """Draw the choice of what is read first: a sentence and its writer, or a prompt's length."""
    reader.choice()
    if real_model.reads():
        real_sentences.text(EXAMPLES, then=partial(state.change, dec_step=FIRST_STEP))
    elif model.trained is not None:
        trained_layer.sentence()
        _writer(model)
    if model.trained is None and len(lengths := prompts(model)) > 1:
        control("dec_prompt", options=lengths)


def _writer(model: Model) -> None:
    """Draw the choice of the trained model that writes, set by the first variant that it has."""
    variants: dict[str, str] = {}
    for variant in model.variants:
        if not isinstance(origin := model.origin(model.config(variant)), int):
            variants.setdefault(origin.code, variant)
    control(
        "variant",
        widget="segmented_control",
        label=t("decode.writer"),
        shown=variants[writer(model)],
        options=list(variants.values()),
        write={variant: code.upper() for code, variant in variants.items()}.get,
    )


def written(view: View) -> str:
    """Say whose words a text grows by, or how many tokens it is; empty where there is no text."""
    if view.text:
        values = {"characters": count(len(view.text)), "pieces": count(len(view.model.words))}
        return t("decode.pieces", **values)
    if not view.writer:
        return ""
    said = [t("decode.written_by", writer=view.writer.upper())]
    if INDEXED in trained.readable():
        said.append(t("decode.indexed"))
    if seeded := _by_weights(view)[1]:
        said.append(t("decode.untrained", ways=seeded))
    words, most = len(view.words), trained.load(view.writer).config.max_context
    if words > most:
        limits = {"most": count(most), "limit": count(MOST_WORDS)}
        said.append(t("decode.beyond", words=count(words), **limits))
    return sentences(said)


def whose(view: View) -> str:
    """Name the ways that have a real layer's weights; empty without one."""
    loaded = view.model.layer
    if not loaded:
        return ""
    real, seeded = _by_weights(view)
    return t("decode.whose", name=real_layer.name(loaded), real=real, seeded=seeded)


def _by_weights(view: View) -> tuple[str, str]:
    """Return the ways with trained or real weights, and those with seeded ones."""
    own, seeded = [], []
    for code, way in view.ran.items():
        named = seeded if isinstance(view.model.origin(way.config), int) else own
        named.append(label(view.ways, code))
    return parted(own), parted(seeded)
