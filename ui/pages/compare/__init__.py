"""Compare: any two layers side by side, and what differs between them.

Each topic is a panel, in a file of its own; of them one is shown.
"""

import streamlit as st

from ui.pages.compare import controls, costs, maps, side
from ui.pages.compare.costs import CostsTopic
from ui.pages.compare.flow import FlowTopic
from ui.pages.compare.maps import MapsTopic
from ui.pages.compare.topic import Topic
from ui.parts import prose, stops
from ui.parts.control import control
from ui.settings import state
from ui.settings.page import Page, Panel, Stops, any_layer, joined
from ui.settings.parsers import Setting, one_of
from ui.sources.model import present
from ui.words.text import t

TOPICS: dict[str, type[Topic]] = {one.name: one for one in (FlowTopic, CostsTopic, MapsTopic)}
AUTO = "auto"  # the maps of two trained models, the data flow of others
CHOICE = {"vs_view": Setting(AUTO, one_of(AUTO, *TOPICS), "segmented_control", options=[*TOPICS])}


def compared() -> tuple[Topic | None, list[ValueError]]:
    """Return the topic that is looked at; None where a layer is refused, with why."""
    model = present()
    sides, refusals = side.both(model)
    if refusals:
        return None, refusals
    name = state.chosen("compare").view
    if name == AUTO:
        name = "maps" if all(one.trained for one in sides) else "flow"
    return TOPICS[name](model, *sides), []


def shown() -> Topic:
    """Return the topic that is looked at.

    Raises:
        ValueError: a layer that is refused.
    """
    topic, refusals = compared()
    if topic is None:
        raise refusals[0]
    return topic


def _draw(topic: Topic) -> None:
    with prose.refusals():
        topic.draw()
    for sentence in topic.limitations():
        prose.say(sentence)


def panel(kind: type[Topic]) -> Panel:
    """Return a topic as a panel; a view of the page is the topic that is looked at."""
    return Panel(
        name=kind.name,
        settings=(*side.SETTINGS, *kind.settings),
        shown={"vs_view": kind.name},
        title=lambda topic: topic.title() if topic else t("compare.title"),
        lead=lambda topic: topic.lead(),
        look=lambda topic: topic.look(),
        alone=lambda _topic: controls.sides(),
        draw=_draw,
        question=lambda topic: topic.question(),
        code=lambda topic: topic.code(),
        snippet=lambda topic: topic.snippet(),
    )


def choose(topic: Topic | None) -> None:
    """Draw the choice of the topic, if there is any, and the way to give a model to a side."""
    with st.container(key="compare_below", horizontal=True, vertical_alignment="center"):
        if topic:
            control("vs_view", shown=topic.name, label_visibility="collapsed")
        controls.give()


def stops_here() -> Stops | None:
    """Return the topics; none where a layer is refused."""
    topic, _ = compared()
    return stops.of_views("vs_view", tuple(TOPICS), topic.name) if topic else None


PAGE = Page(
    name="compare",
    group="size",
    order=4,
    settings=joined(side.SETTINGS, CHOICE, costs.SETTINGS, maps.SETTINGS),
    checkpoints=any_layer,
    every_kind=True,
    trained=True,
    lecture=("vs_view", "vs_right"),
    stops=stops_here,
    mend=side.mend,
    view=shown,
    panels=tuple(map(panel, TOPICS.values())),
    code=lambda topic: topic.code(),
    snippet=lambda topic: topic.snippet(),
)
