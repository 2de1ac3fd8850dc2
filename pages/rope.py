"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map."""

from ui.frame import page, panels
from ui.pages.rope import PAGE
from ui.pages.rope.head import Topic
from ui.parts import prose, questions
from ui.parts.control import control
from ui.settings import state


def storyboard() -> Topic | None:
    """Draw the page: of its panels the one that is chosen."""
    panel = PAGE.panel(state.settings()["rope_topic"])
    prose.title(panel.title(None))
    try:
        topic = PAGE.view()
    except ValueError as error:
        prose.refused(error)
        control("rope_topic", label_visibility="collapsed")
        return None
    prose.lead(*panel.lead(topic), panel.look(topic))
    questions.ask(panel.question, topic)
    control("rope_topic", label_visibility="collapsed")
    panels.body(PAGE, panel, topic)
    return topic


page.show(PAGE, storyboard)
