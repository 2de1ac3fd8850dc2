"""The pictures of the page sparse, and the question on them."""

from functools import partial

import numpy as np

from mla_engine import figures
from mla_engine.language_model.sparse import RULES
from mla_engine.late import Late
from ui.pages.sparse import controls, run, words
from ui.pages.sparse.controls import CONTEXTS
from ui.pages.sparse.published import Published
from ui.pages.sparse.settings import KEYS
from ui.pages.sparse.view import View
from ui.parts import charts, prose
from ui.parts.questions import Question, evenly
from ui.words.numbers import count
from ui.words.text import t

pd = Late("pandas")

PICTURE, CURVES, READ = 360, 360, 380
RULE_LOOKS = (3, 0, 1, 2)  # in the order of RULES
READ_LOOKS = ("mla_absorbed", "dsa")
GIB = 2**30


def keys(view: View) -> None:
    """What the indexer finds of each key, and what the heads would give it."""
    reading, places = view.reading, view.drawn
    index, heads, chosen = (view.row(one) for one in (reading.index, reading.heads, reading.chosen))
    halves = {"index": 100 * index[places], "heads": 100 * heads[places]}
    fig = partial(
        figures.chosen_keys,
        tuple(view.words[place] for place in places),
        {t(f"sparse.half_{name}"): shares for name, shares in halves.items()},
        chosen[places],
        titles=(t("sparse.axis_keys"), t("sparse.axis_share")),
        said=(t("sparse.read"), t("sparse.not_read")),
        height=PICTURE,
    )
    frame = pd.DataFrame(
        {"word": view.words[: view.seen], "index": index, "heads": heads, "read": chosen}
    )
    file = "sparse_keys.csv"
    charts.show(fig, "sparse:keys", alt=words.alt_keys(view), data=lambda: frame, file=file)
    prose.say(words.under(view))
    if said := words.drawn(view):
        prose.note(said)


def answers(view: View) -> None:
    """The share of right answers over the number of keys, by rule."""
    found = run.by_keys()
    right = found.pivot(index="keys", columns="rule", values="right")
    fig = partial(
        figures.over_rank,
        KEYS,
        {words.rule(code): 100 * right[code].to_numpy() for code in RULES},
        titles=(t("sparse.axis_number"), t("sparse.axis_right")),
        at=view.keys,
        roles=RULE_LOOKS,
        height=CURVES,
    )
    file = "sparse_answers.csv"
    charts.show(fig, "sparse:answers", alt=words.alt_answers(view), data=lambda: found, file=file)
    prose.note(words.asked(view))


def published(view: View) -> None:
    """What a step reads at a published model's sizes, over the context."""
    shown = Published(view.context)
    controls.context()
    prose.say(words.published(shown))
    read = {
        name: [shown.read(config, n) / GIB for n in CONTEXTS]
        for name, config in (("dense", shown.dense), ("indexed", shown.indexed))
    }
    fig = partial(
        figures.crossing,
        CONTEXTS,
        {t(f"sparse.line_{name}"): np.array(amounts) for name, amounts in read.items()},
        titles=(t("sparse.axis_context"), t("sparse.axis_read")),
        cross=(shown.cross, shown.read(shown.dense, shown.cross) / GIB),
        label=count(shown.cross),
        here=shown.context,
        roles=READ_LOOKS,
        height=READ,
    )
    frame = pd.DataFrame({"context": CONTEXTS} | {f"{name}_gib": read[name] for name in read})
    file = "sparse_read.csv"
    charts.show(fig, "sparse:read", alt=words.alt_read(shown), data=lambda: frame, file=file)


def question(view: View) -> Question:
    """Ask for the share of right answers with the chosen number of keys."""
    most = count(view.questions.tokens.shape[1])
    return evenly(
        "sparse",
        t("sparse.guess", keys=count(view.keys), most=most),
        100 * view.asked.right,
        100,
        say=lambda n: t("common.percent", value=count(n)),
        why=t("sparse.guess_why"),
        hides=("lead", "sparse:answers"),
    )
