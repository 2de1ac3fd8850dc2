"""Wishes as a browser sends them: assets/wish.js in the place of a test."""

from streamlit.testing.v1 import AppTest


def wish(at: AppTest, *stops: str, page: str | None = None, number: int | None = None) -> AppTest:
    """Run the page with a message that wishes these stops, by default a new one of this page."""
    latest = at.session_state["wished"].number if "wished" in at.session_state else 0
    said = {"number": latest + 1 if number is None else number, "stops": list(stops)}
    said["page"] = at.session_state["page"] if page is None else page
    at.session_state["wish"] = {"wish": said}
    return at.run()
