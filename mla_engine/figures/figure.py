"""A figure is one dictionary: put together once, and changed by nobody afterwards.

Plotly takes longer to validate a figure than everything else about it, so it is asked to only
where somebody reads or changes parts of one; the tests put every figure of every page through it.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from mla_engine.figures.theme import FONT, TEMPLATE, TRANSPARENT

Trace = dict  # as Plotly writes one, with its "type"
MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}
AXIS = {"tickfont": FONT, "title": {"font": FONT}, "automargin": True, "zeroline": False}
HOUSE = {
    "template": TEMPLATE,
    "paper_bgcolor": TRANSPARENT,
    "plot_bgcolor": TRANSPARENT,
    "font": FONT,
    "hoverlabel": {"align": "left", "font": FONT},
    "dragmode": False,
}
# Of the kinds that numpy has and the browser reads; what is wider and fits goes as one of these.
HOLDS = (Mapping, list, tuple, np.ndarray)  # what there is to copy; all else is a value
WHOLE = {"i": ("int8", "int16", "int32"), "u": ("uint8", "uint16", "uint32")}


class Figure(go.Figure):
    """A `go.Figure` whose parts Plotly makes when the first of them is asked for.

    `spec` is the dictionary that it was made of, None once it is Plotly's. Arrays are read-only.
    """

    def __init__(self, spec: Mapping) -> None:
        self.__dict__["spec"] = spec

    def __getattr__(self, name: str) -> object:
        spec, self.__dict__["spec"] = self.__dict__.get("spec"), None
        if spec is None:
            raise AttributeError(name)
        super().__init__(spec)
        return getattr(self, name)

    def to_dict(self) -> dict:
        """Return the figure as it is written to JSON: arrays of numbers are typed, in base64."""
        return super().to_dict() if self.spec is None else _written(self.spec)


def figure(
    traces: Sequence[Trace],
    *,
    height: int,
    x: Mapping | None = None,
    y: Mapping | None = None,
    margin: Mapping | None = None,
    **layout: object,
) -> Figure:
    """Return a figure in the house style.

    Args:
        traces: as Plotly writes them; arrays are copied, None is left out.
        height: pixels.
        x: what the x axis has beside the house style.
        y: the same of the y axis.
        margin: the same of the margins.
        layout: all else that stands around the traces.
    """
    own = {"height": height, "margin": MARGIN | dict(margin or {})}
    axes = {"xaxis": AXIS | dict(x or {}), "yaxis": AXIS | dict(y or {})}
    around = {name: part for name, part in layout.items() if part != []}
    return Figure(_frozen({"data": traces, "layout": HOUSE | own | axes | around}))


def titled(text: str) -> dict:
    """Return the title of an axis, for `figure`."""
    return {"title": {"text": text, "font": FONT}}


def _frozen(part: object) -> object:
    """Return a copy that nobody else can change, without what is None."""
    if not isinstance(part, HOLDS):
        return part
    if isinstance(part, Mapping):
        kept = {key: one for key, one in part.items() if one is not None}
        return kept | {key: _frozen(one) for key, one in kept.items() if isinstance(one, HOLDS)}
    if isinstance(part, list | tuple):
        return [_frozen(one) if isinstance(one, HOLDS) else one for one in part]
    if isinstance(part, np.ndarray):
        part = part.copy()
        part.flags.writeable = False
    return part


def _written(part: object) -> object:
    if isinstance(part, Mapping):
        written = {key: _written(one) for key, one in part.items() if isinstance(one, HOLDS)}
        return {**part, **written}
    if isinstance(part, list):
        return [_written(one) if isinstance(one, HOLDS) else one for one in part]
    return typed(part) if isinstance(part, np.ndarray) else part


def typed(values: np.ndarray) -> dict | list:
    """Return an array as Plotly reads it fastest: bytes in base64, or a list where it has none."""
    kind = values.dtype.kind
    if kind in WHOLE and values.size:
        ends = values.min(), values.max()
        fits = (name for name in WHOLE[kind] if _holds(np.iinfo(name), *ends))
        values = values.astype(next(fits, values.dtype)) if values.itemsize == 8 else values
    if not values.size or kind not in "iuf" or values.dtype in (np.int64, np.uint64, np.float16):
        return values.tolist()
    shape = {"shape": ", ".join(map(str, values.shape))} if values.ndim > 1 else {}
    code = f"{kind}{values.itemsize}"
    return {"dtype": code, "bdata": b64encode(np.ascontiguousarray(values)).decode()} | shape


def _holds(kind: np.iinfo, least: int, most: int) -> bool:
    return kind.min <= least and most <= kind.max
