"""The words of the page on rotations: titles with live numbers, what to look at, explanations."""

import numpy as np

from ui.engine import real_layer
from ui.pages.rope.view import View
from ui.parts import rotation
from ui.words.numbers import count, digits, fixed, shortest, signed
from ui.words.text import safe, t

FORMULAS = {
    "turning": (r"(R_t\,\mathbf{q})\cdot(R_i\,\mathbf{k}) = (R_{t-i}\,\mathbf{q})\cdot\mathbf{k}",),
    "merged": (
        r"\mathbf{c}^{Q\top}_t\,"
        r"\underbrace{{W^{UQ}}^{\top} R_{t-i}^{\top}\, W^{UK}}_{M(t-i)}\,\mathbf{c}^{KV}_i",
        r"\mathbf{c}^{Q\top}_t\,\underbrace{{W^{UQ}}^{\top} W^{UK}}_{M}\,\mathbf{c}^{KV}_i"
        r" + \mathbf{q}^{R}_t\cdot\mathbf{k}^{R}_i",
    ),
    "pairing": (
        r"\text{interleaved: } (x_{2p},\, x_{2p+1})",
        r"\text{half: } (x_p,\, x_{p+d_R/2})",
    ),
    "scale": (
        r"\mathrm{scale} = m^2 / \sqrt{d_h + d_R}",
        r"m = 0.1\,\mathrm{mscale}\,\ln s + 1",
    ),
    "yarn": (r"w_p = \theta^{-2p/d_R}", r"w'_p = \gamma_p\, w_p + (1 - \gamma_p)\, w_p / s"),
}


def lead(view: View) -> tuple[str, str]:
    """The page's number and its statement about the topic."""
    match view.topic:
        case "turning":
            score = signed(float(view.found.scores[view.query, view.key]))
            return score, t("rope.line_turning", score=score, distance=view.query - view.key)
        case "merged":
            change = digits(100 * float(view.found.change[view.distance]))
            line = t("rope.line_merged", distance=view.distance, change=change)
            return t("common.percent", value=change), line
        case "yarn":
            return _lead_yarn(view)
        case _:
            return _lead_reading(view)


def _lead_reading(view: View) -> tuple[str, str]:
    shown = view.found
    kept, visible = int(shown.kept.sum()), int(shown.mask.sum())
    harmed = visible - kept
    wrong = t("common.out_of", n=harmed, all=visible)
    if not harmed:
        return wrong, t("rope.line_unharmed", visible=visible)
    if view.topic == "scale":
        cell = np.unravel_index(np.abs(shown.read - shown.right).argmax(), shown.right.shape)
        right, read = (digits(100 * float(maps[cell])) for maps in (shown.right, shown.read))
        shares = {"right": right, "read": read}
        return t("rope.from_to", **shares), t("rope.line_scale", **shares)
    return wrong, t("rope.line_harmed", harmed=harmed, visible=visible)


def _lead_yarn(view: View) -> tuple[str, str]:
    numbers, loaded = scale(view), view.model.layer
    name = real_layer.title(loaded) if loaded else view.model.name
    key = "line_plain" if numbers["plain"] == numbers["scale"] else "line_yarn"
    return f"{numbers['factor']}×", t(f"rope.{key}", name=name, **numbers)


def scale(view: View) -> dict[str, str]:
    """The softmax scale and what it is made of, by the keys of their labels."""
    config = view.head.config
    plain = (config.d_head + config.d_rope) ** -0.5
    factor = digits(config.scale / plain, 4)
    return {"plain": fixed(plain, 8), "factor": factor, "scale": fixed(config.scale, 8)}


def look(view: View) -> str:
    """One sentence on what to look at."""
    return _look_scale(view) if view.topic == "scale" else t(f"rope.look_{view.topic}")


def _look_scale(view: View) -> str:
    shown = view.found
    if shown.kept.sum() == shown.mask.sum():
        return t("rope.look_scale_equal")
    if not shown.reordered:
        return t("rope.look_scale_kept")
    return t("rope.look_scale_reordered", rows=shown.reordered, of=len(view.head.words))


def explanation(view: View) -> str:
    """What the pictures mean, with the numbers of this head."""
    match view.topic:
        case "turning":
            spread = digits(view.found.spread, 2)
            return t("rope.explain_turning", spread=spread, word=safe(view.head.word))
        case "merged":
            return _explain_merged(view)
        case "yarn":
            return _explain_yarn(view)
        case _:
            reason = t(f"rope.explain_{view.topic}_{view.mistake}", **_scales(view))
            return f"{reason}\n\n{_unharmed(view)}"


def _explain_merged(view: View) -> str:
    (rows, columns), (top, left) = view.found.shape, view.found.decoupled.shape
    return t(
        "rope.explain_merged",
        rows=count(rows),
        columns=columns,
        top=top,
        left=left,
        cached=view.head.config.d_rope,
    )


def _unharmed(view: View) -> str:
    shown = view.found
    places = t("rope.comma").join(t(f"rope.place_{place}") for place in shown.places)
    whole_rows = shown.kept_attention.sum(axis=1) == shown.mask.sum(axis=1)
    facts = {"rows": int(whole_rows.sum()), "of": len(view.head.words)}
    return t("rope.explain_unharmed", places=places or t("rope.place_none"), **facts)


def _scales(view: View) -> dict[str, object]:
    config = view.head.config
    width, absorbed = config.d_head + config.d_rope, config.d_latent_kv + config.d_rope
    return {
        "scale": fixed(config.scale, 6),
        "plain": fixed(width**-0.5, 6),
        "wrong": fixed(absorbed**-0.5, 6),
        "width": width,
        "absorbed": absorbed,
        "factor": digits(config.scale * width**0.5, 4),
        "pairing": t(f"rope.is_{view.head.rope.pairing}"),
    }


def _explain_yarn(view: View) -> str:
    shown, scaling = view.found, view.head.rope.scaling
    if scaling is None:
        return t("rope.explain_no_scaling", theta=count(view.head.rope.theta))
    if shown.band is None:
        slower = digits(float(shown.before[-1] / shown.after[-1]), 4)
        kind = rotation.scaling(view.head.rope)
        return t("rope.explain_other_scaling", kind=kind, factor=slower)
    low, high = (shortest(edge, 4) for edge in shown.band)
    return t(
        "rope.explain_yarn",
        low=low,
        high=high,
        factor=digits(scaling.factor, 4),
        original=count(scaling.original_max_position),
        mscale=scaling.mscale,
        all_dim=scaling.mscale_all_dim,
        rotation=digits(scaling.rotation_magnitude, 4),
    )


def notes(view: View) -> list[str]:
    """What is assumed where the chosen model has no such part."""
    said, config = [], view.head.config
    own = view.model.trained is not None or "d_latent_kv" in vars(view.model.base)
    if not (own and view.model.variant.startswith("mla")):
        sizes = {"latent": config.d_latent_kv, "rope": config.d_rope}
        said.append(t("rope.assumed_mla", **sizes))
    if view.model.base.rope is None:
        said.append(t("rope.assumed_rotation", theta=count(view.head.rope.theta)))
    return said
