"""The app's style sheet in a page's HTML, so that what is drawn first stands where it stays."""

from ui import asset

ROOT = '<div id="root"></div>'


def styled(text: str) -> str:
    """Return the front end's HTML with the sheet: after its head, before what the page brings."""
    return text.replace(ROOT, f"<style>{asset('style.css')}</style>\n    {ROOT}", 1)
