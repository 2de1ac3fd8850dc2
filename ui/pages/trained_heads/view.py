"""The view of the page: a trained model at a step, a head, a cut; perhaps another model."""

from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace

from mla_engine.language_model.cuts import Change
from mla_engine.language_model.heads import SCORES, THRESHOLD, HeadScores
from ui.pages.trained_heads import run
from ui.pages.trained_heads.run import FINISHED, Cut, ModelFile
from ui.settings import state
from ui.settings.page import Note
from ui.words.numbers import count
from ui.words.text import t

AUTO = "auto"  # the head that looks at the previous word most
ALONE = "alone"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One model, one of its heads, and what is cut from it.

    Args:
        chosen: the page's own settings.
        variant: of the model.
        model: its file.
        layer: of the head.
        head: that is looked at.
        cut: what is taken away, None where the model has no such part.
    """

    chosen: SimpleNamespace
    variant: str
    model: ModelFile
    layer: int
    head: int
    cut: Cut | None = None

    @property
    def scores(self) -> HeadScores:
        """The scores of all heads."""
        return run.scores(self.model)

    @property
    def changes(self) -> dict[str, Change]:
        """Task -> right answers before and after the cut."""
        return run.broken(self.model, self.cut)

    @property
    def name(self) -> str | None:
        """The score that the head is named after."""
        return self.scores.names()[self.layer][self.head]

    @property
    def namesakes(self) -> tuple[int, ...]:
        """The heads of its layer that have its name; only itself if it has none."""
        names = self.scores.names()[self.layer]
        return tuple(
            i for i, name in enumerate(names) if i == self.head or (name and name == self.name)
        )

    @property
    def task(self) -> str | None:
        """The task of the heads that are cut; None where it is no heads, or one without a name."""
        return SCORES[self.name].task if self.cut and self.cut.heads and self.name else None

    @property
    def others(self) -> int:
        """Heads that are left and look where the head that is cut is named for."""
        looks = self.scores.table[:, :, self.scores.kinds.index(self.name)] >= THRESHOLD
        cut = looks[self.layer, list(self.cut.heads)].sum()
        return int(looks.sum() - cut)

    @property
    def most_rank(self) -> int:
        """Directions of the latent, 0 where there is none."""
        config = run.attention(self.model)
        return config.d_latent_kv or 0

    @property
    def cuts(self) -> tuple[str, ...]:
        """The kinds of cuts that the model has, in the order of the control."""
        latent = self.most_rank > 0
        offered = {
            "head": True,
            "namesakes": len(self.namesakes) > 1,
            "keys": True,
            "content": latent,
            "rank": latent,
            "rotary": latent and run.attention(self.model).d_rope > 0,
        }
        return tuple(kind for kind, can in offered.items() if can)

    def taking(self, kind: str) -> Cut:
        """Return a kind of cut, with no more than it uses, so that each is computed once."""
        uses = {
            "head": {"layer": self.layer, "heads": (self.head,)},
            "namesakes": {"layer": self.layer, "heads": self.namesakes},
            "rank": {"rank": min(self.chosen.rank, self.most_rank)},
            "keys": {"keys": self.chosen.keys},
        }
        return Cut(kind, **uses.get(kind, {}))

    def named(self, layer: int, head: int) -> str:
        """Return a head's numbers and what it does."""
        name = self.scores.names()[layer][head]
        does = score(name) if name else t("trained_heads.mixed")
        return t("trained_heads.named", layer=count(layer), head=count(head), does=does)


@dataclass(frozen=True, kw_only=True)
class View(Side):
    """The present settings, as far as there are models for them.

    Args:
        step: of the training that is shown.
    """

    step: int

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The steps of the training that can be shown, the finished model last."""
        return (*run.steps(self.variant)[:-1], FINISHED)

    @cached_property
    def beside(self) -> Side | None:
        """Another finished model, its head of the same name, and the same cut where it can be.

        Raises:
            CheckpointError: a file that is no model.
        """
        variant = self.chosen.beside
        if variant == self.variant or variant not in run.variants():
            return None
        model = run.of_step(variant, FINISHED)
        layer, head = _strongest(model, self.name) if self.name else (self.layer, self.head)
        layers, heads, _ = run.scores(model).table.shape
        layer, head = min(layer, layers - 1), min(head, heads - 1)
        side = Side(chosen=self.chosen, variant=variant, model=model, layer=layer, head=head)
        can = self.cut.kind in (*side.cuts, "namesakes")
        return replace(side, cut=side.taking(self.cut.kind)) if can else side

    @property
    def sides(self) -> tuple[Side, ...]:
        """The model, and the one beside it."""
        return (self, self.beside) if self.beside else (self,)


def view() -> View | None:
    """Return the present view; None where no model is there.

    Raises:
        CheckpointError: a file that is no model.
    """
    chosen, variants = state.chosen("trained_heads"), run.variants()
    if not variants:
        return None
    variant = chosen.variant if chosen.variant in variants else variants[0]
    step = _nearest(variant, chosen.step)
    model = run.of_step(variant, step)
    layer, head = _head(model, chosen.head)
    uncut = View(chosen=chosen, variant=variant, model=model, layer=layer, head=head, step=step)
    kind = chosen.cut if chosen.cut in uncut.cuts else "head"
    found = replace(uncut, cut=uncut.taking(kind))
    _ = found.beside
    return found


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
    if shown.chosen.head != AUTO:
        asked["th_head"] = f"{shown.layer}.{shown.head}"
    if shown.cut.kind == "rank":
        asked["th_rank"] = shown.cut.rank
    return state.nearest(**asked)


def _nearest(variant: str, step: int) -> int:
    """Return the nearest step that has a snapshot; the last one is that of the finished model."""
    known = run.steps(variant)
    if step == FINISHED or not known:
        return FINISHED
    nearest = min(known, key=lambda one: abs(one - step))
    return FINISHED if nearest == known[-1] else nearest


def _head(model: ModelFile, asked: str) -> tuple[int, int]:
    """Return the layer and head asked for; else those that look at the previous word most."""
    table = run.scores(model).table
    if asked != AUTO:
        layer, head = map(int, asked.split("."))
        if layer < table.shape[0] and head < table.shape[1]:
            return layer, head
    return _strongest(model, "previous")


def _strongest(model: ModelFile, kind: str) -> tuple[int, int]:
    """Return the head that has most of a score, among those that are named after it if any are."""
    scores = run.scores(model)
    table = scores.table[:, :, scores.kinds.index(kind)]
    named = table.new_tensor([[name == kind for name in layer] for layer in scores.names()])
    return divmod(int((table + named).argmax()), table.shape[1])


def task(code: str) -> str:
    """Return a task's name."""
    return t(f"trained_heads.task_{code}")


def score(code: str) -> str:
    """Return a score's name."""
    return t(f"trained_heads.score_{code}")


def variant(code: str) -> str:
    """Return a model's name."""
    return t(f"trained_heads.variant_{code}")
