"""The lines of a snippet that make a layer and what enters it, seeded or out of a real model."""

from mla_engine import GroupedConfig, LatentConfig
from ui import model, source, state
from ui.snippet import Code, config, literal, part
from ui.source import Loaded, Origin
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


def made(
    of: Config, heads: object, words: str = "", origin: Origin | None = None
) -> dict[str, Code]:
    """The lines that make a layer with these heads and what enters it: seeded, or a real one.

    `words` is the expression of a text of the page's own; without one it is the example. `origin`
    is where the weights come from, by default what the page takes for this configuration; where a
    real model is chosen, seeded weights read its inputs too.
    """
    origin, loaded = model.origin(of) if origin is None else origin, source.chosen()
    values = layer(of) | {"heads": heads, "words": Code(words or _example())}
    values |= {"seed": state.settings()["seed"]} | (_named(loaded) if loaded else {})
    weights = part("weights_real" if isinstance(origin, Loaded) else "weights_seeded", values)
    if not loaded:
        return {"weights": weights, "inputs": part("inputs_seeded", values)}
    return {
        "weights": Code(f"{part('opened', values)}\n{weights}"),
        "inputs": part("inputs_real", values),
    }


def _named(loaded: Loaded) -> dict[str, object]:
    """What the templates say of a real model."""
    revision, file = loaded.revision, loaded.activations
    return {
        "source": loaded.source,
        "revision": Code(f", {literal(revision)}" if revision else ""),
        "number": loaded.layer,
        "text": loaded.text,
        "file": Code(f", activations={literal(file)}" if file else ""),
    }


def read_config(loaded: Loaded) -> Code:
    """The configuration of a real layer, as a snippet finds it."""
    values = _named(loaded)
    revision = Code(f", revision={literal(loaded.revision)}" if loaded.revision else "")
    return part("config_real", values | {"revision": revision})


def _example() -> str:
    return f"words_of({literal(t('attention_maps.example'))})"
