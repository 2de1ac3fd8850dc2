"""The first picture is drawn without what it does not need."""

import subprocess
import sys
from pathlib import Path

from kvcount.lazy import LazyModule
from tests import patience
from ui.server import hooks

ROOT = Path(__file__).parents[2]
NOT_NEEDED = (  # by the first picture
    *hooks.LATER,
    *("huggingface_hub", "kaleido", "plotly.express", "plotly.figure_factory"),
    *("ray", "tokenizers", "transformers"),
    *(f"mla_engine.claims.{name}" for name in ("caches", "example", "forms", "trained", "work")),
)
FIRST = """
import sys
from streamlit.testing.v1 import AppTest
from ui.server import start
start.check()
page = AppTest.from_file({file!r}, default_timeout={patience}).run()
assert not page.exception, page.exception
print([one.proto.component_name for one in page.get("bidi_component")])
print([name for name in {names} if name in sys.modules])
"""


def test_the_first_picture_needs_no_more_than_it_shows():
    code = FIRST.format(file=str(ROOT / "app.py"), patience=patience.SECONDS, names=NOT_NEEDED)
    drawn, imported = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert "'scene'" in drawn
    assert imported == "[]"


def test_a_late_library_is_imported_when_something_of_it_is_asked_for(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    late = LazyModule("colorsys")
    assert "colorsys" not in sys.modules
    assert late.rgb_to_hsv(1, 0, 0) == (0.0, 1.0, 1)
    assert sys.modules["colorsys"].rgb_to_hsv is late.rgb_to_hsv
