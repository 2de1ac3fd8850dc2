"""The text of the decode page: what is read first, who writes on, and whose weights take it in."""

from functools import partial

from ui.pages.decode.sentences import EXAMPLES
from ui.pages.decode.view import FIRST_STEP, View, prompts, writer
from ui.parts import reader
from ui.parts.control import control
from ui.parts.ways import INDEXED, label
from ui.settings import state
from ui.settings.parsers import MOST_WORDS
from ui.sources import Drawn, checkpoint, trained
from ui.sources.model import Model
from ui.sources.small_model import AS_TRAINED
from ui.words.numbers import count
from ui.words.text import parted, sentences, t


def controls(model: Model) -> None:
    """Draw the choice of what is read first: a sentence and its writer, or a prompt's length."""
    reader.choice()
    if AS_TRAINED.reads():
        reader.text(EXAMPLES, then=partial(state.change, dec_step=FIRST_STEP))
    elif model.is_trained:
        reader.sentence()
        _writer(model)
    if not model.is_trained and len(lengths := prompts(model)) > 1:
        control("dec_prompt", options=lengths)


def _writer(model: Model) -> None:
    """Draw the choice of the trained model that writes, set by the first variant that it has."""
    variants: dict[str, str] = {}
    for variant in model.variants:
        if not isinstance(source := model.source_of(model.config(variant)), Drawn):
            variants.setdefault(source.code, variant)
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
    loaded = view.model.checkpoint
    if not loaded:
        return ""
    real, seeded = _by_weights(view)
    return t("decode.whose", name=checkpoint.name(loaded), real=real, seeded=seeded)


def _by_weights(view: View) -> tuple[str, str]:
    """Return the ways with trained or real weights, and those with seeded ones."""
    own, seeded = [], []
    for code, way in view.ran.items():
        named = seeded if isinstance(view.model.source_of(way.config), Drawn) else own
        named.append(label(view.ways, code))
    return parted(own), parted(seeded)
