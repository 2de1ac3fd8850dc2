"""From the shared settings to a configuration of the engine, and from a preset to settings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mla_engine import PRESETS, GroupedConfig, LatentConfig, RopeConfig
from mla_engine.words import words_of
from ui.engine import real_layer as source
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import SMALL
from ui.settings.shared import SIZES, VARIANTS
from ui.settings.sizes import divisors, sizes_from, sizes_of
from ui.words.text import t

SMALL_CONFIG = LatentConfig(
    d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_latent_q=48, d_rope=8, latent_norm=True
)
LADDERS = {
    "d_model": (16, 64, 256, 768, 1024, 2048, 4096, 5120, 6144, 7168, 8192, 16384),
    "n_heads": (1, 2, 4, 8, 16, 32, 40, 64, 96, 128),
    "d_head": (2, 4, 8, 16, 32, 64, 96, 128, 192, 256),
    "d_value": (2, 4, 8, 16, 32, 64, 96, 128, 192, 256),
    "d_latent_kv": (2, 8, 16, 32, 64, 128, 256, 512, 1024, 2048),
    "d_latent_q": (0, 8, 16, 48, 128, 256, 512, 768, 1024, 1536, 2048),
    "d_rope": (0, 2, 4, 8, 16, 32, 64, 128),
}


def base() -> GroupedConfig | LatentConfig:
    """What the chosen model has, its rotation, norms and scales included.

    Raises:
        CheckpointError: a real model's layer that cannot be read.
    """
    if loaded := source.chosen():
        return source.plan(loaded).config
    chosen = state.settings()["preset"]
    return SMALL_CONFIG if chosen == SMALL else PRESETS[chosen].config


def sizes() -> Mapping[str, int]:
    """The sizes in force: a real layer's own, or the settings'."""
    return sizes_from(base()) if source.chosen() else state.settings()


def variants() -> tuple[str, ...]:
    """What can be shown: all, or of a real layer what its weights are made for."""
    if not source.chosen():
        return VARIANTS
    config = base()
    if isinstance(config, LatentConfig):
        return ("mla", "mla_absorbed")
    return ({config.n_heads: "mha", 1: "mqa"}.get(config.n_kv_heads, "gqa"),)


def present_variant() -> str:
    """The variant in force: the setting's, or the first that there is."""
    wanted = state.settings()["variant"]
    return wanted if wanted in variants() else variants()[0]


def origin(config: GroupedConfig | LatentConfig) -> source.Origin:
    """Where the weights of a configuration come from: the real layer that it is of, or the seed.

    The rotation and the latent norms may differ: they change no shape but the norms' own.
    """
    loaded = source.chosen()
    if not loaded or type(config) is not type(base()):
        return state.settings()["seed"]
    free = {"rope": base().rope, "softmax_scale": base().softmax_scale}
    free |= {"latent_norm": base().latent_norm} if isinstance(config, LatentConfig) else {}
    return loaded if replace(config, **free) == base() else state.settings()["seed"]


def words() -> tuple[str, ...]:
    """The tokens that pages without a text of their own show: a real model's, or our example."""
    loaded = source.chosen()
    return source.inputs(loaded).tokens if loaded else words_of(t("attention_maps.example"))


def variant_of(preset: str) -> str:
    """The variant a preset uses; an MLA one keeps the form chosen before."""
    if preset == SMALL:
        return state.settings()["variant"]
    kind = PRESETS[preset].kind.lower()
    present = state.settings()["variant"]
    return present if kind == "mla" and present.startswith("mla") else kind


def config(variant: str | None = None) -> GroupedConfig | LatentConfig:
    """The configuration of the present sizes, in the present variant or another.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    return built(base(), sizes(), variant or present_variant())


def built(
    origin: GroupedConfig | LatentConfig, s: Mapping[str, int], variant: str
) -> GroupedConfig | LatentConfig:
    """A variant of these sizes, with the rotation, norms and scales of `origin`.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    common = {name: s[name] for name in ("d_model", "n_heads", "d_head", "d_value")}
    if variant.startswith("mla"):
        latent = {name: s[name] for name in ("d_latent_kv", "d_rope")}
        latent["d_latent_q"] = s["d_latent_q"] or None
        if isinstance(origin, LatentConfig):
            return replace(origin, **common, **latent)
        return LatentConfig(**common, **latent, latent_norm=True, rope=_plain(origin.rope))
    n_kv_heads = {"mha": s["n_heads"], "mqa": 1}.get(variant, s["n_kv_heads"])
    if isinstance(origin, GroupedConfig):
        return replace(origin, **common, n_kv_heads=n_kv_heads)
    return GroupedConfig(**common, n_kv_heads=n_kv_heads, rope=_plain(origin.rope))


def _plain(rope: RopeConfig | None) -> RopeConfig | None:
    """The rotation without a scaling that was made for other widths."""
    return rope and replace(rope, scaling=None)


def changed_sizes() -> list[str]:
    """The sizes that differ from the preset's."""
    own = sizes_of(state.settings()["preset"])
    return [n for n in SIZES if n != "n_kv_heads" and state.settings()[n] != own[n]]


def take_preset() -> None:
    """After the picker: the sizes and the variant follow the preset."""
    chosen = state.settings()["preset"]
    state.settings().update(sizes_of(chosen), variant=variant_of(chosen))


def preset_name(key: str) -> str:
    """A preset's name, or the translated name of our small sizes."""
    return t("common.small_sizes") if key == SMALL else PRESETS[key].name


def shown_name() -> str:
    """What is shown, as plain text: a real model's own name, or the preset's."""
    loaded = source.chosen()
    return source.own_name(loaded) if loaded else preset_name(state.settings()["preset"])


def not_modelled(key: str) -> str:
    """One sentence on what a preset's model has beside what the engine computes."""
    gaps = [t(f"common.gap_{gap.replace(' ', '_')}") for gap in PRESETS[key].not_modelled]
    return t("common.not_modelled", name=preset_name(key), gaps="; ".join(gaps))


def mend() -> list[Note]:
    """Bring sizes that depend on others to the nearest that can be; notes as `state.nearest`."""
    notes = source.prepare()
    if source.chosen():
        return notes
    s = state.settings()
    names = ("n_kv_heads", "d_rope") if _rotary_widths() else ("n_kv_heads",)
    return state.nearest(
        **{name: min(ladder(name), key=lambda n, near=s[name]: abs(n - near)) for name in names}
    )


def _rotary_widths() -> tuple[int, ...]:
    """The widths that the preset's rotation was made for; empty if any will do."""
    rope = base().rope
    factors = getattr(rope and rope.scaling, "short_factor", ())
    return (0, 2 * len(factors)) if factors and isinstance(base(), LatentConfig) else ()


def ladder(name: str) -> Sequence[int]:
    """The steps of a size's slider."""
    if name == "n_kv_heads":
        return divisors(state.settings()["n_heads"])
    return (name == "d_rope" and _rotary_widths()) or LADDERS[name]
