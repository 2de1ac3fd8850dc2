"""The model of the shared settings: its sizes, its source, and what a preset sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.studies.words import words_of
from ui.settings import state
from ui.settings.page import SETTINGS, Note
from ui.settings.parsers import SMALL, TRAINED, preset_of
from ui.settings.shared import SIZES
from ui.settings.sizes import SMALL_CONFIG, SMALL_VARIANT, divisors, published, sizes_of, variant_of
from ui.settings.visit import once_per_run, visit
from ui.sources import Checkpoint, Drawn, Source, Trained, checkpoint, trained
from ui.words.text import t

Config = AttentionConfig
FREE = (
    "rope",
    "softmax_scale",
    "latent_norm",
)  # what changes no shape of a weight but the norms' own
LADDERS = {
    "d_model": (16, 64, 256, 768, 1024, 2048, 4096, 5120, 6144, 7168, 8192, 16384),
    "n_heads": (1, 2, 4, 8, 16, 32, 40, 64, 96, 128),
    "d_head": (2, 4, 8, 16, 32, 64, 96, 128, 192, 256),
    "d_value": (2, 4, 8, 16, 32, 64, 96, 128, 192, 256),
    "d_latent_kv": (2, 8, 16, 32, 64, 128, 256, 512, 1024, 2048),
    "d_latent_q": (0, 8, 16, 48, 128, 256, 512, 768, 1024, 1536, 2048),
    "d_rope": (0, 2, 4, 8, 16, 32, 64, 128),
}


@dataclass(frozen=True)
class Model:
    """The model of the shared settings: sizes, a variant, and whose weights.

    Args:
        source: of its own configuration; of others a seed's weights stand there.
        preset: the published model that the sizes began with, SMALL, or TRAINED where a layer of
            our trained models stands in; SMALL where there is none of the variant that is set.
        base: its configuration, with rotation, norms and scales.
        sizes: those in force, by the names of their settings.
        wanted: the variant that is set.
        drawn: the weights of the seed that is set.
    """

    source: Source
    preset: str
    base: Config
    sizes: Mapping[str, int]
    wanted: str
    drawn: Drawn

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The layer of a checkpoint that stands in for sizes and seed, if one does."""
        return self.source if isinstance(self.source, Checkpoint) else None

    @property
    def is_trained(self) -> bool:
        """True where a layer of the trained models stands in for them."""
        return isinstance(self.source, Trained)

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """The variants that can be shown."""
        if self.is_trained:
            every, never = visit().page.variants, trained.never
            return tuple(v for v in every if never(v) or self._has_trained(v))
        if not self.checkpoint:
            return visit().page.variants
        mechanism = mechanisms.of(self.base)
        kind = mechanism.kind(self.base)
        return tuple(variant.code for variant in mechanism.variants if variant.kind == kind)

    @property
    def variant(self) -> str:
        """The variant in force: the one that is set, MLA where the page has not that one."""
        if self.wanted in self.variants:
            return self.wanted
        return SMALL_VARIANT if SMALL_VARIANT in self.variants else self.variants[0]

    @property
    def sinks(self) -> bool:
        """True where a sink takes a part of each row, also where no layer can have these sizes."""
        base, own = self.base_of(self.variant), mechanisms.of_variant(self.variant)
        return (base if mechanisms.of(base) is own else own.config_type).sinks

    @property
    def mha(self) -> int:
        """Numbers that MHA of these heads keeps of a token in a layer: n_h (d_h + d_v)."""
        return self.sizes["n_heads"] * (self.sizes["d_head"] + self.sizes["d_value"])

    @property
    def form(self) -> str:
        """The form of the variant in force, as SYMBOLS names it."""
        return mechanisms.form_of(self.variant).symbols

    def config(self, variant: str | None = None) -> Config:
        """The configuration of these sizes, in this variant or another, or ValueError."""
        chosen = variant or self.variant
        own = self._beside(chosen)
        return own if own and not self.changed else built(own or self.base, self.sizes, chosen)

    def base_of(self, variant: str) -> Config:
        """Return the configuration from which a variant takes rotation, norms and scales."""
        return self._beside(variant) or self.base

    def _beside(self, variant: str) -> Config | None:
        """The model's own attention of this kind beside the first, at its own sizes."""
        if not isinstance(self.source, Drawn) or self.preset == SMALL:
            return None
        return preset_of(self.preset).beside_of(mechanisms.variants()[variant].kind)

    def _has_trained(self, variant: str) -> bool:
        return not isinstance(self.source_of(self.config(variant)), Drawn)

    def source_of(self, config: Config) -> Source:
        """Return whose the weights are: the model's own source if it has this kind, or the seed.

        The rotation and the latent norms may differ: they change no shape but the norms' own.
        """
        if isinstance(self.source, Trained):
            return trained.of(config, self.source.layer, FREE) or self.drawn
        own = self.checkpoint and config.is_same(self.base, but=FREE)
        return self.source if own else self.drawn

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens where a page has no text of its own: a model's, or our example."""
        if self.is_trained:
            return trained.sentence()
        if self.checkpoint:
            return checkpoint.inputs(self.checkpoint).tokens
        return words_of(t("maps.example"))

    @property
    def changed(self) -> list[str]:
        """The sizes that differ from the preset's."""
        if self.is_trained:
            return []
        own = sizes_of(self.preset)
        return [n for n in SIZES if n != "n_kv_heads" and self.sizes[n] != own[n]]

    @property
    def name(self) -> str:
        """The model's name as plain text: a real model's own, or the preset's."""
        return checkpoint.own_name(self.source) if self.checkpoint else preset_name(self.preset)


