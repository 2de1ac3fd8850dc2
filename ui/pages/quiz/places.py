"""The pages of the app that show the answers to questions."""

from collections.abc import Iterable, Sequence

from mla_engine.quiz import KINDS, Question
from ui.parts.links import example, of_preset
from ui.settings.page import Link
from ui.settings.parsers import SMALL

SHOWN_ON = {  # of the others the overview
    "kv_cache": (
        "whole_model",
        "ratio",
        "grouped",
        "longest",
        "per_gpu",
        "query_latent",
        "index_keys",
        "block_index",
        "hybrid",
    ),
    "compute": ("bytes_read", "flops_of_a_step", "prefill_form", "crossover", "intensity"),
    "absorption": ("merged", "stacked_heads", "norm_between", "forms_agree"),
    "rope": ("scale", "shifted", "unrotated", "wrong_scale"),
    "attention_maps": ("window", "not_causal"),
}
PAGE_OF = {kind: page for page, kinds in SHOWN_ON.items() for kind in kinds}
FIXED = {
    "head_of_group": of_preset("attention_maps", SMALL, "gqa"),
    "example_ratio": example("mla", "cache_ratio"),
    "chosen_keys": Link("sparse"),
    "pooled": Link("after_mla", {"am_model": "deepseek-v4-flash"}),
    "heavily_pooled": Link("overview", {"variant": "hca"}),
    "state": Link("overview", {"variant": "kda"}),
}


def of_kind(kind: str, preset: str, claim: str = "") -> Link:
    """Return the place for a kind of question about this model or this statement."""
    if kind in FIXED:
        return FIXED[kind]
    if kind == "statement":
        return Link("claims", {"claims_text": claim})
    page = PAGE_OF.get(kind, "overview")
    if not preset:
        return Link(page)
    if page == "kv_cache":
        return Link(page, {"kv_left": preset})
    return of_preset(page, preset, "mla_absorbed" if kind == "absorbed_width" else "mla")


def of(question: Question) -> Link:
    """Return the place for this question."""
    claim = question.fact("claim") if question.kind == "statement" else ""
    return of_kind(question.kind, question.preset, claim)


def again(questions: Sequence[Question], missed: Iterable[int]) -> list[tuple[Link, list[int]]]:
    """Return the pages that show the missed questions, each once, with its questions' numbers."""
    found: dict[str, tuple[Link, list[int]]] = {}
    for place in missed:
        link = of(questions[place])
        found.setdefault(link.page, (link, []))[1].append(place + 1)
    return list(found.values())


EVERY = tuple(of_kind(kind, "deepseek-v3") for kind in KINDS)
