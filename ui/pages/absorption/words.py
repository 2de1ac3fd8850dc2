"""What the absorption page says in words and tables."""

import pandas as pd

from mla_engine.claims import Verdict
from mla_engine.studies.bracketing import FORMS
from ui.pages.absorption import run
from ui.pages.absorption.run import Merged, Rounding, TooMuch
from ui.pages.absorption.view import View
from ui.parts.statements.findings import checked
from ui.words.numbers import (
    count,
    digits,
    entries,
    off_by,
    prefixed_count,
    scientific,
    shortest,
    tenths,
    times,
)
from ui.words.text import t

FORMULAS = {
    ("scores", "absorbed"): r"\left(q^C\,W^{UK}\right)\,{c^{KV}}^{\top}",
    ("scores", "expanded"): r"q^C\,\left(W^{UK}\,{c^{KV}}^{\top}\right)",
    ("output", "absorbed"): r"\left(a\,c^{KV}\right)\,{W^{UV}}^{\top}",
    ("output", "expanded"): r"a\,\left(c^{KV}\,{W^{UV}}^{\top}\right)",
}
DISTANCES = ("between", "expanded_error", "absorbed_error")


def lead(view: View) -> tuple[str, str]:
    """How many times the work of the order that takes less, and the work of both."""
    work = {form: prefixed_count(n) for form, n in view.work.items()}
    ratio = max(view.work.values()) / min(view.work.values())
    return times(ratio), t("absorption.line", **work)


def order_label(side: str, form: str) -> str:
    """The formula of an order, as its button shows it."""
    return f"{t(f'absorption.bracket_{form}')} ${FORMULAS[side, form]}$"


def verdict(view: View) -> str:
    """Which order takes less work, and by how much, at these lengths."""
    work = view.work
    less, more = sorted(FORMS, key=work.get)
    return t(
        f"absorption.less_{less}",
        ratio=times(work[more] / work[less]),
        queries=count(view.queries),
        context=count(view.context),
    )


def steps(view: View) -> tuple[str, str]:
    """What each of the two products costs, all heads together."""
    heads = count(view.config.n_heads)
    return tuple(
        t("absorption.step", adds=prefixed_count(adds), heads=heads)
        for adds in view.order.multiply_adds
    )


def matrix_facts(view: View, merged: Merged) -> dict[str, str]:
    """Shape and rank of a merged matrix, for the sentences about it."""
    rows, columns = merged.matrix.shape
    width = view.config.d_head if view.matrix == "W_QK" else view.config.d_value
    return {
        "head": count(view.head),
        "rows": count(rows),
        "columns": count(columns),
        "rank": count(merged.rank),
        "most": count(min(rows, columns)),
        "width": count(width),
    }


def entries_table(view: View) -> pd.DataFrame:
    """The entries of the merged matrices and of their factors, all heads of a layer."""
    rows = {
        t(f"absorption.entries_{name}"): (entries(merged), entries(parts), times(merged / parts))
        for name, (merged, parts) in run.entries(view.config).items()
    }
    columns = [t(f"absorption.column_{name}") for name in ("merged", "factors", "ratio")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def rounding_look(view: View, result: Rounding) -> str:
    """How far the two forms are apart in the chosen format."""
    ran = {"heads": count(len(view.heads)), "words": count(len(view.words))}
    return t("absorption.rounding_look", type=view.dtype, between=scientific(result.between), **ran)


def rounding_table(found: dict[str, Rounding]) -> pd.DataFrame:
    """The distances in every format."""
    rows = {
        name: [scientific(vars(result)[distance]) for distance in DISTANCES]
        for name, result in found.items()
    }
    columns = [t(f"absorption.{distance}") for distance in DISTANCES]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def aloud(label: str) -> str:
    """A label as it is read aloud, without bold type."""
    return label.replace("**", "")


def one_matrix(view: View, merged: TooMuch) -> str:
    """How far off one matrix for all heads is."""
    return t(
        "absorption.one_words",
        heads=count(len(view.heads)),
        scores=off_by(merged.scores_error),
        sum=off_by(merged.sum_error),
        output=off_by(merged.best_output),
    )


def key_facts(view: View, merged: TooMuch) -> dict[str, str]:
    """The lengths of the last word's keys, for the sentences about them."""
    place = view.heads.index(view.head)
    return {
        "right": digits(merged.key_lengths[-1, place]),
        "merged": digits(merged.merged_lengths[-1, place]),
        "gain": shortest(view.gain),
    }


def norm_errors(view: View, merged: TooMuch) -> str:
    """How far off keys and queries are, with the norm and without."""
    key = "norm_errors" if view.config.d_latent_q else "norm_errors_keys"
    errors = {name: off_by(error) for name, error in merged.errors.items() if error is not None}
    return t(f"absorption.{key}", **errors)


def claims_on_heads() -> list[str]:
    """The published statements on one matrix for all heads, with their verdicts."""
    scores, output = checked("P4"), checked("P5")
    return [
        _claim("P4", scores, **_heads(scores, "from_each", "from_sum")),
        _claim("P5", output, **_heads(output, "best_head", "per_head")),
    ]


def claims_on_norms() -> list[str]:
    """The published statements on merging past the norm, with their verdicts."""
    keys, queries = checked("C2"), checked("C6")
    sizes = {
        "merged": tenths(keys.value("merged_weights")),
        "factors": tenths(keys.value("factor_weights")),
        "full": count(keys.value("cache_full")),
        "latent": count(keys.value("cache_latent")),
    }
    return [_claim("C2", keys, **_norms(keys), **sizes), _claim("C6", queries, **_norms(queries))]


def _claim(name: str, verdict: Verdict, **values: str) -> str:
    judged = t(f"absorption.verdict_{verdict.verdict.replace(' ', '_')}")
    return t(f"absorption.claim_{name}", verdict=judged, **values)


def _heads(verdict: Verdict, *errors: str) -> dict[str, str]:
    found = {name: digits(verdict.value(name), 2) for name in errors}
    return found | {"n_heads": count(verdict.value("n_heads"))}


def _norms(verdict: Verdict) -> dict[str, str]:
    without, normed = verdict.value("without_norm"), verdict.value("with_norm")
    return {"without": scientific(without, 0), "normed": digits(normed, 2)}
