"""Compare: any two layers side by side, and what differs between them."""

from ui.frame import page, panels
from ui.pages.compare import PAGE, choose, compared, controls
from ui.pages.compare.topic import Topic
from ui.parts import prose, questions


def storyboard() -> Topic | None:
    """Draw the page: of its panels the one that is looked at."""
    topic, refusals = compared()
    panel = PAGE.panel(topic.name) if topic else PAGE.panels[0]
    prose.title(panel.title(topic))
    if topic:
        prose.lead(*panel.lead(topic), panel.look(topic))
        questions.ask(panel.question, topic)
    controls.sides()
    for refusal in refusals:
        prose.refused(refusal)
    choose(topic)
    if topic:
        panels.body(PAGE, panel, topic)
    return topic


page.show(PAGE, storyboard)
