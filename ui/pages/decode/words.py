"""The words of the decode page: title, table and sentences, with the numbers of its step."""

import pandas as pd

from ui.engine import model
from ui.engine import real_layer as source
from ui.pages.decode.run import Step
from ui.pages.decode.view import Scene
from ui.parts import measure
from ui.parts import ways as every_way
from ui.words.numbers import TIED, clock, count, digits, prefixed, size, times
from ui.words.text import t

LATENT = ("mla_kv", "mla_each", "mla_absorbed")
WAITING = "\N{HORIZONTAL ELLIPSIS}"


def shown_bytes(n_bytes: float) -> str:
    """Bytes, never broken from their unit."""
    return size(n_bytes).replace(" ", TIED)


def title(shown: Scene) -> str:
    """A statement with live numbers: what MHA and MLA hold after the step."""
    loaded = source.chosen()
    mha, mla = shown.held_bytes("mha"), shown.held_bytes("mla_absorbed")
    return t(
        "decode.title",
        model=source.title(loaded) if loaded else every_way.of_model(),
        tokens=count(shown.context + 1),
        mha=shown_bytes(mha),
        mla=shown_bytes(mla),
        ratio=times(mha / mla),
    )


def look() -> str:
    """What to look at."""
    return t("decode.look")


def table(shown: Scene, taken: dict[str, Step] | None) -> pd.DataFrame:
    """One row a way, as text; what is not run yet waits."""
    rows = {}
    for code in shown.ways:
        step = taken and taken[code]
        rows[every_way.label(shown.ways, code)] = (
            shown_bytes(shown.held_bytes(code)),
            shown_bytes(shown.read_bytes(code)),
            prefixed(shown.multiply_adds(code)),
            clock(step.seconds) if step else WAITING,
            digits(step.difference, 1) if step else WAITING,
        )
    names = ("held", "read", "multiply_adds", "measured", "difference")
    columns = [t(f"decode.column_{name}") for name in names]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def counted(shown: Scene) -> str:
    """What is counted, and what is measured on what."""
    return t(
        "decode.counted",
        all=count(shown.n_heads),
        heads=count(shown.heads),
        machine=measure.device_name(measure.machine(), long=True),
    )


def whose(shown: Scene) -> str:
    """Which ways have a real layer's weights; empty without one."""
    loaded = source.chosen()
    if not loaded:
        return ""
    real, seeded = [], []
    for code, way in shown.ways.items():
        named = real if model.origin(way.config) == loaded else seeded
        named.append(every_way.label(shown.ways, code))
    between = t("compute.between")
    ways = {"real": between.join(real), "seeded": between.join(seeded)}
    return t("decode.whose", name=source.name(loaded), **ways)


def agreement(taken: dict[str, Step]) -> str:
    """That all forms of MLA give the same output, as a number."""
    worst = max(taken[code].difference for code in LATENT)
    others = max(step.difference for code, step in taken.items() if code not in LATENT)
    return t("decode.agreement", worst=digits(worst, 1), others=digits(others, 1))


def alt(shown: Scene) -> str:
    """The blocks in words."""
    held = [
        t(
            "compute.batch_of",
            name=every_way.label(shown.ways, c),
            n=shown_bytes(shown.held_bytes(c)),
        )
        for c in shown.ways
    ]
    tokens = count(shown.context + 1)
    return t("decode.alt", tokens=tokens, held=t("compute.between").join(held))
