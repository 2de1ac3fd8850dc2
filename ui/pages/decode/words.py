"""The words of the decode page: title, sentences and alternative text, with their numbers."""

from collections.abc import Mapping

from mla_engine import costs
from ui.engine import real_layer
from ui.pages.decode.run import Step
from ui.pages.decode.view import View
from ui.parts import measure
from ui.parts.ways import joined, label, listed, of_model
from ui.words.numbers import count, digits, tied_size, times
from ui.words.text import t

LATENT = ("mla_kv", "mla_each", "mla_absorbed")


def lead(view: View) -> tuple[str, str]:
    """A statement with live numbers: what MHA and MLA hold after the step."""
    loaded = view.model.layer
    mha, mla = view.held_bytes("mha"), view.held_bytes("mla_absorbed")
    line = t(
        "decode.line",
        model=real_layer.title(loaded) if loaded else of_model(view.model),
        tokens=count(view.tokens),
        mha=tied_size(mha),
        mla=tied_size(mla),
        ratio=times(mha / mla),
    )
    return tied_size(mla), line


def counted(view: View) -> str:
    """What is counted, and what is measured on what."""
    heads, every = count(view.heads), count(view.n_heads)
    return t("decode.counted", all=every, heads=heads, machine=measure.here())


def whose(view: View) -> str:
    """Which ways have a real layer's weights; empty without one."""
    loaded = view.model.layer
    if not loaded:
        return ""
    real, seeded = [], []
    for code, way in view.ways.items():
        named = real if view.model.origin(way.config) == loaded else seeded
        named.append(label(view.ways, code))
    ways = {"real": joined(real), "seeded": joined(seeded)}
    return t("decode.whose", name=real_layer.name(loaded), **ways)


def agreement(taken: Mapping[str, Step]) -> str:
    """That all forms of MLA give the same output, as a number."""
    worst = max(taken[code].difference for code in LATENT)
    others = max(step.difference for code, step in taken.items() if code not in LATENT)
    return t("decode.agreement", worst=digits(worst, 1), others=digits(others, 1))


def expand(view: View) -> str:
    """How MLA is decoded, and from how many new tokens on the other way takes less work."""
    queries = costs.expanding_wins(view.latent, view.context)
    if queries is None:
        return t("decode.never_expand")
    limit = digits(costs.crossover_queries(view.latent))
    return t("decode.expand", queries=count(queries), tokens=count(view.context), limit=limit)


def compared(view: View) -> str:
    """Why the times are as they are: what absorbed MLA and MHA do with the heads that are run."""
    mla, mha = (view.cost(code, run=True) for code in ("mla_absorbed", "mha"))
    return measure.compared(mla, mha, view.heads, view.context)


def says(view: View, step: int) -> str:
    """How far it is after a step."""
    return t("decode.says", step=count(step), tokens=count(view.prompt + step))


def alt(view: View, step: int) -> str:
    """The blocks after a step in words."""
    held = {code: tied_size(view.held_bytes(code, step)) for code in view.ways}
    return t("decode.alt", tokens=count(view.prompt + step), held=listed(view.ways, held))
