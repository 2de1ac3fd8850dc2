"""The view of the page: a trained model at a step, a head, a cut; perhaps another model."""

from dataclasses import dataclass

from mla_engine import LatentConfig
from mla_engine.language_model.cuts import Change
from mla_engine.language_model.heads import SCORES, THRESHOLD, HeadScores
from mla_engine.language_model.questions import Questions
from ui.pages.trained_heads import run, trained_models
from ui.pages.trained_heads.run import Cut
from ui.pages.trained_heads.settings import ALONE, AUTO, FINISHED, VARIANTS
from ui.pages.trained_heads.trained_models import Trained
from ui.settings import state
from ui.settings.page import Note

HEADS = ("head", "namesakes")  # cuts that take heads away


@dataclass(frozen=True, kw_only=True)
class Side:
    """One model, one of its heads, and what is cut from it.

    Args:
        variant: of the model.
        model: its file.
        layer: of the head.
        head: that is looked at.
        cut: what is taken away, None where the model has no such part.
    """

    variant: str
    model: Trained
    layer: int
    head: int
    cut: Cut | None

    @property
    def scores(self) -> HeadScores:
        """The scores of all heads."""
        return run.scores(self.model)

    @property
    def changes(self) -> dict[str, Change]:
        """Task -> right answers before and after the cut."""
        return run.broken(self.model, self.cut)

    @property
    def kind(self) -> str | None:
        """The score that the head is named after."""
        return self.scores.names()[self.layer][self.head]

    @property
    def task(self) -> str | None:
        """The task of the heads that are cut; None where it is no heads, or one without a name."""
        heads_cut = self.cut and self.cut.kind in HEADS
        return SCORES[self.kind].task if heads_cut and self.kind else None

    @property
    def others(self) -> int:
        """Heads that are left and look where the head that is cut is named for."""
        looks = self.scores.table[:, :, self.scores.kinds.index(self.kind)] >= THRESHOLD
        cut = looks[self.layer, list(self.cut.heads)].sum()
        return int(looks.sum() - cut)


@dataclass(frozen=True, kw_only=True)
class View(Side):
    """The present settings, as far as there are models for them.

    Args:
        variants: those whose models are there.
        steps: of its training that can be shown, the finished model last.
        step: the one that is shown.
        text: the task of the example.
        cuts: what can be cut from it.
        most_rank: directions of the latent, 0 where there is none.
        beside: another model with the same cut.
    """

    variants: tuple[str, ...]
    steps: tuple[int, ...]
    step: int
    text: str
    cuts: tuple[str, ...]
    most_rank: int
    beside: Side | None

    @property
    def sides(self) -> tuple[Side, ...]:
        """The model, and the one beside it."""
        return (self, self.beside) if self.beside else (self,)

    @property
    def questions(self) -> Questions:
        """The questions that the models are asked."""
        return run.questions(run.loaded(self.model).config.words)


def view() -> View | None:
    """The present view; None where no model is there.

    Raises:
        CheckpointError: a file that is no model.
    """
    s, variants = state.settings(), trained_models.variants(VARIANTS)
    if not variants:
        return None
    variant = s["th_variant"] if s["th_variant"] in variants else variants[0]
    step = _nearest(variant, s["th_step"])
    model = trained_models.of_step(variant, step)
    layer, head = _head(model, s["th_head"])
    cuts = _cuts(model, layer, head)
    kind = s["th_cut"] if s["th_cut"] in cuts else "head"
    side = {"variant": variant, "model": model, "layer": layer, "head": head}
    first = Side(**side, cut=_cut(kind, model, layer, head))
    other = s["th_beside"] if s["th_beside"] in variants else ALONE
    return View(
        **vars(first),
        variants=tuple(variants),
        steps=(*trained_models.steps(variant)[:-1], FINISHED),
        step=step,
        text=s["th_text"],
        cuts=cuts,
        most_rank=_most_rank(model),
        beside=None if other in (ALONE, variant) else _beside(first, other),
    )


def cut_of(view: View, kind: str) -> Cut:
    """Return what another cut takes from the model and the head that are shown."""
    return _cut(kind, view.model, view.layer, view.head)