def built(base: Config, sizes: Mapping[str, int], variant: str) -> Config:
    """A variant of these sizes, with the rotation, norms and scales of `base`.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    return _built(base, tuple(sizes.items()), variant)


@lru_cache(maxsize=256)
def _built(base: Config, sizes: tuple[tuple[str, int], ...], variant: str) -> Config:
    return mechanisms.variants()[variant].config(dict(sizes), base)


def present() -> Model:
    """Return the model that the settings choose now.

    Raises:
        CheckpointError: a real model's layer that cannot be read.
    """
    return _present(visit().page.name, *state.settings().items())


@once_per_run
def _present(_page: str, *_settings: tuple[str, object]) -> Model:
    s, loaded = state.settings(), checkpoint.chosen()
    chosen = s["variant"], Drawn(s["seed"])
    if loaded:
        base = checkpoint.plan(loaded).config
        preset = published(s["preset"])
        return Model(loaded, preset, base, mechanisms.sizes_of(base), *chosen)
    if own := trained.chosen():
        return Model(own, TRAINED, trained.named_config(), trained.named_sizes(), *chosen)
    if trained.lacking():
        return Model(chosen[1], SMALL, SMALL_CONFIG, sizes_of(SMALL), *chosen)
    preset, sizes = published(s["preset"]), {name: s[name] for name in SIZES}
    base = SMALL_CONFIG if preset == SMALL else preset_of(preset).config
    return Model(chosen[1], preset, base, sizes, *chosen)


def take(preset: str) -> None:
    """Choose a preset."""
    state.change(preset=preset)
    take_preset()
    state.write()


def take_preset() -> None:
    """After the picker: sizes, variant and all else that follows the preset are of that one.

    A variant of the same kind stays: an MLA preset keeps the form chosen before.
    """
    s, every = state.settings(), mechanisms.variants()
    preset, variant = s["preset"], variant_of(s["preset"])
    s.update(sizes_of(preset))
    s.update({n: one.follows(preset) for n, one in SETTINGS.items() if one.follows})
    if preset == TRAINED:  # no seed and no text of any words goes with it
        s.update({name: state.default(name) for name in trained.DRAWN_ALONE})
    if preset != SMALL and every[variant].kind != every[s["variant"]].kind:
        s["variant"] = variant


def preset_name(key: str) -> str:
    """A preset's name, or the translated name of our small sizes."""
    if key in (SMALL, TRAINED):
        return t(f"common.{key}_sizes")
    return preset_of(key).name


def mend() -> list[Note]:
    """Bring sizes that depend on others to the nearest that can be; notes as `state.nearest`."""
    notes = checkpoint.prepare()
    if checkpoint.chosen():
        return notes
    s = state.settings()
    names = ("n_kv_heads", "d_rope") if _rotary_widths() else ("n_kv_heads",)
    return state.nearest(
        **{name: min(ladder(name), key=lambda n, near=s[name]: abs(n - near)) for name in names}
    )


def check(name: str, size: int) -> None:
    """Raise ValueError where the present model cannot have this size beside its others."""
    shown = present()
    if name != "n_heads":  # what depends on the heads is brought to them
        built(shown.base_of(shown.variant), {**shown.sizes, name: size}, shown.variant)


def _rotary_widths() -> tuple[int, ...]:
    """The widths that the preset's rotation was made for; empty if any will do."""
    base = present().base
    pairs = base.rope.n_pairs if base.rope else None
    return (0, 2 * pairs) if pairs and base.d_rope is not None else ()


def ladder(name: str) -> Sequence[int]:
    """The steps of a size's slider."""
    if name == "n_kv_heads":
        return divisors(state.settings()["n_heads"])
    return (name == "d_rope" and _rotary_widths()) or LADDERS[name]
