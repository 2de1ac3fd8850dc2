"""Compare: any two layers side by side, and what differs between them."""

from ui.frame import page
from ui.pages.compare import PAGE, choose, compared, controls
from ui.parts import prose, questions
from ui.words.text import t

with page.frame(PAGE) as frame:
    topic, refusals = compared()
    prose.title(topic.title() if topic else t("compare.title"))
    if topic:
        prose.lead(*topic.lead(), topic.look())
        questions.ask(lambda shown: shown.question(), topic)

    controls.sides()
    for refusal in refusals:
        prose.refused(refusal)
    choose(topic)
    if topic:
        try:
            topic.draw()
        except ValueError as refusal:
            prose.refused(refusal)
        for sentence in topic.limitations():
            prose.say(sentence)
    frame.view = topic