def neighbours(view: View) -> tuple[int, ...]:
    """The steps of the training before and after the one that is shown."""
    at = view.steps.index(view.step)
    return view.steps[max(at - 1, 0) : at] + view.steps[at + 1 : at + 2]


def mend() -> list[Note]:
    """Bring what a link asks for to what there is."""
    try:
        shown = view()
    except ValueError:  # said in the place of the picture
        return []
    if shown is None:
        return []
    asked = {"th_variant": shown.variant, "th_step": shown.step, "th_cut": shown.cut.kind}
    asked["th_beside"] = shown.beside.variant if shown.beside else ALONE
    if state.settings()["th_head"] != AUTO:
        asked["th_head"] = f"{shown.layer}.{shown.head}"
    if shown.cut.kind == "rank":
        asked["th_rank"] = shown.cut.rank
    return state.nearest(**asked)


def _beside(first: Side, variant: str) -> Side:
    """Another finished model, its head of the same name, and the same cut where it can be."""
    model = trained_models.of_step(variant, FINISHED)
    layer, head = first.layer, first.head
    if first.kind:
        layer, head = _strongest(model, first.kind)
    layers, heads, _ = run.scores(model).table.shape
    layer, head = min(layer, layers - 1), min(head, heads - 1)
    kind = first.cut.kind
    can = kind == "namesakes" or kind in _cuts(model, layer, head)
    cut = _cut(kind, model, layer, head) if can else None
    return Side(variant=variant, model=model, layer=layer, head=head, cut=cut)


def _nearest(variant: str, step: int) -> int:
    """The nearest step that has a snapshot; the last one is that of the finished model."""
    known = trained_models.steps(variant)
    if step == FINISHED or not known:
        return FINISHED
    nearest = min(known, key=lambda one: abs(one - step))
    return FINISHED if nearest == known[-1] else nearest


def _cuts(model: Trained, layer: int, head: int) -> tuple[str, ...]:
    """Return what can be taken away from a model, in the order of the control."""
    config = run.attention(model)
    latent = isinstance(config, LatentConfig)
    offered = {
        "head": True,
        "namesakes": len(_namesakes(model, layer, head)) > 1,
        "keys": True,
        "content": latent,
        "rank": latent,
        "rotary": latent and config.d_rope > 0,
    }
    return tuple(kind for kind, can in offered.items() if can)


def _most_rank(model: Trained) -> int:
    config = run.attention(model)
    return config.d_latent_kv if isinstance(config, LatentConfig) else 0


def _cut(kind: str, model: Trained, layer: int, head: int) -> Cut:
    """A cut that says no more than its kind uses, so that each is computed once."""
    s = state.settings()
    uses = {
        "head": {"layer": layer, "heads": (head,)},
        "namesakes": {"layer": layer, "heads": _namesakes(model, layer, head)},
        "rank": {"rank": min(s["th_rank"], _most_rank(model))},
        "keys": {"keys": s["th_keys"]},
    }
    return Cut(kind, **uses.get(kind, {}))


def _namesakes(model: Trained, layer: int, head: int) -> tuple[int, ...]:
    """The heads of a layer that have the name of one of them; only that one if it has none."""
    names = run.scores(model).names()[layer]
    return tuple(i for i, name in enumerate(names) if i == head or (name and name == names[head]))


def _head(model: Trained, asked: str) -> tuple[int, int]:
    """The layer and head that are asked for; else those that look at the previous word most."""
    table = run.scores(model).table
    if asked != AUTO:
        layer, head = map(int, asked.split("."))
        if layer < table.shape[0] and head < table.shape[1]:
            return layer, head
    return _strongest(model, "previous")


def _strongest(model: Trained, kind: str) -> tuple[int, int]:
    """The head that has most of a score, among those that are named after it if there are any."""
    scores = run.scores(model)
    table = scores.table[:, :, scores.kinds.index(kind)]
    named = table.new_tensor([[name == kind for name in layer] for layer in scores.names()])
    return divmod(int((table + named).argmax()), table.shape[1])
