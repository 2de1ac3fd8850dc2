"""Sentences for the app's own real model that take few or many tokens: each is a block in a cache.

How many tokens each takes was counted, and a test holds it.
"""

from ui.parts.examples import KEEPER, Example

PI = "The number pi begins with 3.14159265358979323846."
CAPITALS = "中国的首都是北京，法国的首都是巴黎。"
NAMES = "Zugspitze, Kilimanjaro, Popocatépetl and Eyjafjallajökull are mountains."
CODE = "def area(width, height):\n    return width * height"
SHOWN = {"layer": 17, "dec_prompt": 4}
EXAMPLES = {
    "prose": Example(KEEPER, SHOWN),
    "digits": Example(PI, SHOWN),
    "names": Example(NAMES, SHOWN),
    "program": Example(CODE, SHOWN),
    "chinese": Example(CAPITALS, SHOWN),
}
