"""Of each page the snippet that makes its headline numbers, and the values to fill it with."""

from collections.abc import Callable, Mapping

import streamlit as st

from mla_engine import GroupedConfig, costs, worked_example
from ui import (
    absorption,
    claims,
    claims_list,
    compare,
    compression,
    compute_page,
    decode,
    kv,
    maps,
    model,
    overview,
    rope,
    source,
    state,
    stepper,
)
from ui.kv_memory import served
from ui.snippet import Code, call, config, filled, listed, literal
from ui.snippet_layer import layer, made, preset, read_config
from ui.text import t

Recipe = tuple[str, Mapping[str, object]]  # the template's name, its values


def snippet(page: str) -> str:
    """The page's snippet, filled.

    Raises:
        ValueError: these settings run nothing.
    """
    return filled(*OF_PAGE[page]())


def _overview() -> Recipe:
    shown = overview.of(model.config())
    return "overview", layer(shown.config, shown.form) | {"tokens": overview.TOKENS}


def _worked_example() -> Recipe:
    here, s = stepper.scene(), state.settings()
    names = worked_example.INPUTS[here.variant]
    changed = {name: str(s[f"we_{name}"]) for name in names if s[f"we_{name}"]}
    reads = [f"    {literal(n)}: read({literal(n)}, {literal(x)}),\n" for n, x in changed.items()]
    completed = here.variant.endswith("_completed")
    return "worked_example_completed" if completed else "worked_example", {
        "variant": here.variant,
        "inputs": Code("{\n" + "".join(reads) + "}" if changed else "{}"),
        "place": here.place,
        "row": here.chosen[0],
        "column": here.chosen[1],
    }


def _attention_maps() -> Recipe:
    shown, s = maps.view(), state.settings()
    config_of, form = shown.run.config, shown.run.form
    words = f"words_of({literal(s['map_text'])})" if s["map_text"] else ""
    if s["map_generated"]:
        words = f"generated_words({s['map_generated']})"
    plain = shown.temperature == 1
    attention = "trace.attention" if plain else f"(trace.scores / {shown.temperature}).softmax(-1)"
    values = {name: getattr(shown, name) for name in ("head", "query", "key", "temperature")}
    values |= made(config_of, [shown.head], words) | {"attention": Code(attention)}
    kind = "grouped" if form == "grouped" else "latent"
    template = "attention_maps" if shown.causal else f"attention_maps_unmasked_{kind}"
    return template, values | layer(config_of, form)


def _rope() -> Recipe:
    one, s = rope.head(), state.settings()
    topic = s["rope_topic"]
    values = made(one.config, [one.head])
    if topic == "turning":
        shown = {"query": s["rope_query"], "key": s["rope_key"], "positions": rope.POSITIONS}
        return "rope_turning", values | shown
    if topic == "merged":
        return "rope_merged", values | {"distance": s["rope_distance"]}
    if topic == "yarn":
        length = getattr(one.rope.scaling, "original_max_position", 0) + 1
        return "rope_yarn", {"config": config(one.config, preset()), "length": length}
    choice = s[f"rope_{topic}"]
    shown = rope.reading(one, topic, choice)
    if topic == "scale" and not (shown.kept == shown.mask).all():
        return "rope_scale", values | {"scale": choice}
    readings = {"pairing": "own", "scale": "own", topic: choice}
    return "rope_reading", values | readings | {"start": one.start}


def _absorption() -> Recipe:
    view = absorption.view()
    return "absorption", made(view.config, [view.head]) | {
        "side": view.side,
        "queries": view.queries,
        "keys": view.context + view.queries,
    }


def _compression() -> Recipe:
    view = compression.view()
    decay = view.source.decay
    spectrum = "# the weights as they are"
    if compression.own_latent():
        spectrum = "layer = content_attention(layer)\nconfig = layer.config"
    if decay is not None:
        spectrum = (
            f"W_K, W_V = with_spectrum(layer.W_K, layer.W_V, {decay!r})\n"
            "layer.W_K.copy_(W_K), layer.W_V.copy_(W_V)"
        )
    heads = Code(f"range({len(view.source.heads)})")
    values = made(view.source.config, heads, origin=view.source.origin)
    return "compression", values | {"rank": view.rank, "spectrum": Code(spectrum)}


