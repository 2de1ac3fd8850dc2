"""The words of caches to which not every token adds the same: windows with entries, and states."""

from ui.pages.decode.view import View
from ui.parts.ways import joined, label
from ui.words.numbers import count, tied_size, times
from ui.words.text import t, variant_name


def lead(view: View, model: str) -> tuple[str, str]:
    """Return what the chosen way holds after the step, by parts, and what MLA holds."""
    code, parts = view.uneven, {part.code: part for part in view.parts(view.uneven, view.step)}
    held = tied_size(view.held_bytes(code))
    values = {
        "model": model,
        "tokens": count(view.tokens),
        "held": held,
        "name": variant_name(code),
    }
    values["mla"] = tied_size(view.held_bytes("mla_absorbed"))
    if "state" in parts:
        return held, t("decode.line_delta", **values, turn=count(view.outgrown()))
    (first, last), *_ = parts["window"].spans
    values |= {"window": count(last - first), "entries": count(len(parts["entries"].spans))}
    return held, t("decode.line_pooled", **values, block=count(view.ways[code].config.pooling))


def grows(view: View) -> str:
    """Return what a further token adds; empty for ways to which each adds the same."""
    code = view.uneven
    if not code:
        return ""
    fixed = view.held_bytes(code) - view.tokens * view.bytes_per_token(code)
    each, mla = (tied_size(view.bytes_per_token(one)) for one in (code, "mla_absorbed"))
    values = {"name": label(view.ways, code), "mla": mla}
    if not view.bytes_per_token(code):
        return t("decode.grows_not", held=tied_size(fixed), **values)
    values |= {"ratio": times(view.added_by_mla())}
    window = vars(view.ways[code].config).get("window")
    if window is None:
        return t("decode.grows_blocks", each=each, **values)
    return t("decode.grows", each=each, window=count(window - 1), **values)


def not_run(view: View) -> str:
    """Name the ways that are only counted; empty where all are run."""
    names = [label(view.ways, code) for code in view.ways if code not in view.ran]
    return t("decode.not_run", ways=joined(names)) if names else ""


def alt(view: View, step: int) -> str:
    """The parts after a step in words."""
    parts = [
        t("ways.amount", name=t(f"decode.part_{part.code}"), n=tied_size(part.n_bytes))
        for part in view.parts(view.uneven, step)
    ]
    return t(
        "decode.alt_parts", name=variant_name(view.uneven), parts=t("ways.between").join(parts)
    )
