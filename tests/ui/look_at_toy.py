"""Open pages of the project that this file lies in and write what they show, as JSON."""

import json
import sys
from pathlib import Path

from streamlit.testing.v1 import AppTest

from mla_engine.costs import cache_elements  # noqa: F401 - of the copy, before the app runs
from tests import patience
from tests.ui.screen import charts, component, statement

HERE = Path(__file__).parent


def looked_at(page: str, link: dict[str, str]) -> dict:
    at = AppTest.from_file(str(HERE / "app.py"), default_timeout=patience.SECONDS)
    at.query_params.update(link)
    if page != "overview":
        at.switch_page(f"pages/{page}.py")
    at.run()
    tables = [table.value for table in at.table]
    scene = component(at, "scene") if page == "overview" else {"blocks": []}
    found = {
        "exceptions": [one.message for one in at.exception],
        "errors": [one.value for one in at.error],
        "title": statement(at) if at.title else "",
        "charts": len(charts(at)),
        "rows": {name: str(row.iloc[0]) for name, row in tables[0].iterrows()} if tables else {},
        "other rows": list(tables[1].index) if len(tables) > 1 else [],
        "steps": [block["code"] for block in scene["blocks"]],
        "variants": next((w.options for w in at.button_group if w.key == "variant"), []),
        "tensors": next((w.options for w in at.selectbox if w.key == "map_tensor"), []),
    }
    return found


if __name__ == "__main__":
    opened = json.loads(sys.argv[1])
    sys.stdout.write(
        json.dumps({page: looked_at(page, link) for page, link in opened.items()}, default=str)
    )
