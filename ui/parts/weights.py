"""Random weights are called so beside every picture of them."""

import html

from ui.engine.layers import Origin
from ui.words.text import t


def mark(origin: Origin, name: str = "random") -> str:
    """HTML to stand behind a picture's caption: what its weights are; none of a real layer's."""
    if not isinstance(origin, int):
        return ""
    means = html.escape(t("weights.means", seed=origin))
    tag = f'<span class="term drawn" tabindex="-1" aria-description="{means}">'
    return f"&ensp;{tag}{t(f'weights.{name}')}</span>"
