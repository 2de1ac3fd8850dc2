"""Visit the toy page of a copy of the project, and print as JSON what the app has of it.

Run in the copy's root: the project of the tests stays as it is. The argument is how many seconds a
run may take.
"""

import json
import os
import sys
from pathlib import Path

from streamlit.testing.v1 import AppTest

TREE = Path.cwd()
sys.path[:0] = [str(TREE), str(TREE / "benchmarks")]

from ui.parts import prose  # noqa: E402 - the copy's
from ui.settings.page import SETTINGS  # noqa: E402

prose.explained = lambda text: text  # sentences as the catalogue has them


def opened(page: str, **link: str) -> AppTest:
    at = AppTest.from_file(str(TREE / "app.py"), default_timeout=float(sys.argv[1]))
    at.query_params.update(link)
    return at.switch_page(f"pages/{page}.py").run()


def statement(at: AppTest) -> str:
    """Return what stands beside the page's number."""
    return at.main.markdown[1].value


def controls(at: AppTest) -> list[str]:
    """Return the settings that have a widget, in the order of the page."""
    keyed = [node for node in at.main if getattr(node, "key", None) in SETTINGS]
    return [node.key for node in keyed if node.type != "button"]


def navigation() -> dict[str, object]:
    at = opened("toy", lang="zh", toy_tokens="7")
    links = [(link.proto.page, link.proto.label) for link in at.get("page_link")]
    return {"links": links, "statement": statement(at)}


def settings() -> dict[str, object]:
    at = opened("toy", toy_tokens="7", n_heads="8")
    found = {"statement": statement(at), "url": dict(at.query_params)}
    found["sliders"] = [slider.key for slider in (*at.slider, *at.select_slider)]
    at.slider(key="toy_tokens").set_value(5).run()
    found["moved"] = dict(at.query_params)
    next(button for button in at.button if button.label == "Reset this page").click().run()
    found["reset"] = dict(at.query_params), statement(at)
    found["mended"] = opened("toy", toy_tokens="70").warning[0].value
    found["elsewhere"] = len(opened("notation", toy_tokens="7").warning)
    return found


def lecture() -> dict[str, object]:
    at = opened("notation", lecture="1")
    at.button(key="lecture_next").click().run()
    found = {"next": at.session_state["page"], "first": controls(at)[:2]}
    found["place"] = [text.value for text in at.markdown if " / " in text.value]
    found["is_last"] = at.button(key="lecture_next").disabled
    at.button(key="lecture_previous").click().run()
    return found | {"previous": at.session_state["page"]}


def code() -> dict[str, object]:
    source, snippet = (opened("toy", toy_tokens="4", code=kind) for kind in ("source", "snippet"))
    return {
        "statement": statement(source),
        "source": source.code[0].value,
        "snippet": snippet.code[0].value,
        "place": [text.value for text in source.markdown if "cache_elements" in text.value],
    }


def texts() -> list[str]:
    from ui.words.text import catalogue

    return sorted(key for key in catalogue() if key.startswith("toy."))


def pictures() -> dict[str, str]:
    import screenshots

    return screenshots.addresses("en")


if __name__ == "__main__":
    os.environ["PUBLIC_URL"] = ""
    parts = (navigation, settings, lecture, code, texts, pictures)
    sys.stdout.write(json.dumps({part.__name__: part() for part in parts}))
