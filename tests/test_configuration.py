"""The server's configuration tells the truth about uploads."""

import ast
import re
from pathlib import Path

from ui.server.start import STREAMLIT

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"^maxUploadSize = \d+ +# (.*)$", re.MULTILINE)


def uploads() -> list[ast.Call]:
    trees = (ast.parse(path.read_text("utf-8")) for path in ROOT.glob("ui/**/*.py"))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if ast.unparse(call.func).endswith("file_uploader")]


def test_the_version_of_streamlit_that_the_app_relies_on_is_the_pinned_one():
    pinned = re.search(r"^streamlit==(.+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert pinned[1] == STREAMLIT


def test_what_is_said_of_uploads_is_true():
    said = LINE.search((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))[1]
    assert ("nothing is uploaded" in said) == (not uploads())
    limited = all(
        any(word.arg == "max_upload_size" for word in call.keywords) for call in uploads()
    )
    assert ("a limit of its own" in said) == limited
