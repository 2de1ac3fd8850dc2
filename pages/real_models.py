"""Real models: one attention of a checkpoint, its maps or state, matrices and kinds of heads."""

import streamlit as st

from ui.frame import page
from ui.pages.real_models import PAGE, controls, kinds, words
from ui.pages.real_models import view as views
from ui.parts import maps, prose, real_layer
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("real_models.title"))
    try:
        view, error = views.view(), None
    except ValueError as refusal:
        view, error = None, refusal

    if view:
        kind = kinds.of(view)
        prose.lead(*kind.lead(view), kind.look(view))
    else:
        prose.say(t("real_models.look_empty"))

    pictures, side = st.columns([16, 5], gap="medium")
    with side:
        if view:
            maps.controls.head_control()
            prose.say(kind.chosen(view))
            kind.cell(view)
        real_layer.controls(own_place=True)
        controls.activations()
    if view:
        with pictures:
            kind.first(view)
        kind.below(view)
        kind.listen(view)
    else:
        with pictures:
            if error:
                prose.refused(error)
            real_layer.demo_button()
            prose.say(words.families())
            prose.say(t("real_models.demo_how"))
    frame.view = view
