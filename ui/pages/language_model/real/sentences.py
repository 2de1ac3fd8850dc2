"""Sentences whose next word the app's own real model finds likely: an example of each kind.

Each probability was measured, and a test holds it.
"""

from ui.parts import examples
from ui.parts.examples import Example
from ui.sources import whole

APPLE = "Alice went to the market and bought a red apple. "
APPLE += "Then Alice went to the market and bought a green"
CODE = 'if x > 0:\n    print("positive")\nelse:\n    print("'
EXAMPLES = {
    "fact": Example("The capital of France is", {"layer": 23}),  # `is` at `France`
    "again": Example(APPLE, {"layer": 17}),  # `green` at `apple`
    "pronoun": Example("The boy lost his ball. The girl lost", {"layer": 16}),  # at `girl`
    "saying": Example("An apple a day keeps the doctor", {"layer": 25}),  # at `keeps`
    "program": Example(CODE, {"layer": 20}),  # at `positive`
}
"""Beside each the layer in which a head looks most at one piece of it."""


def opens() -> dict[str, object]:
    """Return what the page opens with; nothing where the model cannot be held whole."""
    return examples.opens(EXAMPLES) if whole.key() else {}
