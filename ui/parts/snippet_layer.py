"""The lines of a snippet that make a layer and what enters it: seeded, trained or real."""

from pathlib import Path

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from ui.engine import trained
from ui.engine.layers import Origin, form_of
from ui.engine.model import Model
from ui.engine.real_layer import RealLayer
from ui.engine.trained_layer import TrainedLayer
from ui.parts.snippet import Code, config, literal, part
from ui.words.text import t

Config = AttentionConfig
FOLDER = Path(__file__).parent / "snippets"
CALLED = "forward"  # what a layer does where it is called itself


def layer(of: Config, preset: str, form: str = "") -> dict[str, Code]:
    """Return how a template builds a layer and calls it; the model `preset` is named first."""
    kind = mechanisms.of(of).layer.__name__
    called = form_of(of, form).forward.__name__ if form else CALLED
    call = "" if called == CALLED else f".{called}"
    return {"config": config(of, preset), "layer": Code(kind), "call": Code(call)}


def made(
    chosen: Model, of: Config, heads: object, words: str = "", origin: Origin | None = None
) -> dict[str, Code]:
    """The lines that make a layer with these heads and what enters it: seeded, trained or real.

    Args:
        chosen: what the shared settings choose.
        of: the layer's configuration.
        heads: the numbers of the heads, or code that makes them.
        words: the expression of a text of the page's own; without one it is the example.
        origin: whose weights, by default what `chosen` has for this configuration; where a real
            model is chosen, seeded weights read its inputs too.
    """
    origin, loaded = chosen.origin(of) if origin is None else origin, chosen.layer
    example = f"words_of({literal(t('maps.example'))})"
    values = layer(of, chosen.preset) | {"heads": heads, "words": Code(words or example)}
    if isinstance(origin, TrainedLayer):
        return _trained(origin, chosen, values)
    values |= {"seed": chosen.seed} | (_named(loaded) if loaded else {})
    weights = _part("weights_real" if isinstance(origin, RealLayer) else "weights_seeded", values)
    if not loaded:
        return {"weights": weights, "inputs": _part("inputs_seeded", values)}
    return {
        "weights": Code(f"{_part('opened', values)}\n{weights}"),
        "inputs": _part("inputs_real", values),
    }


def _trained(origin: TrainedLayer, chosen: Model, values: dict[str, object]) -> dict[str, Code]:
    """The lines that load a trained model, named from the project's folder, and run a sentence."""
    file = f"{trained.NAMED}/{trained.file(origin.code).name}"
    values |= {"file": file, "number": origin.layer, "sentence": " ".join(chosen.words)}
    parts = ("weights", "inputs")
    return {name: _part(f"{name}_trained", values) for name in parts}


def _named(loaded: RealLayer) -> dict[str, object]:
    """Return the templates' values of a real model."""
    revision, file = loaded.revision, loaded.activations
    return {
        "location": loaded.location,
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


def _part(name: str, values: dict[str, object]) -> Code:
    return part(FOLDER / f"{name}.py.txt", values)
