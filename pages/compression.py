"""Compression: what a smaller cache costs, in a real model, in small ones, and inside a layer."""

from dataclasses import replace

from ui.frame import page
from ui.pages.compression import (
    PAGE,
    as_mla,
    by_cache,
    by_distance,
    by_load,
    contents,
    cut,
    inside,
    losses,
    one_cache,
    quality,
    queries,
    runs,
    separate,
    staircase,
)
from ui.pages.compression.column import column, lead, question
from ui.parts import prose, questions
from ui.words.text import t

OF_QUALITY = by_load, by_distance, losses, staircase

with page.frame(PAGE) as frame:
    shown = column()
    prose.title(t("compression.title"))
    if begins := lead(shown):
        prose.lead(*begins, of_layer=False)
        questions.ask(question, shown)
    if shown.real:
        one_cache.draw(shown.measured)
        contents.draw(shown)
        one_cache.details(shown.measured)

    with prose.refusals(), contents.part(by_cache):
        by_cache.draw(shown.quality or quality.present(), leads=not shown.real)
    if shown.quality and shown.quality.caches:
        for one in OF_QUALITY:
            with prose.refusals(), contents.part(one):
                one.draw(shown.quality)
    if not shown.real:
        with prose.refusals():
            one_cache.draw(shown.measured or one_cache.present())
            one_cache.details(shown.measured)

    able = False
    with prose.refusals():
        for one in (cut, inside) if shown.layer.answers else (inside,):
            with contents.part(one):
                one.draw(shown.layer)
        able = True
    for one in (separate, as_mla) if able else ():
        with prose.refusals(), contents.part(one):
            one.draw(shown.layer)
    with prose.refusals(), contents.part(queries):
        queries.draw(shown.layer)
    if shown.quality:
        with prose.refusals(), contents.part(runs):
            runs.draw(shown.quality)
    frame.view = shown if able else replace(shown, layer=None)
