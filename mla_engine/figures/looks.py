"""The colour, dash and mark of each tensor and variant of attention, and of everything else.

Three sets that share no colour. Tensors have the colours of Okabe and Ito, which words in prose
carry too. A variant looks the same on every chart. What is neither, such as the parts of a step's
bytes or the formulas of calculators, has one of the other looks. Colour is never the only sign.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plotly.colors import hex_to_rgb

COLOURS: Mapping[str, str] = {
    "query": "#0072B2",
    "key": "#D55E00",
    "value": "#009E73",
    "latent": "#CC79A7",
    "rope": "#E69F00",
    "output": "#56B4E9",
    "input": "#7F858D",
    "score": "#7F858D",
    "weight": "#7F858D",
}


@dataclass(frozen=True)
class Look:
    """A line's colour and dash, the mark of its points, and the style sheet's colour for words."""

    colour: str
    dash: str
    mark: str
    words: str

    def worded(self, text: str) -> str:
        """Return `text` in this colour, as dark or light as the page's ground needs it."""
        return f'<span style="color:var({self.words},{self.colour})">{text}</span>'


# Over 3:1 on light and on dark ground, and far apart for those who confuse red and green.
VARIANTS: Mapping[str, Look] = {
    "mha": Look("#776600", "dash", "square", "--way-mha"),
    "gqa": Look("#339999", "dashdot", "diamond", "--way-gqa"),
    "mqa": Look("#BB8866", "dot", "triangle-up", "--way-mqa"),
    "mla_kv": Look("#AA4466", "longdash", "cross", "--way-mla-kv"),
    "mla_each": Look("#AA77FF", "longdashdot", "x", "--way-mla-each"),
    "mla_absorbed": Look("#8844BB", "solid", "circle", "--way-mla-absorbed"),
}
# What came after MLA; eleven colours are nearer to one another: marks and dashes count for more.
SUCCESSORS: Mapping[str, Look] = {
    "dsa": Look("#8877BB", "14px,4px", "star-triangle-up", "--way-dsa"),
    "csa": Look("#22AA00", "14px,4px,3px,4px", "pentagon", "--way-csa"),
    "hca": Look("#337788", "6px,3px", "hexagon", "--way-hca"),
    "kda": Look("#AA7777", "3px,3px", "hourglass", "--way-kda"),
    "block_dsa": Look("#B34D4F", "20px,4px,6px,4px", "star-diamond", "--way-block-dsa"),
}
OTHERS: Sequence[Look] = (
    Look("#3B5BE3", "solid", "circle", "--other-0"),
    Look("#666655", "dash", "square", "--other-1"),
    Look("#888899", "dot", "diamond", "--other-2"),
    Look("#999900", "dashdot", "triangle-up", "--other-3"),
    Look("#666655", "longdash", "cross", "--other-1"),
    Look("#888899", "longdashdot", "x", "--other-2"),
    Look("#3B5BE3", "9px,3px,2px,3px,2px,3px", "star", "--other-0"),  # of an unknown variant
)
TENSORS: Mapping[str, Look] = {
    role: Look(COLOURS[role], dash, mark, f"--{role}")
    for role, dash, mark in (
        ("query", "dashdot", "diamond"),
        ("key", "dash", "square"),
        ("value", "dot", "triangle-up"),
        ("latent", "solid", "circle"),
        ("rope", "solid", "square"),
        ("output", "solid", "circle"),
        ("input", "dash", "circle"),
        ("score", "longdash", "cross"),
        ("weight", "dash", "circle"),
    )
}

Role = str | int
GREY = 0.6  # in a faded colour


def look(role: Role) -> Look:
    """Return the look of a tensor's role, of a variant by its code, or of a number from 0 on.

    A variant that this table does not know yet looks like the last of all others.
    """
    if isinstance(role, int):
        return OTHERS[role % len(OTHERS)]
    return VARIANTS.get(role) or SUCCESSORS.get(role) or TENSORS.get(role) or OTHERS[-1]


def faded(colour: str) -> str:
    """Return a colour nearly as grey as a weight's; a clear one would sink into dark ground."""
    sides = (hex_to_rgb(one) for one in (colour, COLOURS["weight"]))
    parts = ((1 - GREY) * own + GREY * grey for own, grey in zip(*sides, strict=True))
    return "#" + "".join(f"{round(part):02X}" for part in parts)
