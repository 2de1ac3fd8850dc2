"""What the page on rotations shows: a topic, the reader's choices, and the numbers of one head."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mla_engine import RopeConfig
from ui.engine.model import Model, present
from ui.pages.rope import run
from ui.pages.rope.run import Frequencies, Head, Merged, Reading, Turning
from ui.settings import state
from ui.settings.page import Note
from ui.words.text import t

Found = Turning | Merged | Reading | Frequencies
TOPICS = ("turning", "merged", "pairing", "scale", "yarn")


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """Everything that is shown.

    Args:
        topic: which of the page's ideas this is, one of TOPICS.
        model: what the shared settings choose.
        head: the head that is run.
        query: the position at which the query stands.
        key: the position at which the key stands.
        pair: the pair of the rotary part that is drawn in its plane.
        distance: between query and key, where the merged matrix is shown.
        mistake: how the topic's convention is read wrongly; empty where the topic has none.
        find: gives the numbers of the topic; the view holds none itself.
    """

    topic: str
    model: Model
    head: Head
    query: int
    key: int
    pair: int
    distance: int
    mistake: str
    find: Callable[[], Found]

    @property
    def found(self) -> Found:
        """The numbers of the topic."""
        return self.find()


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is.

    Raises:
        ValueError, MemoryBudgetError: sizes that no layer can have, no rotary part, a run too big.
    """
    s, model = state.settings(), present()
    topic, head = s["rope_topic"], _head(s, model)
    mistake = s[f"rope_{topic}"] if topic in ("pairing", "scale") else ""
    find = _finding(s, head)
    find()  # now, so that a refusal is told in the place of the view
    return View(
        topic=topic,
        model=model,
        head=head,
        query=s["rope_query"],
        key=s["rope_key"],
        pair=s["rope_pair"],
        distance=s["rope_distance"],
        mistake=mistake,
        find=find,
    )


def _head(s: Mapping[str, Any], model: Model) -> Head:
    config = model.config("mla")
    if not config.d_rope:
        raise ValueError(t("rope.no_width"))
    if config.rope is None:
        config = replace(config, rope=RopeConfig())
    start = s["rope_start"] if s["rope_topic"] == "pairing" else 0
    origin = model.origin(config)
    return Head(config, config.rope, origin, s["rope_head"], model.words, start)


def _finding(s: Mapping[str, Any], head: Head) -> Callable[[], Found]:
    match s["rope_topic"]:
        case "turning":
            return partial(run.turning, head, s["rope_pair"])
        case "merged":
            return partial(run.merged, head, s["rope_distance"])
        case "pairing":
            return partial(run.reading, head, s["rope_pairing"], "own")
        case "scale":
            return partial(run.reading, head, "own", s["rope_scale"])
        case _:
            return partial(run.frequencies, head.rope, head.config.d_rope)


def mend() -> list[Note]:
    """Bring head and pair to the nearest that there are."""
    sizes = present().sizes
    return state.at_most(rope_head=sizes["n_heads"] - 1, rope_pair=max(0, sizes["d_rope"] // 2 - 1))
