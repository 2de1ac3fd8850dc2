"""The ways of attending that are compared: every variant, form and cache at the present sizes."""

from collections.abc import Mapping
from dataclasses import dataclass

from mla_engine import LatentConfig, mechanisms
from mla_engine.config import AttentionConfig
from ui.settings.parsers import preset_of
from ui.settings.visit import visit
from ui.sources import trained
from ui.sources.model import Model, present, preset_name
from ui.words import text as texts
from ui.words.numbers import TIED, count
from ui.words.text import t, variant_name

INDEXED = "dsa"  # the variant, and the way, that reads chosen keys
PROPORTION = 4  # of DeepSeek-V2: the latent is so many times as wide as a head
MOST = 2**20  # tokens up to which it is asked when that takes less


@dataclass(frozen=True)
class Way:
    """A configuration, the form that computes it and the cache it keeps."""

    config: AttentionConfig
    form: str
    cache: str


Ways = Mapping[str, Way]


def ways(model: Model, *, decoding: bool) -> dict[str, Way]:
    """Return every way that the mechanisms have; in prefill only those that differ there.

    Beside trained models only those that are trained: another would stand there with noise.

    Raises:
        ValueError: sizes that no layer can have.
    """
    every, here = mechanisms.variants(), visit().page.variants
    kinds = {every[code].kind for code in every if not model.is_trained or code in trained.VARIANTS}
    return {
        code: Way(
            model.config(way.variant),
            way.form if decoding else way.whole or way.form,
            way.cache,
        )
        for code, way in mechanisms.ways().items()
        if (decoding or way.prefill) and every[way.variant].kind in kinds and way.variant in here
    }


def successor() -> str:
    """Return the key of the chosen variant's mechanism if it came after MLA; else empty.

    Empty, too, where no layer can be shown.
    """
    try:
        mechanism = mechanisms.of_variant(present().variant)
    except ValueError:  # which the page tells
        return ""
    return mechanism.key if mechanism.after_mla else ""


def label(ways: Ways, code: str) -> str:
    """Return the short name of a way; in prefill MLA is expanded once, not each step."""
    if code == "gqa":
        return t("ways.way_gqa", n=ways[code].config.n_kv_heads)
    if code == "mla_each" and "mla_kv" not in ways:
        return t("ways.way_mla_expanded")
    return t(f"ways.way_{code}")


def listed(ways: Ways, amounts: Mapping[str, str]) -> str:
    """Return each way's value in one line: "MHA: 3 KiB; MQA: 1 KiB"."""
    return texts.parted(texts.named(label(ways, code), n) for code, n in amounts.items())


def of_model(model: Model) -> str:
    """Return the chosen sizes by name."""
    name = preset_name(model.preset)
    return t("ways.changed", name=name) if model.changed else name


def assumed(model: Model, latent: LatentConfig) -> str:
    """Return where the latent comes from when the model has none; empty where it has one."""
    if model.is_trained or model.base.has_latent:
        return ""
    key = "assumed" if latent.d_latent_kv == PROPORTION * latent.d_head else "assumed_sizes"
    said = [t(f"ways.{key}", latent=count(latent.d_latent_kv), rope=latent.d_rope), windowed(model)]
    return texts.sentences(filter(None, said))


def windowed(model: Model) -> str:
    """Return which ways the window of the model's layer holds for; empty where it has none."""
    window = model.base.sliding_window
    return t("ways.window", window=count(window)) if window else ""


def kind_of(config: AttentionConfig) -> str:
    """Return the name of a kind of attention, such as "MLA", with its window if it has one."""
    name = variant_name(mechanisms.of(config).variant(config).code)
    window = config.sliding_window
    return t("common.of_window", kind=name, window=count(window)) if window else name


def other_layers(key: str) -> list[str]:
    """Return a sentence on a model's other layers, and one on what is not modelled of it."""
    preset, said = preset_of(key), []
    if preset.beside:
        each = texts.listed(f"{count(n)}{TIED}×{TIED}{kind_of(one)}" for one, n in preset.kinds)
        said.append(t("common.kinds", name=preset.name, each=each))
    if preset.not_modelled:
        gaps = [t(f"common.gap_{gap.replace(' ', '_')}") for gap in preset.not_modelled]
        said.append(t("common.not_modelled", name=preset.name, gaps=texts.parted(gaps)))
    return said
