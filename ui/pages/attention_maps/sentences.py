"""Five sentences for the app's own real model, each beside a head and a cell that show something.

Of all 270 heads none is better at it: in three by `text_heads.sentence_scores`, in two by what they
give in the pairs that are named here, of a pronoun and its noun, or of quotation marks. No sentence
is Chinese: the model's tokenizer cuts most of those characters into bytes.
"""

from ui.parts.examples import ALICE, Example

BOAT = "A small boat crossed the wide river before the sun went down."
ANNA = "Anna gave the book to Tom because he wanted to read it."
GREETING = 'He said "good morning" to the man and "good night" to the child.'
VOLUME = """def area(width, height):
    return width * height

def volume(width, height, depth):
    return width * height * depth"""


def _shown(text: str, head: str, query: int, key: int, *others: tuple[int, int]) -> Example:
    """Return an example; `others` are pairs in which the head looks as in its cell."""
    layer, number = map(int, head.split("."))
    cell = {"map_head": number, "map_query": query, "map_key": key}
    return Example(text, {"layer": layer} | cell, (*others, (query, key)) if others else ())


EXAMPLES = {
    "induction": _shown(ALICE, "17.5", 19, 8),  # the second `a` at `red`
    "previous": _shown(BOAT, "16.0", 6, 5),
    "noun": _shown(ANNA, "13.8", 11, 3, (7, 5)),  # `it` at `book`, `he` at `Tom`
    "quotation": _shown(GREETING, "10.3", 13, 10, (5, 2)),
    "code": _shown(VOLUME, "14.3", 29, 21),  # `depth` where it is used at `depth` as it is named
}
