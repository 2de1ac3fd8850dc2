"""What the page says of a trained layer: who looks where, what comes next, what makes the look."""

from mla_engine.language_model.heads import THRESHOLD
from ui.engine import head_scores
from ui.engine.trained_layer import TrainedLayer
from ui.pages.attention_maps import look as looks
from ui.pages.attention_maps.look import Look
from ui.parts.maps.reading import beyond, expectation, named, quoted
from ui.parts.maps.view import Maps
from ui.words.numbers import count, fixed, share
from ui.words.text import sentences, t

UNDONE = {"causal": True, "temperature": 1.0}  # as the model was trained


def lead(maps: Maps, look: Look) -> tuple[str, str]:
    """The cell's share; whose look it is, and what the model expects next."""
    return share(maps.share), sentences((_looks(maps, look), expectation(look.reading)))


def _looks(maps: Maps, look: Look) -> str:
    words, values = maps.run.words, {"head": count(maps.head)}
    values |= {"query": named(words, maps.query), "target": _target(maps, look)}
    if look.seen == 1:
        return t("attention_maps.look_alone", **values)
    if look.kind == "hidden":
        why = "hidden" if maps.key > maps.query else "not_chosen"
        return t(f"attention_maps.look_{why}", **values)
    if look.best == maps.key:
        return t("attention_maps.look_most", **values)
    best = t("attention_maps.itself") if look.best == maps.query else named(words, look.best)
    return t("attention_maps.look_some", most=share(look.most), best=best, **values)


def _target(maps: Maps, look: Look) -> str:
    """The key by its word, and what it is to the query."""
    words, back = maps.run.words, maps.query - maps.key
    if look.kind == "itself":
        return t("attention_maps.itself")
    if look.kind in ("hidden", "later", "same"):
        return named(words, maps.key)
    values = {"word": quoted(words[maps.query]), "n": count(back)}
    return named(words, maps.key) + t(f"attention_maps.key_{look.kind}", **values)


def under(maps: Maps, origin: TrainedLayer, look: Look) -> list[str]:
    """Below the map: which part makes the look, whether the head does so elsewhere, notes."""
    said = [_made(maps, look), _habit(maps, origin, look), _changed(maps)]
    return [one for one in (*said, beyond(origin, maps.run.words)) if one]


def _made(maps: Maps, look: Look) -> str:
    if look.seen == 1 or look.kind == "hidden" or not maps.parts:
        return ""
    content, position = looks.alone(maps)
    by = looks.verdict(content, position, maps.share, 1 / look.seen)
    values = {"content": share(content), "position": share(position), "share": share(maps.share)}
    return t(f"attention_maps.made_{by or 'no_look'}", **values)


def _habit(maps: Maps, origin: TrainedLayer, look: Look) -> str:
    found = looks.habit(maps, origin, look.kind)
    if found is None:
        return ""
    name, score = found
    values = {"score": t("common.percent", value=fixed(100 * score, 0)), "head": count(maps.head)}
    values |= {"texts": count(head_scores.texts(name)), "does": t(f"attention_maps.does_{name}")}
    return t(f"attention_maps.habit_{'named' if score >= THRESHOLD else 'not'}", **values)


def _changed(maps: Maps) -> str:
    """That the model itself reads on with its own mask and temperature."""
    own = {"causal": maps.causal, "temperature": maps.temperature} == UNDONE
    return "" if own else t("attention_maps.changed")
