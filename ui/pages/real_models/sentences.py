"""Five sentences for the app's own real model, each beside a head that shows one kind of look.

Of all 270 heads it is one of the best at it, by `text_heads.sentence_scores`, and the cell shows
that look.
"""

from ui.parts.real_sentences import ALICE, Example

RIVER = "The river was cold, the wind was cold, and the stones along the river were cold."
KEEPER = "The old lighthouse keeper climbed the narrow stairs every evening to light the lamp."
SPOONS = "My grandmother keeps her silver spoons in the top drawer of the kitchen."
CODE = "def area(width, height):\n    size = width * height\n    return size * width * height"


def _shown(text: str, layer: int, head: int, query: int, key: int) -> Example:
    cell = {"map_head": head, "map_query": query, "map_key": key}
    return Example(text, {"layer": layer} | cell)


EXAMPLES = {
    "induction": _shown(ALICE, 17, 5, 19, 8),  # the second `a` at `red`
    "previous": _shown(KEEPER, 16, 0, 3, 2),
    "same": _shown(RIVER, 5, 6, 17, 3),
    "first": _shown(SPOONS, 18, 8, 5, 0),
    "code": _shown(CODE, 5, 6, 12, 5),
}