def _kv_cache() -> Recipe:
    s, scene = state.settings(), kv.scenes()[0]
    on = served(scene, s) if s["kv_view"] == "memory" else None
    own = scene.ways["mla"] if s["kv_view"] == "layouts" else scene.ways[scene.own]
    own = scene.preset.config if s["kv_view"] == "formula" else own
    return f"kv_{s['kv_view']}", {
        "config": config(own, scene.key),
        "tokens": s["kv_context"],
        "context": s["kv_context"],
        "batch": scene.batch,
        "caches": scene.preset.n_caches or scene.preset.n_layers if on else scene.n_caches,
        "width": kv.WIDTHS[scene.dtype],
        "cache_width": kv.WIDTHS[scene.dtype],
        "weight_width": kv.WIDTHS[s["kv_weights"]],
        "parameters": scene.preset.parameters or 0,
        "gpu": s["kv_gpu"],
        "ranks": s["kv_ranks"],
        "attention": s["kv_attention"],
        "sequences": s["kv_sequences"],
    }


def _decode() -> Recipe:
    shown = decode.scene()
    tokens = shown.context + 1
    values = made(
        shown.latent, Code(f"range({shown.heads})"), f"tuple(str(n) for n in range({tokens}))"
    )
    return "decode", values | {"tokens": tokens}


def _compute() -> Recipe:
    shown, s = compute_page.scene(), state.settings()
    known = s["cost_gpu"] in costs.GPUS
    device = f"costs.GPUS[{literal(s['cost_gpu'])}]" if known else f"costs.{call(shown.device)}"
    return "compute_decode" if shown.decoding else "compute_prefill", {
        "config": config(shown.latent, preset()),
        "mha": config(shown.ways["mha"].config, preset()),
        "device": Code(device),
        "context": shown.context,
        "queries": shown.queries,
        "batch": shown.batch,
        "layers": shown.layers,
    }


def _compare() -> Recipe:
    a, b = (compare.side(letter) for letter in compare.SIDES)
    return "compare", {
        "config": _side_config(a),
        "other": _side_config(b),
        "form": _cost_form(a),
        "other_form": _cost_form(b),
        "context": state.settings()["vs_context"],
    }


def _real_models() -> Recipe:
    if not source.chosen():
        raise ValueError(t("source.what"))
    of = model.config()
    template = "real_models_grouped" if isinstance(of, GroupedConfig) else "real_models"
    return template, made(of, None)


def _side_config(side: compare.Side) -> Code:
    if isinstance(side.origin, source.Loaded):
        return read_config(side.origin)
    return config(side.config, side.preset or "")


def _cost_form(side: compare.Side) -> str | None:
    return None if side.form == "grouped" else side.form


def _claims() -> Recipe:
    found = claims.findings(st.empty())
    shown = tuple(finding.id for finding in claims_list.shown(found))
    return "claims", {"shown": Code("CLAIMS") if len(shown) == len(found) else listed(shown)}


def _quiz() -> Recipe:
    s = state.settings()
    return "quiz", {
        "seed": s["quiz_seed"],
        "number": s["quiz_number"],
        "count": s["quiz_count"],
        "predicted": s["quiz_answers"],
    }


def _notation() -> Recipe:
    variant = state.settings()["variant"]
    return "notation", layer(model.config(), overview.FORMS.get(variant, "grouped"))


OF_PAGE: Mapping[str, Callable[[], Recipe]] = {
    "overview": _overview,
    "worked_example": _worked_example,
    "attention_maps": _attention_maps,
    "rope": _rope,
    "absorption": _absorption,
    "compression": _compression,
    "kv_cache": _kv_cache,
    "decode": _decode,
    "compute": _compute,
    "compare": _compare,
    "real_models": _real_models,
    "claims": _claims,
    "quiz": _quiz,
    "notation": _notation,
}
