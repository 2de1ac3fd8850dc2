"""What the page trained_heads says in words."""

from mla_engine.language_model.heads import THRESHOLD
from ui.pages.trained_heads.view import View
from ui.words.numbers import TIED, count, fixed
from ui.words.text import t


def percent(part: float) -> str:
    """A share of 1 in whole per cent."""
    return t("common.percent", value=fixed(100 * part, 0))


def task(code: str) -> str:
    """A task's name."""
    return t(f"trained_heads.task_{code}")


def score(code: str) -> str:
    """A score's name."""
    return t(f"trained_heads.score_{code}")


def named(view: View, layer: int, head: int) -> str:
    """A head with its numbers and what it does."""
    name = view.scores.names()[layer][head]
    does = score(name) if name else t("trained_heads.mixed")
    return t("trained_heads.named", layer=count(layer), head=count(head), does=does)


def every(view: View) -> dict[str, str]:
    """Short name of each head -> its numbers and what it does, in the order of the layers."""
    layers, heads, _ = view.scores.table.shape
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    return {f"{layer}.{head}": named(view, layer, head) for layer, head in places}


def does(view: View) -> str:
    """The heads that have a name."""
    known = [every(view)[f"{i}.{k}"] for i, k in _with_name(view)]
    return t("trained_heads.known", heads="; ".join(known)) if known else t("trained_heads.unknown")


def hit(view: View) -> str:
    """The task that loses most."""
    changes = view.changes
    return min(changes, key=lambda code: changes[code].after - changes[code].before)


def lead(view: View) -> tuple[str, str]:
    """The statement on top: what is left of the task that loses most."""
    worst = hit(view)
    before, after = map(percent, view.changes[worst])
    line = t("trained_heads.line", task=task(worst), without=without(view), before=before)
    return after, line


def without(view: View) -> str:
    """What is cut, in a sentence."""
    cut = view.cut
    facts = {"layer": cut.layer, "head": cut.head, "rank": cut.rank, "keys": cut.keys}
    numbers = {name: count(number) for name, number in facts.items()}
    return t(f"trained_heads.without_{cut.kind}", **numbers)


def look(view: View) -> str:
    """Where to look: how many heads have a name."""
    known, heads = len(_with_name(view)), len(every(view))
    facts = {"named": count(known), "all": count(heads), "threshold": percent(THRESHOLD)}
    return t("trained_heads.look", **facts)


def map_alt(view: View, words: tuple[str, ...]) -> str:
    """The head's map in words."""
    return t(
        "trained_heads.alt_map",
        head=named(view, view.layer, view.head),
        text=" ".join(words).replace(" ", TIED),
    )


def _with_name(view: View) -> list[tuple[int, int]]:
    names = view.scores.names()
    return [(i, k) for i, layer in enumerate(names) for k, name in enumerate(layer) if name]
