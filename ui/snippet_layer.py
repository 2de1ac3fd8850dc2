"""The lines of a snippet that make a layer and what enters it, seeded or out of a real model."""

from mla_engine import GroupedConfig, LatentConfig
from ui import model, state
from ui.snippet import Code, config, literal, part
from ui.source import Loaded
from ui.text import t

Config = GroupedConfig | LatentConfig
ABSORBED = ".forward_absorbed"


def preset() -> str:
    """The model whose name is written rather than its sizes."""
    return state.settings()["preset"]


def layer(of: Config, form: str = "") -> dict[str, Code]:
    """How a template builds a layer and calls it."""
    kind = "MultiHeadLatentAttention" if isinstance(of, LatentConfig) else "GroupedQueryAttention"
    call_of = ABSORBED if form == "absorbed" else ""
    return {"config": config(of, preset()), "layer": Code(kind), "call": Code(call_of)}


def made(of: Config, heads: object, words: str = "") -> dict[str, Code]:
    """The lines that make a layer with these heads and what enters it: seeded, or a real one.

    `words` is the expression of a text of the page's own; without one it is the example.
    """
    origin = model.origin(of)
    values = layer(of) | {"heads": heads, "words": Code(words or _example())}
    kind = "seeded"
    if isinstance(origin, Loaded):
        kind, real = "real", {"source": origin.source, "number": origin.layer}
        revision, file = origin.revision, origin.activations
        real["revision"] = Code(f", {literal(revision)}" if revision else "")
        real["file"] = Code(f", activations={literal(file)}" if file else "")
        values |= real | {"text": origin.text}
    values["seed"] = state.settings()["seed"]
    return {name: part(f"{name}_{kind}", values) for name in ("weights", "inputs")}


def _example() -> str:
    return f"words_of({literal(t('attention_maps.example'))})"
