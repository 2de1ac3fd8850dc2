"""What a page put on the screen, read back from what was sent to the browser."""

import base64
import io
import json
import re
from collections import Counter
from csv import reader
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest


@dataclass(frozen=True)
class Chart:
    """One chart as the browser gets it."""

    spec: dict[str, Any]
    alt: str

    @property
    def traces(self) -> list[dict[str, Any]]:
        """Every series, in the order of drawing."""
        return self.spec["data"]

    @property
    def names(self) -> list[str]:
        """The names of the series."""
        return [trace.get("name", "") for trace in self.traces]

    @property
    def layout(self) -> dict[str, Any]:
        """Axes, annotations and what else stands around the series."""
        return self.spec["layout"]

    def axis(self, letter: str) -> str:
        """The title of an axis, "x", "y", "x2" ..."""
        name = f"{letter[0]}axis{letter[1:]}"
        return self.layout.get(name, {}).get("title", {}).get("text", "")

    def trace(self, name: str) -> dict[str, Any]:
        """The one series of this name."""
        found = [trace for trace in self.traces if trace.get("name", "") == name]
        assert len(found) == 1, f"{len(found)} of {name!r} among {self.names}"
        return found[0]

    def values(self, of: dict[str, Any] | int | str, part: str) -> np.ndarray:
        """What a series has as x, y, z, text or customdata; masked cells are NaN."""
        if isinstance(of, str):
            of = self.trace(of)
        return array((self.traces[of] if isinstance(of, int) else of)[part])

    @property
    def words(self) -> list[str]:
        """The texts of its annotations."""
        return [note.get("text", "") for note in self.layout.get("annotations", [])]


def array(sent: Any) -> np.ndarray:
    """A list, or the typed array that Plotly writes as base64."""
    if isinstance(sent, dict) and "bdata" in sent:
        kind = {"f8": "<f8", "f4": "<f4"}.get(sent["dtype"], sent["dtype"])
        flat = np.frombuffer(base64.b64decode(sent["bdata"]), dtype=np.dtype(kind))
        shape = sent.get("shape")
        return flat.reshape([int(side) for side in shape.split(",")]) if shape else flat
    made = np.array(sent)
    return made if made.dtype != object else _numbers_or_texts(sent)


def _numbers_or_texts(sent: Any) -> np.ndarray:
    try:
        return np.array(sent, dtype=float)  # None becomes NaN
    except (TypeError, ValueError):
        return np.array(sent, dtype=object)


def charts(at: AppTest) -> list[Chart]:
    """Every chart of the page, from top to bottom."""
    sent = [element.proto for element in at.get("plotly_chart")]
    return [Chart(json.loads(proto.spec), proto.alt) for proto in sent]


def csv(data: Any) -> pd.DataFrame:
    """What a download button hands out as CSV, read as a spreadsheet would."""
    content = data() if callable(data) else data
    content = content if isinstance(content, bytes) else content.encode()
    return pd.read_csv(io.BytesIO(content), encoding="utf-8-sig", keep_default_na=False)


def clicked(at: AppTest, name: str) -> Chart:
    """The chart whose cells tell a click under this name."""
    found = [one for one in charts(at) if one.layout.get("meta", {}).get("chart") == name]
    assert len(found) == 1, f"{len(found)} charts are called {name!r}"
    return found[0]


def cells(data: Any) -> list[list[str]]:
    """A table that a button hands out, cell by cell as it is written."""
    return list(reader(io.StringIO(data().decode("utf-8-sig"))))


def texts(at: AppTest) -> list[str]:
    """All that the page says outside the sidebar: sentences, cells, and what its charts say."""
    page = at.main
    said = [e.value for kind in (page.title, page.subheader, page.markdown) for e in kind]
    said += [caption.value for caption in page.caption]
    for table in page.table:
        frame = table.value
        said += [*frame.columns, *frame.index, *map(str, frame.to_numpy().ravel())]
    for chart in charts(at):
        axes = [v for k, v in chart.layout.items() if re.fullmatch(r"[xy]axis\d*", k)]
        said += [chart.alt, *chart.names, *chart.words]
        said += [axis.get("title", {}).get("text", "") for axis in axes]
    return said


def numbers(text: str) -> Counter[str]:
    """The numbers that a text holds, as they are written; those of tooltips do not count."""
    return Counter(re.findall(r"\d(?:[\d,.]*\d)?", re.sub(r"<[^>]*>", "", text)))
