"""The sentences of the page."""

from mla_engine.language_model.heads import THRESHOLD
from mla_engine.language_model.questions import SPARED, verdict
from ui.pages.trained_heads.view import Side, View
from ui.words.numbers import TIED, count, fixed
from ui.words.text import listed, sentences, t


def percent(part: float) -> str:
    """A share of 1 in whole per cent."""
    return t("common.percent", value=fixed(100 * part, 0))


def task(code: str) -> str:
    """A task's name."""
    return t(f"trained_heads.task_{code}")


def score(code: str) -> str:
    """A score's name."""
    return t(f"trained_heads.score_{code}")


def row(code: str) -> str:
    """A score's name where there is little room."""
    return t("trained_heads.row_previous") if code == "previous" else score(code)


def variant(code: str) -> str:
    """A model's name."""
    return t(f"trained_heads.variant_{code}")


def named(side: Side, layer: int, head: int) -> str:
    """A head with its numbers and what it does."""
    name = side.scores.names()[layer][head]
    does = score(name) if name else t("trained_heads.mixed")
    return t("trained_heads.named", layer=count(layer), head=count(head), does=does)


def every(side: Side) -> dict[str, str]:
    """Short name of each head -> its numbers and what it does, in the order of the layers."""
    layers, heads, _ = side.scores.table.shape
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    return {f"{layer}.{head}": named(side, layer, head) for layer, head in places}


def does(side: Side) -> str:
    """The heads that have a name, by name."""
    known = {}
    for layer, names in enumerate(side.scores.names()):
        for head, name in enumerate(names):
            known.setdefault(name, []).append(f"{layer}.{head}")
    known.pop(None, None)
    told = [
        t("trained_heads.of_name", name=score(name), heads=", ".join(heads))
        for name, heads in known.items()
    ]
    return t("trained_heads.known", heads="; ".join(told)) if told else t("trained_heads.unknown")


def hit(side: Side) -> str:
    """The task that loses most."""
    changes = side.changes
    return min(changes, key=lambda code: changes[code].after - changes[code].before)


def told(side: Side) -> str:
    """The task that the number on top is about: the heads' own, or the one that loses most."""
    return side.task or hit(side)


def lead(view: View) -> tuple[str, str]:
    """The statement on top: what is left of a task."""
    own = told(view)
    before, after = map(percent, view.changes[own])
    line = t("trained_heads.line", task=task(own), without=without(view), before=before)
    return after, line


def without(side: Side) -> str:
    """Return what is cut, for a sentence."""
    if side.cut is None:
        return t("trained_heads.without_nothing")
    cut = side.cut
    facts = {"layer": count(cut.layer), "rank": count(cut.rank), "keys": count(cut.keys)}
    facts["head"] = listed(map(count, cut.heads))
    return t(f"trained_heads.without_{cut.kind}", **facts)


def verdict_on(side: Side) -> str:
    """Say whether the heads that are cut do their task alone, and which task is hit harder."""
    if side.cut is None:
        return t("trained_heads.no_such_part", model=variant(side.variant))
    if side.cut.kind not in ("head", "namesakes"):
        return ""
    return sentences(filter(None, (_own(side), _hardest(side))))


def _own(side: Side) -> str:
    changes, own = side.changes, side.task
    if own is None:
        return t("trained_heads.verdict_unnamed")
    found, many = verdict(changes, own), len(side.cut.heads) > 1
    if found == "shared" and not side.others:
        found = "others_unseen"
    spared = [code for code, one in changes.items() if one.before - one.after < SPARED]
    return t(
        f"trained_heads.verdict_{found}{'_many' if many and found != 'unlearned' else ''}",
        task=task(own),
        before=percent(changes[own].before),
        after=percent(changes[own].after),
        others=count(side.others),
        spared=listed(map(task, spared)),
    )


def _hardest(side: Side) -> str:
    worst = hit(side)
    change = side.changes[worst]
    if worst == side.task or change.before - change.after < SPARED:
        return ""
    before, after = map(percent, change)
    return t("trained_heads.hardest", task=task(worst), before=before, after=after)


def asked(view: View) -> str:
    """Return how much was asked."""
    questions = view.questions
    facts = {"texts": len(questions.tokens), "answers": len(questions.answer)}
    return t("trained_heads.asked", **{name: count(number) for name, number in facts.items()})


def look(view: View) -> str:
    """Say where to look: how many heads have a name."""
    names = [name for layer in view.scores.names() for name in layer]
    facts = {"named": len([name for name in names if name]), "all": len(names)}
    facts = {name: count(number) for name, number in facts.items()}
    return t("trained_heads.look", threshold=percent(THRESHOLD), **facts)


def map_alt(view: View, words: tuple[str, ...]) -> str:
    """The head's map in words."""
    return t(
        "trained_heads.alt_map",
        head=named(view, view.layer, view.head),
        text=" ".join(words).replace(" ", TIED),
    )
