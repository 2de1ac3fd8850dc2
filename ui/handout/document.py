"""The sheets as one HTML document, which needs nothing beside it."""

import base64
import html

from ui.frame import share, story
from ui.handout.sheets import Sheet
from ui.settings.shared import TAGS
from ui.words.text import ORIGINAL, catalogue

STYLE = """
  @page { size: A4; margin: 15mm; }
  * { box-sizing: border-box; }
  body { max-width: 178mm; margin: 0 auto; color: #000; background: #fff; line-height: 1.4;
         font: 11pt system-ui, "Noto Sans", "Noto Sans SC", "PingFang SC", sans-serif; }
  header, footer { display: flex; justify-content: space-between; align-items: end; gap: 8mm; }
  header p, footer p { margin: 0; overflow-wrap: anywhere; }
  footer { font-size: 9.5pt; }
  a { color: inherit; text-decoration: none; }
  section { break-before: page; padding-top: 2mm; }
  section:first-of-type { break-before: auto; }
  h1 { font-size: 20pt; margin: 0; }
  h2 { font-size: 15pt; line-height: 1.25; margin: 0 0 2mm; }
  .say { font-size: 12.5pt; margin: 0 0 4mm; padding-inline-start: 6mm; }
  .states { font-weight: 600; margin: 0 0 3mm; }
  .picture { display: block; width: 100%; border: 0.3mm solid #777; margin: 0 0 4mm; }
  .share-code { width: 26mm; flex: none; }
"""


def document(made: list[Sheet], root: str, lang: str) -> str:
    """The handout as HTML."""
    title, every = _said("handout.title", lang), _said("handout.all", lang, count=len(made))
    body = "".join(_section(sheet, lang) for sheet in made)
    return f"""<!DOCTYPE html>
<html lang="{TAGS[lang]}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
<header><div><h1>{title}</h1><p>{every} {_linked(root)}</p></div>
{share.code(root, _said("handout.code", lang))}</header>
{body}</html>
"""


def _section(sheet: Sheet, lang: str) -> str:
    page, count = _said(f"{sheet.page}.link", lang), len(story.chapters())
    chapter = _said("story.chapter", lang, number=sheet.chapter, count=count, title=sheet.title)
    shows, code = _said("handout.picture", lang, page=page), _said("handout.code", lang)
    picture = f"data:image/png;base64,{base64.b64encode(sheet.picture).decode()}"
    says = "".join(f"<li>{html.escape(say)}</li>" for say in sheet.say)
    return f"""<section>
<h2>{html.escape(chapter)}</h2>
<ol class="say">{says}</ol>
<img class="picture" src="{picture}" alt="{shows}">
<p class="states">{html.escape(sheet.statement)}</p>
<footer><p>{_linked(sheet.link)}</p>{share.code(sheet.link, code)}</footer>
</section>
"""


def _linked(link: str) -> str:
    return f'<a href="{html.escape(link)}">{html.escape(link)}</a>'


def _said(key: str, lang: str, **values: object) -> str:
    """A text in the language of the handout, which no reader's settings decide."""
    entry = catalogue()[key]
    return entry.get(lang, entry[ORIGINAL]).format(**values)
