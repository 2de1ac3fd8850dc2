"""Real models: one attention of a checkpoint, its maps or state, matrices and kinds of heads."""

import streamlit as st

from ui.frame import page
from ui.pages.real_models import PAGE, families, kind_of, sentences, uploads
from ui.pages.real_models import view as views
from ui.parts import checkpoint, maps, prose, reader
from ui.sources.small_model import AS_TRAINED
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("real_models.title"))
    try:
        view, error = views.view(), None
    except ValueError as refusal:
        view, error = None, refusal

    if view:
        kind = kind_of(view)
        prose.lead(*kind.lead(), kind.look())
        reader.buttons(sentences.EXAMPLES)
    else:
        prose.say(t("real_models.look_empty"))

    pictures, side = st.columns([16, 5], gap="medium")
    with side:
        if view:
            maps.controls.head_control()
            prose.say(kind.of_head())
            kind.cell()
        checkpoint.controls(own_place=True)
        uploads.activations()
    if view:
        with pictures:
            kind.first()
        kind.below()
        kind.listen()
    else:
        with pictures:
            if error:
                prose.refused(error)
            checkpoint.demo_button()
            with st.expander(t("real_models.which")):
                prose.say(families())
                prose.say(t("real_models.demo_how"))
            if AS_TRAINED.failed:
                prose.note(t("real_models.not_fetched"))
    frame.view = view
