"""The view of the comparison: two layers, A and B, and the topic that is looked at."""

from dataclasses import dataclass

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from ui.engine import model as models
from ui.engine.model import Model, present
from ui.engine.trained_layer import TrainedLayer
from ui.pages.compare.settings import AUTO, SHARED_SIZES
from ui.pages.compare.side import Side
from ui.parts.maps.view import WHOLE, words
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import has_preset, preset_of
from ui.settings.sizes import longest, sizes_of, variant_of
from ui.words.text import t

SIDES = {"A": "vs_left", "B": "vs_right"}
OWN = "own"


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything that is shown.

    Args:
        model: what the shared settings choose.
        a: the left layer.
        b: the right one.
        wanted: the topic that is set.
        context: tokens whose cache and costs are compared.
        wanted_map: "attention" or "scores".
        head: the number of the head whose maps are compared.
        words: the tokens that both layers read.
    """

    model: Model
    a: Side
    b: Side
    wanted: str
    context: int
    wanted_map: str
    head: int
    words: tuple[str, ...]

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both layers."""
        return self.a, self.b

    @property
    def trained(self) -> bool:
        """True where both are layers of trained models, which read the same sentence."""
        return all(isinstance(side.origin, TrainedLayer) for side in self.sides)

    @property
    def topic(self) -> str:
        """The topic: "flow", "costs" or "maps"."""
        first = "maps" if self.trained else "flow"
        return first if self.wanted == AUTO else self.wanted

    @property
    def linear(self) -> bool:
        """True where a side reads a state: it has weights of either sign, and no logits."""
        return any(mechanisms.form_of(side.variant).read for side in self.sides)

    @property
    def map(self) -> str:
        """The kind of the maps: "attention", "scores", or "weights" of either sign."""
        return "weights" if self.linear else self.wanted_map

    def head_of(self, side: Side) -> int:
        """The chosen head, or the side's last."""
        return min(self.head, side.config.n_heads - 1)


def view() -> tuple[View | None, list[ValueError]]:
    """Return the view of the present settings; None where a layer is refused, with why."""
    s, model = state.settings(), present()
    found, refusals = [], []
    for letter in SIDES:
        try:
            found.append(_side(letter, model))
        except ValueError as refusal:
            refusals.append(refusal)
    if refusals:
        return None, refusals
    a, b = found
    shown = View(
        model=model,
        a=a,
        b=b,
        wanted=s["vs_view"],
        context=s["vs_context"],
        wanted_map=s["vs_map"],
        head=s["vs_head"],
        words=words(state.chosen("attention_maps")),
    )
    return shown, []


def _side(letter: str, model: Model) -> Side:
    s = state.settings()
    key, wanted = s[SIDES[letter]], s[f"{SIDES[letter]}_as"]
    if key == SHARED_SIZES:
        return _shared(letter, model, served(model.variant) if wanted == OWN else wanted)
    return Side(
        letter=letter,
        model=models.preset_name(key),
        config=_config(key, wanted),
        variant=served(variant_of(key)) if wanted == OWN else wanted,
        origin=model.seed,
        preset=_published(key),
    )


def _config(key: str, wanted: str) -> AttentionConfig:
    """A model's own attention, or its sizes in another: in its own of that kind where it has it."""
    preset = preset_of(key) if has_preset(key) else None
    if wanted == OWN:
        return preset.config if preset else models.SMALL_CONFIG
    own = preset and preset.beside_of(mechanisms.variants()[wanted].kind)
    base = preset.config if preset else models.SMALL_CONFIG
    return own or models.built(base, sizes_of(key), wanted)


def served(variant: str) -> str:
    """The variant of the same kind that is served, token by token: of MLA the absorbed one."""
    mechanism = mechanisms.of_variant(variant)
    form = mechanism.decoded_by[mechanism.caches[0].kind]
    kind = mechanisms.variants()[variant].kind
    same = (one for one in mechanism.variants if one.kind == kind)
    return next(one.code for one in same if one.form == form)


def _shared(letter: str, model: Model, variant: str) -> Side:
    config = model.config(variant)
    plain, origin = model.layer or not model.changed, model.origin(config)
    name = model.name if plain else t("compare.changed", model=model.name)
    return Side(
        letter=letter,
        model=t("compare.trained") if isinstance(origin, TrainedLayer) else name,
        config=config,
        variant=variant,
        origin=origin,
        preset=None if model.layer else _published(model.preset),
        loaded=model.layer,
    )


def _published(key: str) -> str | None:
    return key if has_preset(key) else None


def most_tokens() -> int:
    """The length that one of the models was published for."""
    s = state.settings()
    keys = [s["preset"] if s[name] == SHARED_SIZES else s[name] for name in SIDES.values()]
    return longest(*keys)


def mend() -> list[Note]:
    """Bring head and context to the most that one of the sides has."""
    model = present()
    keys = [state.settings()[name] for name in SIDES.values()]
    sizes = [model.sizes if key == SHARED_SIZES else sizes_of(key) for key in keys]
    notes = state.at_most(vs_head=max(size["n_heads"] for size in sizes) - 1)
    return notes + state.at_most(vs_context=most_tokens(), map_generated=WHOLE)
