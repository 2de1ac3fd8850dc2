"""The words that several topics of the cache page share."""

from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from ui.pages.kv_cache.scene import WIDTH_OF_STATES, Scene, kind_of
from ui.pages.kv_cache.view import View
from ui.words import numbers
from ui.words.numbers import TIED, amount, count
from ui.words.text import listed, t


def shown(view: View, n_bytes: float) -> str:
    """Bytes in the chosen kind of unit."""
    return numbers.tied_size(n_bytes, binary=view.unit == "GiB")


def numbers_of(config: AttentionConfig) -> str:
    """How the numbers per token and layer come about, g x (k + v) or c + r; what does not grow."""
    width = WIDTH_OF_STATES
    numbers, fixed = costs.cache_elements(config), costs.fixed_bytes(config, width) / width
    if not numbers:
        return t("kv_cache.numbers_state", fixed=count(fixed))
    parts, total = mechanisms.of(config).costs.written(config), amount(numbers)
    written = f"{parts} = {total}" if parts != total else total
    return t("kv_cache.numbers_most", numbers=written, fixed=count(fixed)) if fixed else written


def type_label(code: str) -> str:
    """What a type is called in the reader's language."""
    return t("kv_cache.four_bit") if code == "int4" else code


def limitations(view: View, scene: Scene) -> list[str]:
    """What is not as the reader asked, and what the curves leave out, a sentence each."""
    gaps = [t(f"kv_cache.gap_{gap.replace(' ', '_')}") for gap in scene.preset.not_modelled]
    return _capped(scene) + _published(view, scene) + gaps


def _capped(scene: Scene) -> list[str]:
    said = []
    if scene.layers > scene.n_caches:
        asked, most = count(scene.layers), count(scene.n_caches)
        said.append(t("kv_cache.layers_capped", asked=asked, most=most))
    if scene.gqa_heads != scene.kv_heads:
        heads, drawn = count(scene.preset.config.n_heads), count(scene.gqa_heads)
        asked = count(scene.kv_heads)
        said.append(t("kv_cache.groups_mended", asked=asked, heads=heads, drawn=drawn))
    return said


def _published(view: View, scene: Scene) -> list[str]:
    preset, said = scene.preset, []
    if preset.max_context and view.context > preset.max_context:
        said.append(beyond(scene))
    if preset.beside:
        said.append(_kinds(scene))
    if preset.n_attentions != preset.n_layers:
        caches, layers = count(preset.n_attentions), count(preset.n_layers)
        key = "caches_differ" if scene.grows else "states_differ"
        said.append(t(f"kv_cache.{key}", caches=caches, layers=layers))
    if window(scene):
        said.append(t("kv_cache.window", window=count(window(scene))))
    return said


def _kinds(scene: Scene) -> str:
    """Of which kinds the model's layers are, or as what so many of them are counted."""
    kind = kind_of(scene.preset.config)
    if scene.layers and not scene.first:
        return t("kv_cache.counted_as", layers=count(scene.n_caches), kind=kind)
    each = [f"{count(n)}{TIED}×{TIED}{kind_of(config)}" for config, n in scene.preset.kinds]
    if scene.first:
        others = listed(each[1:])
        return t("kv_cache.first_kind", n=count(scene.n_caches), kind=kind, others=others)
    return t("kv_cache.kinds", layers=count(scene.all_caches), each=listed(each))


def beyond(scene: Scene) -> str:
    """The greatest length that the model was published for."""
    return t("kv_cache.beyond", most=count(scene.preset.max_context))


def window(scene: Scene) -> int | None:
    """The tokens that a layer of the model looks back, where that is not all of them."""
    return getattr(scene.preset.config, "sliding_window", None)


def notes(view: View, scene: Scene) -> str:
    """What is uncertain about the model's numbers, in the reader's language."""
    return scene.preset.notes_in.get(view.language, scene.preset.notes)
