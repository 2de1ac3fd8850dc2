"""Where in the app the answer to a question can be seen."""

from collections.abc import Iterable, Sequence

from mla_engine.quiz import KINDS, Question
from ui.parts.links import example, of_preset
from ui.settings.page import Link
from ui.settings.parsers import SMALL

PAGE_OF = {  # of the others the overview
    "whole_model": "kv_cache",
    "ratio": "kv_cache",
    "grouped": "kv_cache",
    "longest": "kv_cache",
    "per_gpu": "kv_cache",
    "query_latent": "kv_cache",
    "index_keys": "kv_cache",
    "block_index": "kv_cache",
    "hybrid": "kv_cache",
    "bytes_read": "compute",
    "flops_of_a_step": "compute",
    "prefill_form": "compute",
    "crossover": "compute",
    "intensity": "compute",
    "merged": "absorption",
    "stacked_heads": "absorption",
    "norm_between": "absorption",
    "forms_agree": "absorption",
    "scale": "rope",
    "shifted": "rope",
    "unrotated": "rope",
    "wrong_scale": "rope",
    "window": "attention_maps",
    "not_causal": "attention_maps",
}
FIXED = {
    "head_of_group": of_preset("attention_maps", SMALL, "gqa"),
    "example_ratio": example("mla", "cache_ratio"),
    "chosen_keys": Link("sparse"),
    "pooled": Link("after_mla", {"am_model": "deepseek-v4-flash"}),
    "heavily_pooled": Link("overview", {"variant": "hca"}),
    "state": Link("overview", {"variant": "kda"}),
}


def of_kind(kind: str, preset: str, claim: str = "") -> Link:
    """The place for a kind of question about this model or this statement."""
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
    """The place for this question."""
    claim = question.fact("claim") if question.kind == "statement" else ""
    return of_kind(question.kind, question.preset, claim)


def again(questions: Sequence[Question], missed: Iterable[int]) -> list[tuple[Link, list[int]]]:
    """The pages that show the missed questions, each once, with the numbers of its questions."""
    found: dict[str, tuple[Link, list[int]]] = {}
    for place in missed:
        link = of(questions[place])
        found.setdefault(link.page, (link, []))[1].append(place + 1)
    return list(found.values())


EVERY = tuple(of_kind(kind, "deepseek-v3") for kind in KINDS)
