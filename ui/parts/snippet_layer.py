"""The lines of a snippet that make a layer and what enters it, seeded or out of a real model."""

from pathlib import Path

from mla_engine import GroupedConfig, LatentConfig
from ui.engine import model
from ui.engine import real_layer as source
from ui.engine.real_layer import Origin, RealLayer
from ui.parts.snippet import Code, config, literal, part
from ui.settings import state
from ui.words.text import t

Config = GroupedConfig | LatentConfig
FOLDER = Path(__file__).parent / "snippets"
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
    weights = _part("weights_real" if isinstance(origin, RealLayer) else "weights_seeded", values)
    if not loaded:
        return {"weights": weights, "inputs": _part("inputs_seeded", values)}
    return {
        "weights": Code(f"{_part('opened', values)}\n{weights}"),
        "inputs": _part("inputs_real", values),
    }


def _named(loaded: RealLayer) -> dict[str, object]:
    """What the templates say of a real model."""
    revision, file = loaded.revision, loaded.activations
    return {
        "source": loaded.source,
        "revision": Code(f", {literal(revision)}" if revision else ""),
        "number": loaded.layer,
        "text": loaded.text,
        "file": Code(f", activations={literal(file)}" if file else ""),
    }


def read_config(loaded: RealLayer) -> Code:
    """The configuration of a real layer, as a snippet finds it."""
    values = _named(loaded)
    revision = Code(f", revision={literal(loaded.revision)}" if loaded.revision else "")
    return _part("config_real", values | {"revision": revision})


def _example() -> str:
    return f"words_of({literal(t('attention_maps.example'))})"


def _part(name: str, values: dict[str, object]) -> Code:
    return part(FOLDER / f"{name}.py.txt", values)
