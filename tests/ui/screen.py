"""Read back what a page sent to the browser."""

import base64
import html
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from csv import reader
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from kvcount import refusals
from mla_engine.claims import Verdict
from ui.words.text import catalogue

ANYTHING = "\ue000"  # a letter that no text has
OWN_TEXT = {"default", "value", "id", "page_script_hash", "query_string", "css", "js"}


@dataclass(frozen=True)
class Chart:
    """One chart as the browser gets it."""

    spec: dict[str, Any]
    alt: str
    clicks: str = ""
    file: str = ""
    follows: str = ""

    @property
    def traces(self) -> list[dict[str, Any]]:
        """Return every series, in the order of drawing."""
        return self.spec["data"]

    @property
    def names(self) -> list[str]:
        """Return the names of the series."""
        return [trace.get("name", "") for trace in self.traces]

    @property
    def layout(self) -> dict[str, Any]:
        """Return axes, annotations and all else around the series."""
        return self.spec["layout"]

    def axis(self, letter: str) -> str:
        """Return the title of an axis, "x", "y", "x2" ..."""
        name = f"{letter[0]}axis{letter[1:]}"
        return self.layout.get(name, {}).get("title", {}).get("text", "")

    def trace(self, name: str) -> dict[str, Any]:
        """Return the one series of this name."""
        found = [trace for trace in self.traces if trace.get("name", "") == name]
        assert len(found) == 1, f"{len(found)} of {name!r} among {self.names}"
        return found[0]

    def values(self, of: dict[str, Any] | int | str, part: str) -> np.ndarray:
        """Return x, y, z, text or customdata of a series; masked cells are NaN."""
        if isinstance(of, str):
            of = self.trace(of)
        return array((self.traces[of] if isinstance(of, int) else of)[part])

    @property
    def words(self) -> list[str]:
        """Return the texts of its annotations, but for the names at the ends of lines."""
        notes = self.layout.get("annotations", [])
        return [note.get("text", "") for note in notes if note.get("name") != "end"]


def lead(page: AppTest) -> tuple[str, str]:
    """Return the number below the title and the statement beside it; empty if nothing could run."""
    return tuple(element.value for element in _lead(page)) or ("", "")


def statement(page: AppTest) -> str:
    """Return the statement beside the number below the title."""
    return lead(page)[1]


def prose(page: AppTest) -> list[str]:
    """Return all Markdown of a page but its number and statement."""
    begins = list(map(id, _lead(page)))
    return [written.value for written in page.main.markdown if id(written) not in begins]


def _lead(page: AppTest) -> list[Any]:
    rows = [b for b in page.main if str(getattr(b.proto, "id", "")).endswith("-lead")]
    return [element for row in rows for element in row.children.values()]


def plain(text: str) -> str:
    """Return a text without tags, entities and no-break spaces."""
    return html.unescape(re.sub(r"<[^>]*>", "", text)).replace("\xa0", " ")


def percent(share: float) -> str:
    """Write a share as the pages do, to three digits."""
    return f"{100 * share:#.3g} %"


def said(at: AppTest) -> list[str]:
    """Return a page's sentences: the statement below its title, its prose, its captions."""
    captions = [caption.value for caption in own(at, "caption")]
    return [plain(text) for text in (statement(at), *prose(at), *captions)]


def speech(at: AppTest) -> str:
    """Return all sentences of a page as one text."""
    return "\n".join(said(at))


def saying(at: AppTest, words: str) -> str:
    """Return the one text of a page that has these words."""
    found = [text for text in said(at) if words in text]
    assert len(found) == 1, f"{len(found)} with {words!r} among {said(at)}"
    return found[0]


def says(shown: str | Iterable[str], key: str, /, lang: str = "en", **values: object) -> bool:
    """Tell whether one of the texts shown has the text of this key in it.

    With these values; one that is not named may be anything. The key of a refusal is its section
    and its code.
    """
    page, _, code = key.partition(".")
    text = (catalogue().get(key) or refusals.table()[page][code])[lang]
    pattern = _pattern(re.sub(r"\{(\w+)[!:][^}]*\}", r"{\1}", text), values)
    return any(pattern.search(_bare(one)) for one in ([shown] if isinstance(shown, str) else shown))


def _pattern(text: str, values: Mapping[str, object]) -> re.Pattern[str]:
    """Return what a text of the catalogue looks like on the screen, with some of its values."""
    filled = _bare(text.format_map(_Filling({name: str(values[name]) for name in values})))
    spaced = re.escape(filled).replace(r"\ ", " ?")  # there is none between Chinese and a value
    return re.compile(spaced.replace(ANYTHING, ".+?"), re.DOTALL)


class _Filling(dict):
    """The values of a text; one that is not among them may be anything."""

    def __missing__(self, name: str) -> str:
        return ANYTHING


def _bare(text: str) -> str:
    """Return a text without tags and the marks that keep a stranger's words apart."""
    return re.sub("[\u2066-\u2069]", "", plain(text))


def refusal(at: AppTest) -> str:
    """Return the one refusal of a page."""
    [error] = at.error
    return html.unescape(error.value)


def array(sent: Any) -> np.ndarray:
    """Return a list, or the typed array that Plotly writes as base64, as an array."""
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
    """Return every chart of the page, from top to bottom."""
    components = [element.proto for element in at.get("bidi_component")]
    return [chart(one) for one in components if one.component_name == "chart"]


