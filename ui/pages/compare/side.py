"""One of the two layers that are compared, as the settings choose it."""

from dataclasses import dataclass

from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.mechanism import Form
from ui.parts.flow import Overview
from ui.parts.maps.view import WHOLE
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import Setting, has_preset, one_of, preset, preset_of
from ui.settings.shared import VARIANTS
from ui.settings.sizes import SMALL_CONFIG, longest, sizes_of, variant_of
from ui.sources import Checkpoint, Source, Trained
from ui.sources.model import Model, built, present, preset_name
from ui.words.text import safe, t

SIDES = {"A": "vs_left", "B": "vs_right"}
SHARED_SIZES = "shared"  # those chosen above the page
OWN = "own"  # attention of the model
BF16_BYTES = 2


def comparable(text: str) -> str:
    """A published model, our own small sizes, or those chosen above the page."""
    return text if text == SHARED_SIZES else preset(text)


SETTINGS = {
    "vs_left": Setting(SHARED_SIZES, comparable, "selectbox"),
    "vs_left_as": Setting(OWN, one_of(OWN, *VARIANTS), "selectbox"),
    "vs_right": Setting(SHARED_SIZES, comparable, "selectbox"),
    "vs_right_as": Setting("mha", one_of(OWN, *VARIANTS), "selectbox"),
}


@dataclass(frozen=True, kw_only=True)
class Side:
    """A layer of a published model, or of what is chosen above the page, in a variant.

    Args:
        letter: "A" or "B".
        model: what its sizes are of, as plain text.
        config: its configuration.
        variant: what it is shown as.
        source: of its weights.
        preset: the published model that the sizes are from, if from one.
        loaded: the real layer that is chosen above, if this is it: also where its weights do not
            fit the variant.
    """

    letter: str
    model: str
    config: AttentionConfig
    variant: str
    source: Source
    preset: str | None = None
    loaded: Checkpoint | None = None

    @property
    def form(self) -> Form:
        """The form that it is computed in."""
        return mechanisms.form_of(self.variant)

    @property
    def trained(self) -> bool:
        """True where it is a layer of a trained model."""
        return isinstance(self.source, Trained)

    @property
    def fixed_bytes(self) -> int:
        """The bytes that it keeps at most beside what grows, whatever the context."""
        return costs.fixed_bytes(self.config, BF16_BYTES)

    @property
    def name(self) -> str:
        """Letter, model and variant, as plain text."""
        return self._named(self.model)

    @property
    def shown_name(self) -> str:
        """Letter, model and variant, as Markdown."""
        return self._named(safe(self.model) if self.loaded else self.model)

    def _named(self, model: str) -> str:
        variant = t(f"common.{self.variant}")
        return t("compare.name", letter=self.letter, model=model, variant=variant)

    @property
    def flow(self) -> Overview:
        """Its data flow."""
        return Overview(self.config, self.form.symbols)


def both(model: Model) -> tuple[list[Side], list[ValueError]]:
    """Return the layers that the settings choose, and why one of them cannot be."""
    found, refusals = [], []
    for letter in SIDES:
        try:
            found.append(_side(letter, model))
        except ValueError as refusal:
            refusals.append(refusal)
    return found, refusals


def _side(letter: str, model: Model) -> Side:
    key, wanted = wanted_of(letter)
    if key == SHARED_SIZES:
        return _shared(letter, model, served(model.variant) if wanted == OWN else wanted)
    return Side(
        letter=letter,
        model=preset_name(key),
        config=_config(key, wanted),
        variant=served(variant_of(key)) if wanted == OWN else wanted,
        source=model.drawn,
        preset=_published(key),
    )


def _config(key: str, wanted: str) -> AttentionConfig:
    """Return a model's own attention, or its sizes in another: in its own of that kind, if any."""
    preset = preset_of(key) if has_preset(key) else None
    base = preset.config if preset else SMALL_CONFIG
    if wanted == OWN:
        return base
    own = preset and preset.beside_of(mechanisms.variants()[wanted].kind)
    return own or built(base, sizes_of(key), wanted)


def served(variant: str) -> str:
    """Return the variant of the same kind that is served token by token: of MLA the absorbed."""
    mechanism = mechanisms.of_variant(variant)
    form = mechanism.decoded_by[mechanism.caches[0].kind]
    kind = mechanisms.variants()[variant].kind
    same = (one for one in mechanism.variants if one.kind == kind)
    return next(one.code for one in same if one.form == form)


def _shared(letter: str, model: Model, variant: str) -> Side:
    config = model.config(variant)
    plain, source = model.checkpoint or not model.changed, model.source_of(config)
    name = model.name if plain else t("compare.changed", model=model.name)
    return Side(
        letter=letter,
        model=t("compare.trained") if isinstance(source, Trained) else name,
        config=config,
        variant=variant,
        source=source,
        preset=None if model.checkpoint else _published(model.preset),
        loaded=model.checkpoint,
    )


def _published(key: str) -> str | None:
    return key if has_preset(key) else None


def wanted_of(letter: str) -> tuple[str, str]:
    """Return what the sizes of a side are of, and the variant that it is shown as."""
    s = state.settings()
    return s[SIDES[letter]], s[f"{SIDES[letter]}_as"]


def keys() -> list[str]:
    """Return what the sizes of each side are of."""
    return [wanted_of(letter)[0] for letter in SIDES]


def above() -> str:
    """Return the preset that is chosen above the page."""
    return state.settings()["preset"]


def most_tokens() -> int:
    """Return the length that one of the models was published for."""
    return longest(*(above() if key == SHARED_SIZES else key for key in keys()))


def mend() -> list[Note]:
    """Bring head and context to the most that one of the sides has."""
    above = present().sizes
    sizes = [above if key == SHARED_SIZES else sizes_of(key) for key in keys()]
    most = max(size["n_heads"] for size in sizes) - 1
    return state.at_most(vs_head=most, vs_context=most_tokens(), map_generated=WHOLE)
