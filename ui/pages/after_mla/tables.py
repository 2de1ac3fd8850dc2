"""The tables of the page after_mla."""

from collections import Counter

from mla_engine.late import Late
from mla_engine.model_caches.levers import LEVERS, levers
from mla_engine.model_caches.mistakes import Mistake, mistakes
from ui.pages.after_mla.view import Shown, View
from ui.words.numbers import count, size, times
from ui.words.text import t, translated

pd = Late("pandas")


def steps(view: View) -> "pd.DataFrame":
    """A row a lever: its factor, and the bytes of a token once it is pulled; then what is read."""
    found = view.shown.levers
    rows = [{"lever": "mha", "value": found.as_mha, "bytes_per_token": float(found.steps["mha"])}]
    rows += [
        {
            "lever": name,
            "value": float(getattr(found, name)),
            "bytes_per_token": float(found.steps[name]),
        }
        for name in LEVERS
    ]
    read = {"lever": "read", "value": view.context, "bytes_per_token": view.shown.read_per_token}
    return pd.DataFrame([*rows, read])


def milestones(view: View) -> "pd.DataFrame":
    """Stored and read bytes of the models side by side."""
    return pd.DataFrame([_bytes(one) for one in view.milestones])


def _bytes(one: Shown) -> dict[str, object]:
    whole = {"stored_bytes": one.stored, "read_bytes": one.read}
    return {"model": one.name, "context": one.context} | whole


def every(view: View) -> "pd.DataFrame":
    """A row a published model, the smallest cache at the context first."""
    rows = sorted(
        (_row(one) for one in view.every), key=lambda row: row[t("after_mla.column_stored")]
    )
    return pd.DataFrame(rows)


def _row(one: Shown) -> dict[str, object]:
    found = levers(one.model, one.storage)
    kinds = Counter(layer.kind for layer in one.model.layers)
    cells = {
        "model": one.name,
        "layers": ", ".join(f"{n} {_kind(kind)}" for kind, n in kinds.items()),
        "token": float(found.bytes_per_token) if found else 0.0,
        "stored": one.stored / 2**30,
        "read": one.read / 2**30,
        "source": one.published.source,
    }
    return {t(f"after_mla.column_{name}"): cell for name, cell in cells.items()}


def _kind(kind: str) -> str:
    """Return in a word what a layer keeps; of a layer with two kinds of attention both."""
    return " + ".join(t(f"after_mla.kind_{part}") for part in kind.split("+"))


def printed() -> "pd.DataFrame":
    """A row a wrong formula, to be read, the one that gives least first."""
    return pd.DataFrame([_said(one) for one in by_ratio()])


def by_ratio() -> list[Mistake]:
    """The wrong formulas, from the one that gives least of what is right."""
    return sorted(mistakes().values(), key=lambda one: one.ratio)


def _said(one: Mistake) -> dict[str, str]:
    cells = {
        "mistake": translated(one.short),
        "forgets": translated(one.forgets),
        "model": one.published.name,
        "formula": one.formula,
        "printed": size(float(one.printed), binary=False),
        "true": size(float(one.right), binary=False),
        "ratio": times(one.ratio),
        "context": count(one.context) if one.context else "",
        "source": one.source,
    }
    return {t(f"after_mla.column_{name}"): cell for name, cell in cells.items()}


def printed_data() -> "pd.DataFrame":
    """The same in bytes."""
    rows = [
        {
            "mistake": one.key,
            "model": one.published.name,
            "formula": one.formula,
            "context_tokens": one.context,
            "printed_bytes": float(one.printed),
            "true_bytes": float(one.right),
            "printed_over_true": one.ratio,
            "forgets": one.forgets["en"],
            "source": one.source,
        }
        for one in by_ratio()
    ]
    return pd.DataFrame(rows)
