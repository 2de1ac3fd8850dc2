"""What the absorption page says in words and tables."""

from mla_engine.late import Late
from mla_engine.studies.bracketing import FORMS
from ui.pages.absorption import run
from ui.pages.absorption.run import Merged, Rounding, TooMuch
from ui.pages.absorption.view import LARGE, View
from ui.parts import ways
from ui.words.numbers import (
    count,
    digits,
    entries,
    off_by,
    prefixed_count,
    scientific,
    shortest,
    times,
)
from ui.words.text import sentences, t

pd = Late("pandas")

DISTANCES = ("between", "expanded_error", "absorbed_error")


def lead(view: View) -> tuple[str, str]:
    """How many times the work of the order that takes less, and the work of both."""
    less, more = sorted(view.work, key=view.work.get)
    ratio = times(view.work[more] / view.work[less])
    number = t("absorption.less_work", ratio=ratio)
    values = {"less_form": t(f"absorption.form_{less}"), "more_form": t(f"absorption.form_{more}")}
    values |= {"less": prefixed_count(view.work[less]), "more": prefixed_count(view.work[more])}
    return number, t("absorption.line", **values)


def verdict(view: View) -> str:
    """Which order takes less work, and by how much, at these lengths; a large model's too."""
    said = [
        t(
            f"absorption.less_{_less(view.work)}",
            ratio=_ratio(view.work),
            queries=count(view.queries),
            context=count(view.context),
        )
    ]
    if view.model.trained is not None:
        large = view.large_work
        key = f"absorption.large_{_less(large)}"
        said.append(t(key, name=LARGE.name, ratio=_ratio(large)))
    return sentences(said)


def notes(view: View) -> list[str]:
    """What is counted, and where the latent is from if the model has none."""
    return [t("absorption.counted"), *filter(None, [ways.assumed(view.model, view.config)])]


def _less(work: dict[str, int]) -> str:
    """The order that takes less."""
    return min(FORMS, key=work.get)


def _ratio(work: dict[str, int]) -> str:
    return times(max(work.values()) / min(work.values()))


def steps(view: View, form: str) -> list[str]:
    """What each of the two products of an order costs, all heads together."""
    heads = count(view.config.n_heads)
    return [
        t("absorption.step", adds=prefixed_count(adds), heads=heads)
        for adds in view.orders[form].multiply_adds
    ]


def alt_brackets(view: View, form: str) -> str:
    """The picture of an order in words."""
    order = view.orders[form]
    left, middle, right, inner = (
        f"{m.code} {m.rows} × {m.columns}" for m in (*order.factors, order.inner)
    )
    first, then = map(prefixed_count, order.multiply_adds)
    facts = {"left": left, "middle": middle, "right": right, "inner": inner}
    return t("absorption.alt_brackets", first=first, then=then, **facts)


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


def entries_table(view: View) -> "pd.DataFrame":
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


def rounding_table(found: dict[str, Rounding]) -> "pd.DataFrame":
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
