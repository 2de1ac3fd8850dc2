"""Decode: one token after another, what each way of caching holds, reads, computes and takes."""

from functools import partial

from mla_engine import costs, mechanisms
from mla_engine.language_model import generate
from ui.pages.decode import blocks
from ui.pages.decode.sentences import EXAMPLES
from ui.pages.decode.view import SETTINGS, View, mend
from ui.parts import examples, snippet
from ui.parts.snippet import Code, made
from ui.parts.ways import MOST, successor
from ui.settings.page import Functions, Page, Recipe, any_layer
from ui.sources import Trained, trained
from ui.sources.model import present


def ran(view: View) -> Functions:
    """Return the functions of the engine that run in every step and that tell most about it."""
    steps = [formula for way in mechanisms.ways().values() for formula in way.formulas]
    return *([generate] if view.writer else []), *steps, costs.decode


def recipe(view: View) -> Recipe:
    """Return a template and the values that make the title's numbers."""
    if view.choosing or view.uneven:
        return _after_mla(view)
    words = f"tuple(str(n) for n in range({view.tokens}))"
    config = view.ways[view.in_full or "mla_absorbed"].config
    values = made(view.model, config, Code(f"range({view.heads})"), words)
    values |= {"tokens": view.tokens} | _beside(view)
    source = view.model.source_of(config)
    if not isinstance(source, Trained):
        return "decode", values
    file = f"{trained.NAMED}/{trained.file(view.writer).name}"
    values |= {"sentence": " ".join(view.words[: view.prompt]), "steps": view.chosen.step}
    return "decode_written", values | {"writer": file, "number": source.layer}


def _beside(view: View) -> dict[str, Code]:
    """Return the cache of the headline's variant, and what the one beside it keeps of a token."""
    if view.in_full:
        numbers = f"{view.latent.d_latent_kv} + {view.latent.d_rope}"
        own = {"kind": Code("KVCache"), "other": Code("MLA"), "numbers": Code(numbers)}
        return own | {"heads": Code(", config.n_kv_heads, config.n_heads")}
    numbers = "config.n_heads * (config.d_head + config.d_value)"
    own = {"kind": Code("LatentCache"), "other": Code("MHA"), "numbers": Code(numbers)}
    return own | {"heads": Code("")}


def _after_mla(view: View) -> Recipe:
    """Return what sets the reading of an indexer, or a cache of uneven tokens, against MLA."""
    preset, config = view.model.preset, view.ways[view.model.variant].config
    values = {"config": snippet.config(config, preset), "mla": snippet.config(view.latent, preset)}
    if not view.choosing:
        return successor(), values | {"tokens": view.tokens}
    most = Code(f"2**{MOST.bit_length() - 1}")
    template = "blocks" if config.has_blocks else "indexed"
    return template, values | {"context": view.context, "most": most}


PAGE = Page(
    name="decode",
    group="size",
    order=2,
    settings=SETTINGS,
    checkpoints=any_layer,
    trained=True,
    opens=partial(examples.opens, EXAMPLES),
    lecture=("dec_prompt", "dec_speed"),
    stops=lambda: blocks.dial(present()).stops(),
    mend=mend,
    code=ran,
    snippet=recipe,
)