def chart(proto: Message) -> Chart:
    """Return the chart that a component is sent."""
    sent = json.loads(proto.bytes)
    return Chart(sent["figure"], *(sent[part] for part in ("alt", "clicks", "file", "follows")))


def drawn(at: AppTest, names: Iterable[str]) -> dict[str, Chart]:
    """Return all charts of the page, from top to bottom, by these names."""
    return dict(zip(names, charts(at), strict=True))


def chart_of(at: AppTest, alt: str) -> Chart:
    """Return the one chart whose alternative text begins so."""
    found = [chart for chart in charts(at) if chart.alt.startswith(alt)]
    assert len(found) == 1, f"{len(found)} of {alt!r} among {[one.alt for one in charts(at)]}"
    return found[0]


def component(at: AppTest, name: str) -> dict[str, Any]:
    """Return the data that a component of our own is sent."""
    (proto,) = (e.proto for e in at.get("bidi_component") if e.proto.component_name == name)
    sent = json.loads(proto.json)
    return sent[0] if isinstance(sent, list) else sent


def csv(data: Any) -> pd.DataFrame:
    """Read the CSV of a download button as a spreadsheet would."""
    content = data() if callable(data) else data
    content = content if isinstance(content, bytes) else content.encode()
    return pd.read_csv(io.BytesIO(content), encoding="utf-8-sig", keep_default_na=False)


def clicked(at: AppTest, name: str) -> Chart:
    """Return the chart whose cells report a click under this name."""
    found = [one for one in charts(at) if one.clicks == name]
    assert len(found) == 1, f"{len(found)} charts are called {name!r}"
    return found[0]


def cells(data: Any) -> list[list[str]]:
    """Return the table of a download button, cell by cell as it is written."""
    return list(reader(io.StringIO(data().decode("utf-8-sig"))))


def own(at: AppTest, kind: str, but: str = "") -> list[Any]:
    """Return the page's elements of a kind, without the row above its title.

    And without what stands in the container of the key `but`, if one is named.
    """
    named = {
        getattr(b.proto, "id", "").rpartition("-")[2]: b for b in at.main if hasattr(b, "proto")
    }
    left_out = [id(element) for key in filter(None, ("page_row", but)) for element in named[key]]
    return [element for element in getattr(at.main, kind) if id(element) not in left_out]


def texts(at: AppTest) -> list[str]:
    """Return all texts outside the sidebar: sentences, cells, and those of charts."""
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
    """Count the numbers of a text as they are written, without those of tooltips."""
    return Counter(re.findall(r"\d(?:[\d,.]*\d)?", re.sub(r"<[^>]*>", "", text)))


def everything(at: AppTest) -> list[str]:
    """Return every text that was sent to the browser: pages, sidebar, charts.

    What a reader wrote into a box of their own stays there as it is.
    """
    protos = [node.proto for node in at._tree if getattr(node, "proto", None) is not None]
    frames = [(table.value, *table.value.columns, *table.value.index) for table in at.table]
    cells = [str(cell) for frame, *names in frames for cell in (*names, *frame.to_numpy().ravel())]
    return cells + [text for proto in protos for text in _strings(proto)]


def outside(at: AppTest, keys: set[str]) -> Iterator[str]:
    """Yield every text that a page shows outside containers of these keys."""
    waiting = [at.main]
    while waiting:
        node = waiting.pop()
        if getattr(node.proto, "id", "").rpartition("-")[2] in keys:
            continue
        waiting += getattr(node, "children", {}).values()
        yield from _visible(node)


def _visible(node: Any) -> Iterator[str]:
    """Yield the readable texts of an element: no key, no data of a series."""
    if node.type == "table":
        yield from map(str, node.value.to_numpy().ravel())
    elif node.type == "html":
        yield plain(node.proto.body)
    elif node.type == "bidi_component" and node.proto.component_name == "chart":
        yield from (chart(node.proto).alt, *_strings(chart(node.proto).layout))
    elif node.type == "bidi_component":
        yield from _strings(node.proto.json)
    elif isinstance(value := getattr(node, "value", None), str):
        yield from (plain(value), getattr(node, "label", "") or "")


def _strings(sent: Any) -> Iterator[str]:
    if isinstance(sent, str):
        yield from _leaves(sent)
    elif isinstance(sent, Message):
        for field, value in sent.ListFields():
            if field.name not in OWN_TEXT:
                yield from _strings(value.decode() if field.name == "bytes" else value)
    elif isinstance(sent, Mapping):
        yield from (text for pair in sent.items() for part in pair for text in _strings(part))
    elif isinstance(sent, Iterable) and not isinstance(sent, bytes):
        yield from (text for part in sent for text in _strings(part))


def _leaves(text: str) -> Iterator[str]:
    """Yield the text, or the texts in it where it is JSON, as charts are sent."""
    try:
        held = json.loads(text) if text.startswith(("{", "[")) else text
    except ValueError:
        held = text
    if isinstance(held, str):
        yield held
    else:
        yield from _strings(held)


class Counted(float):
    """A number in millions, which a Chinese text has in ten thousands or hundreds of millions."""

    def __format__(self, spec: str) -> str:
        if spec != "million":
            return super().__format__(spec)
        millions, unit = (100, "亿") if self >= 100 else (0.01, "万")
        return f"{self / millions:#,.4g}".rstrip(".") + unit


def counted(verdict: Verdict) -> dict[str, object]:
    """Return the evidence of a verdict by name, numbers as texts in both languages write them."""
    return {
        one.name: Counted(one.value) if isinstance(one.value, float) else one.value
        for one in verdict.evidence
    }
