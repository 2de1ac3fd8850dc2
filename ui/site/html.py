"""The HTML of a copy's pages: what stands there before any script runs, then the front end."""

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from ui import STATIC
from ui.server.scripts import FRAME, OF_PAGE, scripts
from ui.server.styles import ROOT, in_language, styled
from ui.settings.page import HOME
from ui.settings.shared import LANGUAGES
from ui.words.text import catalogue

TITLE = "MLA Explorer"
STYLE = """
  #still { position: fixed; inset: 0; z-index: 1000000; overflow: hidden; padding: 4rem 5vw;
    font: 17px/1.5 "Source Sans", system-ui, sans-serif; color: #14171c; background: #fff; }
  #still h1 { font-size: 2.2rem; line-height: 1.2; margin: 0 0 1rem; }
  #still img { max-width: 100%; height: auto; border-radius: .5rem; }
  #copy-says { position: fixed; z-index: 9999999; bottom: 1rem; left: 50%; translate: -50%;
    margin: 0; padding: .75rem 1.25rem; border-radius: .5rem; color: #fff; background: #14171c;
    font: 17px/1.4 system-ui, sans-serif; width: max-content; max-width: 90vw; }
  #copy-says a { color: #7cc4f0; }
  @media (prefers-color-scheme: dark) { #still { color: #fafafa; background: #0e1117; }
    #copy-says { color: #14171c; background: #fff; } #copy-says a { color: #0063a0; } }
  @media (scripting: none) { #still { position: static; } }
"""


MOVED = """<!DOCTYPE html>
<meta charset="utf-8"><meta name="robots" content="noindex"><title>MLA Explorer</title>
<link rel="canonical" href="{way}">
<script>location.replace({text} + location.search + location.hash);</script>
<noscript><meta http-equiv="refresh" content="0; url={way}"></noscript>
"""


@dataclass(frozen=True)
class Still:
    """The words and picture with which a page begins, in a language.

    Args:
        page: by name.
        title: its heading.
        says: its first sentence.
        picture: the name of the file of its picture, below the copy's address.
        lang: the language's code.
    """

    page: str
    title: str
    says: str
    picture: str
    lang: str = "en"

    @property
    def place(self) -> str:
        """Where its page lies below the copy's address."""
        return place(self.page, self.lang)

    @property
    def name(self) -> str:
        """The title of the browser's tab."""
        name = catalogue()[f"{self.page}.link"][self.lang]
        return TITLE if self.page == HOME else f"{name} · {TITLE}"


def place(page: str, lang: str) -> str:
    """Return where a page lies; from one of another language the script goes to the page's own."""
    return "".join(f"{one}/" for one in (lang, page) if one not in ("en", HOME))


def moved(page: str) -> str:
    """Return what stands where a page was: the way to the page that has its settings now."""
    way = f"../{page}/"
    return MOVED.format(way=way, text=json.dumps(way))


def document(still: Still, told: dict[str, Any], url: str) -> str:
    """Return a page of the copy.

    Args:
        still: what stands there first.
        told: what the script needs before it has the index.
        url: the copy's address; "" where it is not known.
    """
    up = "../" * still.place.count("/") or "./"
    text = styled((STATIC / "index.html").read_text("utf-8"))
    text = re.sub(r"<!--\s*Machine-readable.*?/>", "", text, flags=re.DOTALL)
    text = re.sub(r"<noscript>.*?</noscript>", "", text, flags=re.DOTALL)
    text = re.sub(r"<title>.*?</title>", lambda _: _head(still, url, up), text)
    text = in_language(text.replace('="./', f'="{up}'), still.lang)
    data = json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")
    ours = f'<script type="application/json" id="copy">{data}</script>\n'
    ours += f'    <script src="{up}replay.js"></script>\n'
    ours += "".join(
        f'    <link rel="modulepreload" fetchpriority="low" crossorigin '
        f'href="{up}static/js/{name}">\n'
        for name in scripts(FRAME + OF_PAGE[still.page != HOME])
    )
    text = text.replace('<script type="module"', f'{ours}    <script type="module"', 1)
    return text.replace(ROOT, f"{_body(still, up)}\n    {ROOT}")


def _head(still: Still, url: str, up: str) -> str:
    """Return the title, and what a search engine and a preview of the link show."""
    title, address = still.name, f"{url}/{still.place}"
    picture = f"{url}/{still.picture}" if url else f"{up}{still.picture}"
    tags = {
        "og:title": title,
        "og:description": still.says,
        "og:type": "website",
        "og:image": picture,
    } | ({"og:url": address} if url else {})
    lines = [f"<title>{html.escape(title)}</title>"]
    lines += [f'<meta name="description" content="{html.escape(still.says)}">']
    lines += [f'<meta property="{key}" content="{html.escape(one)}">' for key, one in tags.items()]
    lines += ['<meta name="twitter:card" content="summary_large_image">']
    if url:
        lines += [f'<link rel="canonical" href="{html.escape(address)}">']
        lines += [
            f'<link rel="alternate" hreflang="{lang}" href="{url}/{place(still.page, lang)}">'
            for lang in LANGUAGES
        ]
    return "\n    ".join([*lines, f"<style>{STYLE}</style>"])


def _body(still: Still, up: str) -> str:
    title, says = html.escape(still.title), html.escape(still.says)
    picture = f'<img src="{up}{still.picture}" alt="{title}" width="1200" height="630"'
    picture += ' fetchpriority="high">'  # before the scripts
    without = f"<noscript><p>{catalogue()['site.no_scripts'][still.lang]}</p></noscript>"
    return f'<div id="still"><h1>{title}</h1><p>{says}</p>{picture}{without}</div>'
