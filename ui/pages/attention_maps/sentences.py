"""Sentences for the app's own real model, each beside a layer, head and cell that show something.

Of all 270 heads it is one of the best at it, by `text_heads.sentence_scores`.
"""

from ui.parts.real_sentences import ALICE, Example

CELL = {"map_head": 5, "map_query": 19, "map_key": 8}  # the second `a` at `red`
EXAMPLES = {"induction": Example(ALICE, {"layer": 17} | CELL)}
