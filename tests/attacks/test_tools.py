"""The tools of these tests see what a browser would."""

from tests.attacks.client import Session


def test_a_visitor_opens_a_page_and_changes_a_widget(app):
    with Session(app.url) as visitor:
        seen = visitor.open("rope", "d_rope=32")
        assert not seen.exceptions
        slider = seen.widget("slider", "Model width")
        seen = visitor.touch(slider, string_array_value={"data": [slider.options[-1]]})
        assert not seen.exceptions
        assert "d_rope=32" in seen.query
        assert "d_model=" in seen.query


def test_the_log_and_the_memory_of_the_server_are_seen(app):
    assert "http://127.0.0.1" in app.log
    assert app.resident_bytes() >= app.resident_bytes(workers=False) > 100 * 2**20
    assert app.get("/_stcore/health")[0] == 200
