"""The first seconds of a visit: what MHA and MLA keep of a sentence, as piles on one scale."""

from typing import Any

from mla_engine import SYMBOLS
from ui.parts.scene.scene import Scene
from ui.words.numbers import count
from ui.words.text import t, variant_name

SHOWN = {"mha": "each", "mla": "shared"}  # variant -> the text on whose the kept numbers are


def piles(scene: Scene) -> list[dict[str, Any]]:
    """Return for each what one token adds, by its parts, and what is written after each token."""
    return [_pile(scene, variant, t(f"scene.opening_{says}")) for variant, says in SHOWN.items()]


def _pile(scene: Scene, variant: str, says: str) -> dict[str, Any]:
    kept = {SYMBOLS[one.code].role: one.cached for one in scene.tensors_of(variant) if one.cached}
    each = sum(kept.values())
    name, tokens = variant_name(variant), range(len(scene.words) + 1)
    said = [t("scene.opening_count", name=name, numbers=count(round(n * each))) for n in tokens]
    return {
        "says": says,
        "each": each,
        "counts": said,
        "parts": [
            {"role": role, "numbers": numbers, "name": t(f"scene.opening_{role}")}
            for role, numbers in kept.items()
        ],
    }
