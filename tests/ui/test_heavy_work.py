"""Nothing heavy goes round the line: every such call holds a turn, and a full line is said."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from tests.ui.screen import says
from ui.engine.queue import Queue

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("ui/**/*.py"), *ROOT.glob("pages/*.py"), ROOT / "app.py"])
STUDIES = {
    "agreement", "claims", "compression", "conventions", "logit_shares", "merging", "quiz",
    "relative", "retrofit", "spectra", "timing",
}  # fmt: skip
LIGHT = {"content_config", "judge", "measured_device", "order", "pair_dimensions", "table"}
MAKERS = {"MultiHeadLatentAttention", "GroupedQueryAttention", "load_attention"}
MAKERS |= {"hidden_states_of_layers"}
METHODS = ("layer", "layer.decode", "absorbed_matrices", "forward_absorbed")  # of a layer
ALLOWED = {
    ("ui/engine/workers/jobs.py", "attention"),  # in a process of its own
    ("ui/engine/workers/jobs.py", "inputs_of_layers"),
    ("ui/sources/layers.py", "built"),  # its callers hold the turn
    ("ui/sources/layers.py", "shapes"),  # without data
    ("ui/engine/queue.py", "warm_up"),  # before anybody waits
}


class Calls(ast.NodeVisitor):
    """The calls of a file: which function makes them, in a turn or not, and whether heavy."""

    def __init__(self, path: Path) -> None:
        self.module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        self.tree = ast.parse(path.read_text("utf-8"))
        self.names = {n.name for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef)}
        self.homes = {name: f"{self.module}.{name}" for name in self.names}
        self.turns, self.inside = 0, ""
        self.bare: list[tuple[str, int, str, bool]] = []  # function, line, called, heavy: no turn
        self.edges: dict[str, set[str]] = defaultdict(set)  # function -> called, by full names
        self.within: set[str] = set()  # what is called in a turn, by its full name
        self.cached: set[str] = set()  # functions that are cached and take a turn, by full names
        self.visit(self.tree)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            self.homes[name.asname or name.name] = f"{node.module}.{name.name}"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before = self.inside, self.turns
        self.inside, self.turns = node.name, 0
        marks = " ".join(map(ast.unparse, node.decorator_list))
        cached = "shared_cache.cached" in marks or "st.cache" in marks
        if cached and "queue.turn(" in ast.unparse(node):
            self.cached.add(self.homes[node.name])
        self.generic_visit(node)
        self.inside, self.turns = before

    def visit_With(self, node: ast.With) -> None:
        held = any(ast.unparse(item.context_expr).startswith("queue.turn(") for item in node.items)
        self.turns += held
        self.generic_visit(node)
        self.turns -= held

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func).removeprefix("self.")
        first, dot, rest = called.partition(".")
        full = self.homes.get(first, first) + dot + rest
        self.edges[f"{self.module}.{self.inside}"].add(full)
        if self.turns:
            self.within.add(full)
        else:
            self.bare.append((self.inside, node.lineno, called, self._is_heavy(node, called)))
        self.generic_visit(node)

    def _is_heavy(self, node: ast.Call, called: str) -> bool:
        first, *rest = called.split(".")
        if first in self.names or "'meta'" in ast.unparse(node):  # a device without data
            return False
        if first not in self.homes:
            return called in METHODS or called.endswith(tuple(f".{name}" for name in METHODS))
        *_, module, name = [*self.homes[first].split("."), *rest]
        if name in MAKERS or (module == "layers" and name in ("built", "run")):
            return True
        study = "mla_engine" in self.homes[first] and module in STUDIES
        return study and name.islower() and name not in LIGHT


def outside_of_turns(path: Path) -> list[str]:
    """Return the heavy calls that no turn holds.

    A private function all of whose callers hold a turn is part of these turns.
    """
    calls = Calls(path)
    called = {ast.unparse(n.func).removeprefix("self.") for n in ast.walk(calls.tree)
              if isinstance(n, ast.Call)}  # fmt: skip
    private = {name for name in calls.names if name.startswith("_") and name in called}
    bare = {"", *calls.names} - private
    while more := {call for where, _, call, _ in calls.bare if where in bare} & private - bare:
        bare |= more
    file = str(path.relative_to(ROOT))
    return [
        f"{file}:{line} {call}"
        for where, line, call, heavy in calls.bare
        if heavy and where in bare and (file, where) not in ALLOWED
    ]


def room(path: Path) -> str:
    """Return the page that a file belongs to, "" for shared code."""
    found = re.match(r"(?:ui/)?pages/(\w+)", str(path.relative_to(ROOT)))
    return found[1] if found else ""


ROOMS = sorted(set(map(room, FILES)))


@pytest.mark.parametrize("name", ROOMS)
def test_every_heavy_call_holds_a_turn(name):
    paths = [path for path in FILES if room(path) == name]
    assert [call for path in paths for call in outside_of_turns(path)] == []


def waited_for(paths: list[Path]) -> set[str]:
    """Return what is cached, takes a turn, and is called in a turn, also through other functions.

    Another thread may be making it: that one waits for this turn to end, and this one for it.
    """
    every = [Calls(path) for path in paths]
    edges = {name: called for calls in every for name, called in calls.edges.items()}
    reached = set().union(*(calls.within for calls in every))
    while more := {called for name in reached for called in edges.get(name, ())} - reached:
        reached |= more
    return reached & set().union(*(calls.cached for calls in every))


def test_no_turn_waits_for_what_is_kept_and_takes_a_turn():
    assert waited_for(FILES) == set()


def test_that_rule_follows_calls_into_other_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.ui.test_heavy_work.ROOT", tmp_path)
    seam, page = tmp_path / "seam.py", tmp_path / "page.py"
    seam.write_text(
        "@shared_cache.cached\ndef layer():\n    with queue.turn():\n        return 1\n"
    )
    code = "import seam\nfrom seam import layer\ndef _part():\n    return layer()\n"
    page.write_text(f"{code}def draw():\n    with queue.turn():\n        _part()\n")
    assert waited_for([seam, page]) == {"seam.layer"}
    page.write_text(f"{code}def draw():\n    _part()\n    with queue.turn():\n        pass\n")
    assert waited_for([seam, page]) == set()


@pytest.mark.parametrize(
    ("code", "missed"),
    [
        ("with queue.turn():\n        timing.step(1)", []),
        ("timing.step(1)", ["timing.step"]),
        ("timing.measured_device(1)", []),
        ("loss(1)", ["loss"]),
        ("layer(h)", ["layer"]),
        ("ready.layer(h)", ["ready.layer"]),
        ("ready.layer.decode(h)", ["ready.layer.decode"]),
        ("MultiHeadLatentAttention(c)", ["MultiHeadLatentAttention"]),
        ("MultiHeadLatentAttention(c, device='meta')", []),
        ("layers.built(c)", ["layers.built"]),
        ("_part(h)", ["timing.step"]),
        ("with queue.turn(), torch.inference_mode():\n        _part(h)", []),
        ("h = partial(_part, h)", ["timing.step"]),
    ],
)
def test_the_rule_sees_what_it_should(tmp_path, monkeypatch, code, missed):
    imports = (
        "from mla_engine import MultiHeadLatentAttention, timing\n"
        "from mla_engine.studies.compression import loss\nfrom ui.sources import layers\n"
    )
    file = tmp_path / "page.py"
    part = "def _part(h):\n    timing.step(h)\n" if "_part" in code else ""
    file.write_text(f"{imports}{part}def draw():\n    {code}\n", "utf-8")
    monkeypatch.setattr("tests.ui.test_heavy_work.ROOT", tmp_path)
    assert [found.split(" ", 1)[1] for found in outside_of_turns(file)] == missed


# A full line

VIEWS = [  # beside those of tests/ui/test_page_controls.py
    ("rope", {"preset": "small", "rope_topic": "merged"}),
    ("rope", {"preset": "small", "rope_topic": "scale"}),
    ("compute", {"cost_gpu": "this"}),
    ("compare", {"preset": "small", "vs_view": "maps"}),
    ("claims", {}),
]


@pytest.fixture
def full_line(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clear the caches and let nobody join the line."""
    st.cache_data.clear()
    st.cache_resource.clear()
    with monkeypatch.context() as patch:
        patch.setattr("ui.engine.queue._queue", lambda: Queue(-1, 1))
        yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.mark.parametrize(("page", "link"), VIEWS)
def test_a_full_line_is_said_where_the_result_would_be(full_line, opened, page, link):
    at = opened(f"pages/{page}.py", **link)
    assert says(at.error[0].value, "refused.waiting")
    assert at.title, "the page lives"


def test_a_real_model_waits_in_the_readers_language(full_line, real):
    at = real("real_models", lang="zh")
    assert any("项计算在排队" in error.value for error in at.error)
