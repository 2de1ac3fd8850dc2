"""The words of the page on rotations: titles with live numbers, what to look at, explanations."""

import numpy as np

from ui.engine import model
from ui.engine import real_layer as source
from ui.pages.rope import view as rope
from ui.pages.rope.view import Head
from ui.settings import state
from ui.words.numbers import count, digits
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


def title(one: Head, topic: str) -> str:
    """The page's statement about its topic."""
    return {"turning": _turning, "merged": _merged, "yarn": _yarn}.get(topic, _reading)(one)


def _turning(one: Head) -> str:
    s = state.settings()
    shown = rope.turning(one, s["rope_pair"])
    score = digits(float(shown.scores[s["rope_query"], s["rope_key"]])).replace("-", "−")
    distance = s["rope_query"] - s["rope_key"]
    return t("rope.title_turning", score=score, distance=distance)


def _merged(one: Head) -> str:
    distance = state.settings()["rope_distance"]
    change = 100 * float(rope.merged(one, distance).change[distance])
    return t("rope.title_merged", distance=distance, change=digits(change))


def _reading(one: Head) -> str:
    s = state.settings()
    topic = s["rope_topic"]
    shown = rope.reading(one, topic, s[_choice(topic)])
    kept, visible = int(shown.kept.sum()), int(shown.mask.sum())
    if kept == visible:
        return t("rope.title_unharmed", visible=visible)
    if topic == "scale":
        cell = np.unravel_index(np.abs(shown.read - shown.right).argmax(), shown.right.shape)
        shares = (digits(100 * float(map_[cell])) for map_ in (shown.right, shown.read))
        return t("rope.title_scale", **dict(zip(("right", "read"), shares, strict=True)))
    return t("rope.title_harmed", harmed=visible - kept, visible=visible)


def _yarn(one: Head) -> str:
    numbers, loaded = scale(one), source.chosen()
    name = source.title(loaded) if loaded else model.shown_name()
    if numbers["plain"] == numbers["scale"]:
        return t("rope.title_plain", name=name, scale=numbers["scale"])
    return t("rope.title_yarn", name=name, **numbers)


def scale(one: Head) -> dict[str, str]:
    """The softmax scale and what it is made of."""
    config = one.config
    plain = (config.d_head + config.d_rope) ** -0.5
    return {
        "plain": f"{plain:.8f}",
        "factor": digits(config.scale / plain, 4),
        "scale": f"{config.scale:.8f}",
    }


def look(one: Head, topic: str) -> str:
    """One sentence on what to look at."""
    return _look_scale(one) if topic == "scale" else t(f"rope.look_{topic}")


def _look_scale(one: Head) -> str:
    shown = rope.reading(one, "scale", state.settings()["rope_scale"])
    if shown.kept.sum() == shown.mask.sum():
        return t("rope.look_scale_equal")
    if not shown.reordered:
        return t("rope.look_scale_kept")
    return t("rope.look_scale_reordered", rows=shown.reordered, of=len(one.words))


def explanation(one: Head, topic: str) -> str:
    """What the pictures mean, with the numbers of this head."""
    s, config = state.settings(), one.config
    if topic == "turning":
        spread = rope.turning(one, s["rope_pair"]).spread
        return t("rope.explain_turning", spread=f"{spread:.1e}", word=safe(one.word))
    if topic == "merged":
        window = min(rope.WINDOW, config.d_latent_kv)
        sizes = {"rows": count(config.d_latent_q or config.d_model), "columns": config.d_latent_kv}
        return t("rope.explain_merged", window=window, cached=config.d_rope, **sizes)
    if topic == "yarn":
        return _explain_yarn(one)
    shown = rope.reading(one, topic, s[_choice(topic)])
    places = t("rope.comma").join(t(f"rope.place_{place}") for place in shown.places)
    whole_rows = shown.kept_attention.sum(axis=1) == shown.mask.sum(axis=1)
    facts = {"rows": int(whole_rows.sum()), "of": len(one.words)}
    reason = t(f"rope.explain_{topic}_{s[_choice(topic)]}", **_scales(one))
    places = places or t("rope.place_none")
    return f"{reason}\n\n{t('rope.explain_unharmed', places=places, **facts)}"


def _choice(topic: str) -> str:
    return f"rope_{topic}"


def _scales(one: Head) -> dict[str, str]:
    config = one.config
    widths = {"own": config.d_head + config.d_rope, "absorbed": config.d_latent_kv + config.d_rope}
    plain = widths["own"] ** -0.5
    return {
        "scale": f"{config.scale:.6f}",
        "plain": f"{plain:.6f}",
        "wrong": f"{widths['absorbed'] ** -0.5:.6f}",
        "width": widths["own"],
        "absorbed": widths["absorbed"],
        "factor": digits(config.scale / plain, 4),
        "pairing": t(f"rope.is_{one.rope.pairing}"),
    }


def _explain_yarn(one: Head) -> str:
    shown = rope.frequencies(one.rope, one.config.d_rope)
    if one.rope.scaling is None:
        return t("rope.explain_no_scaling", theta=count(one.rope.theta))
    factor = digits(float(shown.before[-1] / shown.after[-1]), 4)
    if shown.band is None:
        kind = t(f"compare.scaling_{type(one.rope.scaling).__name__}")
        return t("rope.explain_other_scaling", kind=kind, factor=factor)
    low, high = (f"{edge:.4g}" for edge in shown.band)
    scaling = one.rope.scaling
    return t(
        "rope.explain_yarn",
        low=low,
        high=high,
        factor=factor,
        original=count(scaling.original_max_position),
        mscale=scaling.mscale,
        all_dim=scaling.mscale_all_dim,
        rotation=digits(scaling.rotation_magnitude, 4),
    )


def notes(one: Head) -> list[str]:
    """What is assumed where the chosen model has no such part."""
    origin, said = model.base(), []
    if not model.present_variant().startswith("mla"):
        sizes = {"latent": one.config.d_latent_kv, "rope": one.config.d_rope}
        said.append(t("rope.assumed_mla", **sizes))
    if origin.rope is None:
        said.append(t("rope.assumed_rotation", theta=count(one.rope.theta)))
    return said
