"""The parts that the front end's HTML has from the first byte: style sheet and language.

So what is drawn first stands where it stays, in the letters that it keeps.
"""

from ui import asset
from ui.settings.shared import TAGS

ROOT = '<div id="root"></div>'


def styled(text: str) -> str:
    """Return the front end's HTML with the sheet: after its head, before what the page brings."""
    return text.replace(ROOT, f"<style>{asset('style.css')}</style>\n    {ROOT}", 1)


def in_language(text: str, lang: str) -> str:
    """Return the front end's HTML with the language that it is in."""
    return text.replace('<html lang="en"', f'<html lang="{TAGS[lang]}"', 1)
