"""Code behind a page: the engine's source of what it just ran, and a snippet for a notebook.

Drawn only where it is chosen: st.code loads a highlighter of half a megabyte.
"""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import dedent

import streamlit as st

from ui import ROOT
from ui.parts import files, snippet
from ui.parts.control import control
from ui.settings import state
from ui.settings.page import Page
from ui.words.text import t


def choice() -> None:
    """In the menu: what is shown below the page."""
    control("code", write=lambda shown: t(f"code.{shown}"))


def behind(page: Page, view: object) -> None:
    """The code that is chosen, below the page; `view` is what the page shows."""
    shown = state.settings()["code"]
    if shown == "none":
        return
    with st.container(key="page_code"):
        st.divider()
        st.subheader(t(f"code.{shown}"), anchor=False)
        if view is None:  # why is said on the page itself
            st.info(t("code.nothing"), icon=":material/code_off:")
        else:
            {"source": _source, "snippet": _snippet}[shown](page, view)


def _source(page: Page, view: object) -> None:
    functions = tuple(dict.fromkeys(page.code(view)))
    st.markdown(t("code.look_source", count=len(functions)))
    for function in functions:
        place, text = source(function)
        st.markdown(f"`{function.__qualname__}` · {place}")
        st.code(text, language="python", wrap_lines=True)


def source(function: Callable) -> tuple[str, str]:
    """Return the place of a function of the engine, and its text."""
    function = inspect.unwrap(function)
    lines, first = inspect.getsourcelines(function)
    file = Path(inspect.getsourcefile(function)).relative_to(ROOT).as_posix()
    place = t("code.place", file=file, first=first, last=first + len(lines) - 1)
    return place, dedent("".join(lines)).rstrip()


def _snippet(page: Page, view: object) -> None:
    made = page.snippet(view)
    folder = ROOT / f"ui/pages/{page.name}/snippets"
    texts = [
        snippet.filled(folder / f"{template}.py.txt", values)
        for template, values in (made if isinstance(made, list) else [made])
    ]
    st.markdown(t("code.look_snippet"))
    for text in texts:
        st.code(text, language="python", wrap_lines=True)
    kinds = {
        "py": ("text/x-python", "\n\n".join(texts).encode),
        "ipynb": ("application/x-ipynb+json", partial(snippet.notebook, *texts)),
    }
    with st.container(horizontal=True):
        for kind, (mime, made) in kinds.items():
            label, file = t(f"code.download_{kind}"), f"mla_{page.name}.{kind}"
            files.button(label, made, file, mime, f"code:{kind}")
