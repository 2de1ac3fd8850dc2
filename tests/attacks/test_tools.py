"""The tools of these tests see what a browser would."""

from tests.attacks.client import Session


def test_a_visitor_opens_a_page_and_changes_a_widget(app):
    with Session(app.url) as visitor:
        seen = visitor.open("rope", "d_rope=32")
        assert not seen.exceptions
        before = seen.texts
        kind, slider = next((k, w) for k, w in seen.widgets if k == "slider")
        after = visitor.touch(slider, double_array_value={"data": [slider.max]}).texts
        assert kind == "slider"
        assert after != before


def test_the_log_and_the_memory_of_the_server_are_seen(app):
    assert "http://127.0.0.1" in app.log
    assert app.resident_bytes() >= app.resident_bytes(workers=False) > 100 * 2**20
    assert app.get("/_stcore/health")[0] == 200
