"""The log as lines of JSON has no word of what visitors wrote, and still tells what went wrong."""

import json

import pytest

from tests.attacks.client import Session, StuckError
from tests.attacks.server import copied, running

SECRET = "s3cret"
FAILS = f"if state.settings()['notation_search']: raise OSError('{SECRET}')"


def test_the_server_writes_them_and_none_has_a_visitors_words(tmp_path):
    begins = "with page.frame(PAGE) as frame:"
    change = (begins, f"from ui.settings import state\n{begins}\n    {FAILS}")
    tree = copied(tmp_path, {"pages/notation.py": change})
    with running({"MLA_LOG": "json"}, root=tree) as app:
        with Session(app.url) as visitor:
            seen = visitor.open("notation", f"notation_search={SECRET}&lang=en")
            reference = next(t for t in seen.texts if "reference" in t).split("**")[1]
            visitor.touch(f"{SECRET}-widget", string_value=SECRET)
            visitor.open("real_models", f"checkpoint={SECRET}/{SECRET}")
            visitor.send(SECRET.encode())
            with pytest.raises(StuckError):
                visitor.answers("nothing")
        app.get(f"/media/{SECRET}")
        log = app.log
    lines = [json.loads(text) for text in log.splitlines() if text.startswith("{")]
    faults = [one for one in lines if one.get("reference") == reference]
    assert len(faults) == 1
    assert (faults[0]["error"], faults[0]["page"]) == ("OSError", "notation")
    assert any("notation.py" in step for step in faults[0]["trace"])
    assert len(lines) > 1
    assert not [one for one in lines if one["logger"] == "uvicorn.access"], "a line a request"
    assert SECRET not in log
    assert "127.0.0.1" not in "".join(text for text in log.splitlines() if text.startswith("{"))
    others = [text.strip() for text in log.splitlines() if text.strip() and text[0] != "{"]
    assert len(others) == 3  # the address, and that it is ready
