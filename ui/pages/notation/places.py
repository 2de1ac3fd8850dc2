"""Where in the app the numbers of a symbol are."""

from collections.abc import Mapping

from ui.settings.page import Link

BESIDE_MAPS = {
    "W_QK": Link("absorption", {"ab_matrix": "W_QK"}),
    "W_VO": Link("absorption", {"ab_matrix": "W_VO"}),
    "c_KV": Link("kv_cache"),
    "k_R": Link("rope", {"rope_topic": "merged"}),
    "q_R": Link("rope", {"rope_topic": "turning"}),
}


def of(code: str, homes: Mapping[str, str]) -> list[Link]:
    """The pages that show a symbol, with what each is to open with."""
    own = [_on_maps(code, homes[code])] if code in homes else []
    return own + ([BESIDE_MAPS[code]] if code in BESIDE_MAPS else [])


def _on_maps(code: str, variant: str) -> Link:
    return Link("attention_maps", {"map_tensor": code, "variant": variant})


EVERY = (*BESIDE_MAPS.values(), _on_maps("c_KV", "mla"))
