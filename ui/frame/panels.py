"""A panel alone, for a frame in somebody else's page, and what each panel offers to take along."""

from contextlib import suppress
from functools import partial

import streamlit as st

from ui import ASSETS, asset
from ui.parts import charts, prose
from ui.settings import address, state
from ui.settings.page import HOME, PAGES, SETTINGS, Note, Page, Panel
from ui.settings.parsers import panel as panel_named
from ui.settings.server import server
from ui.settings.shared import SHARED
from ui.settings.visit import is_plain, visit
from ui.words.text import t

STYLE = ASSETS / "embed.css"
AROUND = 190  # pixels above and below a panel in its embed: title, sentence, the way home
NO_PANELS = {"panel", "stop", "code", "ask"}  # shared settings that no link to a panel says


def lead_to_page(page: Page) -> None:
    """Open the page of the panel that the address asks for, where another one runs."""
    with suppress(ValueError):  # no panel is called so: told with what else the link says
        name = panel_named(st.query_params.get("panel", ""))
        there = PAGES.get(name.partition(".")[0], page)
        if there is not page:
            st.switch_page(there.file, query_params=st.query_params.to_dict())


def alone(page: Page) -> Panel | None:
    """Return the panel of this page that is shown alone; None where the whole page is."""
    name, _, own = state.settings()["panel"].partition(".")
    return page.panel(own) if name == page.name else None


def mend(page: Page, panel: Panel) -> list[Note]:
    """Set what shows the panel on its page; notes also on what the link names that it has not."""
    notes = state.nearest(**panel.shown)
    known = {*SHARED, *panel.settings, *panel.shown}
    others = sorted(visit().asked & (SETTINGS.keys() - known))
    return notes + [Note(name, "", None, "panel.not_its_own") for name in others]


def draw(page: Page, panel: Panel) -> object:
    """Draw a panel alone, and return its view; None where nothing could be shown."""
    try:
        view = page.view()
        if not panel.there(view):
            st.info(t("panel.not_there"), icon=":material/info:")
            panel = page.panels[0]
        title, lead = panel.title(view), panel.lead and panel.lead(view)
    except ValueError as refusal:
        prose.refused(refusal)
        return None
    prose.title(title)
    if lead:
        prose.lead(*lead)
    with prose.refusals():
        panel.alone(view)
        body(page, panel, view)
    url = address.link(address.known(), page.name, _parameters(page, panel) | dict(panel.shown))
    prose.note(t("panel.home", page=t(f"{page.name}.link"), url=url))
    return view


def section(page: Page, panel: Panel, view: object) -> None:
    """Draw a panel under its title, below the first of the page."""
    st.subheader(panel.title(view), anchor=False)
    with prose.refusals():
        body(page, panel, view)


def body(page: Page, panel: Panel, view: object) -> None:
    """Draw a panel's figure with its controls, and below it what there is to take along."""
    with st.container(key=f"panel_{page.name}_{panel.name}"):
        panel.draw(view)
        with st.container(horizontal=True, vertical_alignment="center"):
            if panel.data:
                name = f"{page.name}_{panel.name}.csv"
                charts.download(partial(panel.data, view), name)
            menu(page, panel, view)


def menu(page: Page, panel: Panel, view: object) -> None:
    """Draw the quiet menu of a panel: the code that embeds it, its link, its picture.

    A copy has no server that would draw it alone.
    """
    if server().recorded or is_plain():
        return
    named = {"panel": f"{page.name}.{panel.name}", "embed": "1"}
    link = address.link(address.known(), HOME, named | _parameters(page, panel))
    said = ("embed", "embed_copied", "link", "link_copied", "png", "code")
    texts = {key: t(f"panel.{key}") for key in said}
    with st.popover(t("panel.menu"), icon=":material/code:", key=f"panel_menu_{panel.name}"):
        st.components.v2.component(
            "panel_menu",
            html=asset("panel_menu.html"),
            css=asset("panel_menu.css"),
            js=asset("panel_menu.js"),
        )(
            key=f"panel_menu:{panel.name}",
            data={
                "link": link,
                "title": panel.title(view),
                "panel": f"panel_{page.name}_{panel.name}",
                "around": AROUND,
                "texts": texts,
            },
        )


def _parameters(page: Page, panel: Panel) -> dict[str, str]:
    """Return what a link to the panel says: the settings that it reads, and the language."""
    shared = (SHARED.keys() if page.sizes else {"lang"}) - NO_PANELS
    return {name: text for name, text in state.link().items() if name in {*shared, *panel.settings}}
