"""What the page shows: a trained model at a step, one of its heads, and a cut."""

from dataclasses import dataclass

from mla_engine import LatentConfig
from mla_engine.language_model.cuts import Change
from mla_engine.language_model.heads import HeadScores
from ui.pages.trained_heads import run, trained_models
from ui.pages.trained_heads.run import Cut
from ui.pages.trained_heads.settings import AUTO, FINISHED, VARIANTS
from ui.pages.trained_heads.trained_models import Trained
from ui.settings import state
from ui.settings.page import Note

GROUPED, CONTENT, ROTARY = ("head", "keys"), ("content", "rank"), ("rotary",)


@dataclass(frozen=True)
class View:
    """The present settings, as far as there are models for them.

    Args:
        variants: those whose models are there.
        variant: the one that is shown.
        steps: of its training that can be shown, the finished model last.
        step: the one that is shown.
        model: its file.
        text: the task of the example.
        cuts: what can be cut from it.
        cut: what is.
        layer: of the head.
        head: that is looked at, and cut off.
        most_rank: directions of the latent, 0 where there is none.
    """

    variants: tuple[str, ...]
    variant: str
    steps: tuple[int, ...]
    step: int
    model: Trained
    text: str
    cuts: tuple[str, ...]
    cut: Cut
    layer: int
    head: int
    most_rank: int

    @property
    def scores(self) -> HeadScores:
        """Of all heads."""
        return run.scores(self.model)

    @property
    def changes(self) -> dict[str, Change]:
        """Task -> right answers before and after the cut."""
        return run.broken(self.model, self.cut)


def view() -> View | None:
    """The present view; None where no model is there.

    Raises:
        CheckpointError: a file that is no model.
    """
    s, variants = state.settings(), trained_models.variants(VARIANTS)
    if not variants:
        return None
    variant = s["th_variant"] if s["th_variant"] in variants else variants[0]
    steps = (*trained_models.steps(variant)[:-1], FINISHED)
    step = _nearest(variant, s["th_step"])
    model = trained_models.of_step(variant, step)
    layer, head = _head(model, s["th_head"])
    config = run.attention(model)
    most_rank = config.d_latent_kv if isinstance(config, LatentConfig) else 0
    cuts = GROUPED + (CONTENT if most_rank else ()) + (ROTARY if _rotary(config) else ())
    kind = s["th_cut"] if s["th_cut"] in cuts else "head"
    return View(
        variants=tuple(variants),
        variant=variant,
        steps=steps,
        step=step,
        model=model,
        text=s["th_text"],
        cuts=cuts,
        cut=_cut(kind, layer, head, min(s["th_rank"], most_rank), s["th_keys"]),
        layer=layer,
        head=head,
        most_rank=most_rank,
    )


def mend() -> list[Note]:
    """What a link asks for, brought to what there is."""
    try:
        shown = view()
    except ValueError:  # said in the place of the picture
        return []
    if shown is None:
        return []
    asked = {"th_variant": shown.variant, "th_step": shown.step, "th_cut": shown.cut.kind}
    if state.settings()["th_head"] != AUTO:
        asked["th_head"] = f"{shown.layer}.{shown.head}"
    if shown.cut.kind == "rank":
        asked["th_rank"] = shown.cut.rank
    return state.nearest(**asked)


def _nearest(variant: str, step: int) -> int:
    """The nearest step that has a snapshot; the last one is that of the finished model."""
    known = trained_models.steps(variant)
    if step == FINISHED or not known:
        return FINISHED
    nearest = min(known, key=lambda one: abs(one - step))
    return FINISHED if nearest == known[-1] else nearest


def _rotary(config: object) -> bool:
    return isinstance(config, LatentConfig) and config.d_rope > 0


def _cut(kind: str, layer: int, head: int, rank: int, keys: int) -> Cut:
    """A cut that says no more than its kind uses, so that each is computed once."""
    uses = {"head": {"layer": layer, "head": head}, "rank": {"rank": rank}, "keys": {"keys": keys}}
    return Cut(kind, **uses.get(kind, {}))


def _head(model: Trained, asked: str) -> tuple[int, int]:
    """The layer and head that are asked for; else those that do induction most."""
    table = run.scores(model).table
    if asked != AUTO:
        layer, head = map(int, asked.split("."))
        if layer < table.shape[0] and head < table.shape[1]:
            return layer, head
    strongest = table[:, :, run.scores(model).kinds.index("induction")].argmax()
    return divmod(int(strongest), table.shape[1])
