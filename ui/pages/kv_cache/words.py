"""The words of the cache page: title, table, sentences, with the numbers of its scenes."""

import pandas as pd

from mla_engine import GroupedConfig, LatentConfig, costs
from mla_engine.presets import Preset
from ui.pages.kv_cache.view import WIDTHS, Scene
from ui.settings.state import settings
from ui.words.numbers import count, digits, size, times
from ui.words.text import t

TIED = "\N{NO-BREAK SPACE}"


def shown(n_bytes: float) -> str:
    """Bytes in the chosen kind of unit, never broken from it."""
    return size(n_bytes, binary=settings()["kv_unit"] == "GiB").replace(" ", TIED)


def headline(scene: Scene) -> str:
    """The title: the model's cache, that of MHA with its heads, and their ratio."""
    tokens = settings()["kv_context"]
    own, mha = (scene.held_bytes(way, tokens) for way in (scene.own, "mha"))
    return t(
        "kv_cache.title",
        keeps=_keeps(scene.preset, tokens),
        model=scene.preset.name,
        tokens=count(tokens),
        own=shown(own),
        mha=shown(mha),
        ratio=times(mha / own),
    )


def _keeps(preset: Preset, tokens: int) -> str:
    """The verb: an upper bound where windows forget, conditional beyond the published length."""
    windows = getattr(preset.config, "sliding_window", None)
    bound = windows or "alternating local and global layers" in preset.not_modelled
    beyond = preset.max_context and tokens > preset.max_context
    key = ("would_keep" if beyond else "keeps") + ("_at_most" if bound else "")
    return t(f"kv_cache.verb_{key}")


def look() -> str:
    """What to look at, by the kind of axes."""
    return t("kv_cache.look_log") if settings()["kv_log"] else t("kv_cache.look_linear")


def numbers(config: GroupedConfig | LatentConfig) -> str:
    """How the numbers per token and layer come about, g x (k + v) or c + r."""
    total = count(costs.cache_elements(config))
    if isinstance(config, LatentConfig):
        return f"{config.d_latent_kv} + {config.d_rope} = {total}"
    if config.d_head == config.d_value:
        return f"2 × {config.n_kv_heads} × {config.d_head} = {total}"
    return f"{config.n_kv_heads} × ({config.d_head} + {config.d_value}) = {total}"


def table(scene: Scene) -> pd.DataFrame:
    """One row a way of caching, as text: numbers per token and layer, bytes, ratio to MHA."""
    tokens, mha = settings()["kv_context"], costs.mha_cache_elements(scene.preset.config)
    rows = {
        scene.label(way): (
            numbers(config),
            shown(scene.held_bytes(way, tokens)),
            times(mha / costs.cache_elements(config)),
        )
        for way, config in scene.ways.items()
    }
    columns = [
        t("kv_cache.column_numbers"),
        t("kv_cache.column_bytes", tokens=count(tokens)),
        t("kv_cache.column_ratio"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def product(scene: Scene) -> str:
    """How the model's own bytes come about."""
    tokens = settings()["kv_context"]
    return t(
        "kv_cache.product",
        numbers=count(costs.cache_elements(scene.ways[scene.own])),
        caches=count(scene.n_caches),
        tokens=count(tokens),
        batch=count(scene.batch),
        width=WIDTHS[scene.dtype],
        bytes=shown(scene.held_bytes(scene.own, tokens)),
    )


def baseline(scene: Scene) -> str:
    """What the ratios are measured against, and where the MLA of the chart comes from."""
    mla = scene.ways["mla"]
    groups = digits(costs.equivalent_kv_heads(mla))
    if scene.own != "mla":
        return t("kv_cache.assumed", latent=mla.d_latent_kv, rope=mla.d_rope, groups=groups)
    full = costs.cache_elements(mla, "kv")
    ratio = times(full / costs.cache_elements(mla))
    return t("kv_cache.own_heads", full=count(full), ratio=ratio, groups=groups)


def limitations(scene: Scene) -> list[str]:
    """What the curves leave out for this model, a sentence each."""
    preset = scene.preset
    said = []
    if scene.layers > scene.n_caches:
        asked, most = count(scene.layers), count(scene.n_caches)
        said.append(t("kv_cache.layers_capped", asked=asked, most=most))
    if scene.gqa_heads != scene.kv_heads:
        heads, drawn = count(preset.config.n_heads), count(scene.gqa_heads)
        asked = count(scene.kv_heads)
        said.append(t("kv_cache.groups_mended", asked=asked, heads=heads, drawn=drawn))
    if preset.max_context and settings()["kv_context"] > preset.max_context:
        said.append(t("kv_cache.beyond", most=count(preset.max_context)))
    if preset.n_caches is None:
        said.append(t("kv_cache.caches_unknown"))
    elif preset.n_caches != preset.n_layers:
        caches, layers = count(preset.n_caches), count(preset.n_layers)
        said.append(t("kv_cache.caches_differ", caches=caches, layers=layers))
    if getattr(preset.config, "sliding_window", None):
        said.append(t("kv_cache.window", window=count(preset.config.sliding_window)))
    return said + [t(f"kv_cache.gap_{gap.replace(' ', '_')}") for gap in preset.not_modelled]


def measured(scene: Scene) -> str:
    """Where the dots come from, or why there are none."""
    return t("kv_cache.measured_note") if scene.points() else t("kv_cache.unmeasured_note")


def notes(scene: Scene) -> str:
    """What is uncertain about the model's numbers, in the reader's language."""
    return scene.preset.notes_zh if settings()["lang"] == "zh" else scene.preset.notes


def alt(scene: Scene) -> str:
    """The chart in words: the bytes of every way at the chosen length."""
    tokens = settings()["kv_context"]
    held = "; ".join(f"{scene.label(w)} {shown(scene.held_bytes(w, tokens))}" for w in scene.ways)
    return t("kv_cache.alt", model=scene.preset.name, tokens=count(tokens), held=held)
