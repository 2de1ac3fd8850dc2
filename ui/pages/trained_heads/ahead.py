"""Work for the next press, computed while the reader looks at what is there."""

from collections.abc import Iterator
from dataclasses import replace

from ui.pages.trained_heads import run, trained_models
from ui.pages.trained_heads.run import Cut
from ui.pages.trained_heads.trained_models import Trained
from ui.pages.trained_heads.view import View, cut_of, neighbours


def ahead(view: View) -> None:
    """Compute it at the end of a run, as a press ends a run: one asked for goes first.

    All sessions share it, so of a class only the first one has it computed.
    """
    for model, cut in likely(view):
        run.broken(model, cut)


def likely(view: View) -> Iterator[tuple[Trained, Cut]]:
    """Another head, another cut of this one, the step of the training before and after."""
    layers, heads, _ = view.scores.table.shape
    if view.cut.kind == "head":
        for layer in range(layers):
            for head in range(heads):
                yield view.model, replace(view.cut, layer=layer, heads=(head,))
    for step in neighbours(view):
        yield trained_models.of_step(view.variant, step), view.cut
    for kind in sorted(view.cuts, key=lambda kind: kind == "keys"):  # which takes longest
        yield view.model, cut_of(view, kind)
