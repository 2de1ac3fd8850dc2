"""Compare: any two layers side by side, and what differs between them."""

from ui.frame import page
from ui.pages.compare import PAGE, charts, controls, words
from ui.pages.compare import view as views
from ui.parts import prose, questions

with page.frame(PAGE) as frame:
    view, refusals = views.view()
    prose.title(words.title(view))
    if view:
        prose.lead(*words.lead(view), words.look(view))
        questions.ask(words.question, view)

    controls.sides()
    for refusal in refusals:
        prose.refused(refusal)
    controls.below(view)
    if view:
        try:
            charts.draw(view)
        except ValueError as refusal:
            prose.refused(refusal)
        for sentence in words.limitations(view):
            prose.say(sentence)
    frame.view = view
