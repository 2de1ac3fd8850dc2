"""The share of right answers over the number of keys, by the rule that chooses them."""

from functools import partial

from mla_engine import figures
from mla_engine.language_model.sparse import KEYS, RULES
from ui.pages.sparse.view import View, by_keys
from ui.parts import charts, prose
from ui.parts.questions import Question, evenly
from ui.words.numbers import count, in_percent
from ui.words.text import listed, parted, sentences, t

CURVES = 420
RULE_LOOKS = (3, 0, 1, 2)  # in the order of RULES


def question(view: View) -> Question:
    """Ask for the share of right answers with the chosen number of keys."""
    most = count(view.questions.tokens.shape[1])
    return evenly(
        "sparse",
        t("sparse.guess", keys=count(view.chosen.keys), most=most),
        100 * view.asked.right,
        100,
        say=lambda n: t("common.percent", value=count(n)),
        why=t("sparse.guess_why"),
        hides=("lead", "sparse:answers"),
    )


def draw(view: View) -> None:
    """The share of right answers over the number of keys, by rule."""
    found = by_keys()
    right = found.pivot(index="keys", columns="rule", values="right")
    fig = partial(
        figures.over_rank,
        KEYS,
        {_rule(code): 100 * right[code].to_numpy() for code in RULES},
        titles=(t("sparse.axis_number"), t("sparse.axis_right")),
        at=view.chosen.keys,
        roles=RULE_LOOKS,
        height=CURVES,
    )
    each = parted(f"{_rule(code)} {in_percent(right[code][view.chosen.keys], 1)}" for code in RULES)
    alt = t("sparse.alt_answers", keys=count(view.chosen.keys), each=each)
    about = {"alt": alt, "data": lambda: found, "file": "sparse_answers.csv"}
    charts.show(fig, "sparse:answers", follows="sp_keys", **about)


def under(view: View) -> None:
    """Say how much was asked, what is left out on average, and what the rules are."""
    left = [in_percent(one, 1) for one in view.asked.left_out]
    facts = {"texts": len(view.questions.tokens), "answers": len(view.questions.answer)}
    facts = {name: count(number) for name, number in facts.items()}
    layers = listed(t("sparse.of_layer", layer=count(i), left=one) for i, one in enumerate(left))
    prose.note(sentences((t("sparse.asked", **facts), t("sparse.average", layers=layers))))


def _rule(code: str) -> str:
    """Return the name of a rule in the chart."""
    return t(f"sparse.rule_{code}")
