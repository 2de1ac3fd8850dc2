"""The snippet of the page compute."""

from mla_engine import costs
from ui.pages.compute import view as compute_page
from ui.parts.snippet import Code, call, config, literal
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    shown, s = compute_page.scene(), state.settings()
    known = s["cost_gpu"] in costs.GPUS
    device = f"costs.GPUS[{literal(s['cost_gpu'])}]" if known else f"costs.{call(shown.device)}"
    return "decode" if shown.decoding else "prefill", {
        "config": config(shown.latent, state.settings()["preset"]),
        "mha": config(shown.ways["mha"].config, state.settings()["preset"]),
        "device": Code(device),
        "context": shown.context,
        "queries": shown.queries,
        "batch": shown.batch,
        "layers": shown.layers,
    }
