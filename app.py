"""Overview: what MLA is for, what flows through it, and what it saves at the chosen sizes."""

import streamlit as st

if __name__ != "__main__":  # `streamlit run` imports this file; every visit then runs it
    from ui.server import start

    start.check()
    from ui.frame import fault
    from ui.server.hooks import MIDDLEWARE, lifespan

    app = st.App(__file__, lifespan=lifespan, middleware=MIDDLEWARE, on_script_error=fault.show)
else:
    from ui.frame import page
    from ui.pages.overview import PAGE, doors, variants, words
    from ui.pages.overview.view import view
    from ui.parts import charts, prose, questions, scene
    from ui.sources.model import present
    from ui.words.text import t

    with page.frame(PAGE) as frame:
        variant = present().variant  # whether it can have the chosen sizes or not
        prose.title(words.say("title", variant))
        try:
            shown = view()
        except ValueError as error:
            shown = None
            prose.refused(error)
        else:
            prose.lead(*words.lead(shown), words.look(shown))
            questions.ask(words.question, shown)
            variants.choice(shown)
            scene.draw.show(shown, shown.flow.alt())
            charts.download(shown.flow.table, "mla_data_flow.csv")
            prose.note(t("scene.look"))
            doors.doors()
            figures = words.figures(shown)
            with st.container(key="figures"):
                cells = st.columns(len(figures))
            for cell, (key, (number, by)) in zip(cells, figures.items(), strict=True):
                with cell.container(border=True):
                    st.metric(t(f"overview.{key}"), number, help=t(f"overview.{key}_help"))
                    prose.note(t(f"overview.{key}_beside", beside=by))
            prose.say(words.say("problem", variant))
        frame.view = shown
