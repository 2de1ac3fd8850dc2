"""Streamlit's front end in a copy: unmodified, without the parts that no page of ours needs."""

import re
import shutil
from pathlib import Path

from ui import STATIC

FILE = re.compile(r"[\"'`/(]([\w.-]{3,80}\.(?:js|css|woff2|png|gif|svg))[\"'`)]")
ENTRY = re.compile(r'src="\./static/js/([\w.-]+\.js)"')
# Streamlit's elements that no page draws, and what draws diagrams in its Markdown.
NOT_DRAWN = (
    *("DeckGlJsonChart", "EChartsChart", "GraphVizChart", "embed", "ArrowVegaLiteChart"),
    *("VegaLiteChart", "mermaid", "ColorPicker", "DateInput", "TimeInput", "DateTimeInput"),
    *("AudioInput", "CameraInput", "ChatInput", "FileUploader", "Video", "Audio", "Snow"),
    *("Balloons", "Json", "Feedback", "MultiSelect", "Multiselect"),
    *("SourceSerifVariable-Italic", "SourceSerifVariable-Roman"),
)


def needed(static: Path = STATIC) -> set[str]:
    """Return the files that the entry leads to without an element that is not drawn."""
    folder = static / "static"
    page = (static / "index.html").read_text("utf-8")
    found: set[str] = set()
    left = [f"js/{name}" for name in ENTRY.findall(page)]
    left += re.findall(r'\./static/((?:js|css|media)/[\w.-]+)"', page)
    there = {file.name: f"{file.parent.name}/{file.name}" for file in folder.rglob("*.*")}
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        if name.endswith((".js", ".css")):
            text = (folder / name).read_text("utf-8")
            named = there.keys() & set(FILE.findall(text))
            left += [there[one] for one in named if not _left_out(one)]
    return found


def _left_out(name: str) -> bool:
    return name.partition(".")[0] in NOT_DRAWN


def copy(to: Path) -> None:
    """Copy it, with the licence of the version that is installed."""
    for name in sorted(needed()):
        target = to / "static" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(STATIC / "static" / name, target)
