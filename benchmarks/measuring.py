"""The measures that the benchmarks share which set the app beside a bare page of Streamlit.

A table is printed and written as JSON with versions, threads, cores and load. The bare page is
measured several times: where those differ by more than a bound, no ratio is reported.
"""

import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from google.protobuf.message import Message
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.attacks.client import Session, Talk  # noqa: E402 - found by the path
from tests.attacks.server import App, running  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = "streamlit", "plotly", "torch", "numpy"
TWO_MAPS = tuple({"height": 420, "width": 600, "traces": [("heatmap", 16, 16)]} for _ in "12")
KEPT_RUNS = 2  # after which a browser drops a message that none of them named
NOISY = "not reported: noisy"
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Bare:
    """The contents of the bare page: the slider's places, its charts, or the picture of a scene."""

    last: int = 30
    first: int = 15
    charts: Sequence[Mapping[str, object]] = TWO_MAPS
    scene: bool = False


@contextmanager
def bare_app(page: Bare) -> Iterator[App]:
    """A server of the bare page, with the configuration of the app.

    What the app sets for speed alone is as Streamlit has it: garbage is collected after each run,
    and each message is tried against sixteen origins.
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "benchmarks" / "bare_page.py", Path(folder) / "app.py")
        shutil.copytree(ROOT / ".streamlit", Path(folder) / ".streamlit")
        config = Path(folder) / ".streamlit" / "config.toml"
        own = "postScriptGC", "allowedOrigins"
        kept = [line for line in config.read_text().splitlines() if not line.startswith(own)]
        config.write_text("\n".join(kept))
        with running({"BARE_PAGE": json.dumps(asdict(page))}, root=Path(folder)) as app:
            yield app


@contextmanager
def our_app() -> Iterator[App]:
    """A server of the app."""
    with running() as app:
        yield app


def cpu_seconds(app: App) -> float:
    """The processor time that a server has used, without its workers."""
    after_name = Path(f"/proc/{app.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / TICKS


class Reader(Talk):
    """Says, as a browser does, which messages it has kept, and counts bytes."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.received = 0
        self._kept: dict[str, tuple[int, Message]] = {}  # by name, with the run that named it last
        self._popovers: list[tuple[int, ...]] = []

    def rerun(self, **options: object) -> object:
        """Ask for a run."""
        oldest = self.seen.runs - KEPT_RUNS
        self._kept = {name: kept for name, kept in self._kept.items() if kept[0] > oldest}
        del self.state.cached_message_hashes[:]
        self.state.cached_message_hashes.extend(sorted(self._kept))
        return super().rerun(**options)

    def _take(self, message: Message) -> None:
        self.received += message.ByteSize()
        if message.metadata.cacheable:
            self._kept[message.hash] = self.seen.runs, message
        elif message.HasField("ref_hash"):
            message = self._named(message)
        if message.delta.add_block.HasField("popover"):
            self._popovers.append(tuple(message.metadata.delta_path))
        super()._take(message)

    def _named(self, reference: Message) -> Message:
        """The kept message, in the place that it has now."""
        kept = self._kept[reference.ref_hash][1]
        self._kept[reference.ref_hash] = self.seen.runs, kept
        message = ForwardMsg()
        message.CopyFrom(kept)
        message.metadata.CopyFrom(reference.metadata)
        return message

    def slider(self) -> Message | None:
        """The first slider in sight, or behind a popover where none is in sight."""
        there = sorted(self.seen.elements.items())
        found = [(place, one.slider) for place, one in there if one.HasField("slider")]
        hidden = [one for place, one in found if any(place[: len(p)] == p for p in self._popovers)]
        return next(iter([one for _, one in found if one not in hidden] + hidden), None)

    def move(self, slider: Message, place: float) -> object:
        """Move a slider to a place; a choice along a line says its words."""
        if slider.options:
            return self.touch(slider, string_array_value={"data": [slider.options[int(place)]]})
        return self.touch(slider, double_array_value={"data": [place]})


class Visitor(Reader, Session):
    """A visitor that reads as a browser does, and waits for every answer."""

    def __init__(self, app: App) -> None:
        super().__init__(app.url)


def places(slider: Message, most: int) -> list[float]:
    """Return the places that a slider can move to from where it is, the nearest first."""
    step, start = slider.step or 1.0, slider.default[0]
    around = [start + step * by for n in range(1, most + 1) for by in (n, -n)]
    return [place for place in around if slider.min <= place <= slider.max][:most]


def spread(bare: Sequence[float]) -> float:
    """Return how far repeated measurements of the bare page lie apart, as a share of the median."""
    return (max(bare) - min(bare)) / statistics.median(bare)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which so many of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def machine() -> dict[str, object]:
    """Return what the figures depend on beside the code."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "device": "CPU",
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": 1,
        "load": [round(load, 1) for load in os.getloadavg()],
    }


def report(name: str, rows: Sequence[Mapping[str, object]], **about: object) -> None:
    """Print a table, and write it with what it depends on."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    texts = [columns, *([_text(row.get(key, "")) for key in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for line in texts:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.json"
    file.write_text(json.dumps({"about": machine() | about, "rows": rows}, indent=1) + "\n")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {file.relative_to(ROOT)}")


def _text(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
