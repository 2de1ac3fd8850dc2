"""The house rules that a linter does not know."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ui.settings.shared import SHARED

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "app.py", *sorted(ROOT.glob("pages/*.py"))]
OURS = [
    path
    for folder in ("ui", "mla_engine", "kvcount")
    for path in ROOT.glob(f"{folder}/**/*.py")
    if not {"tests", "build"} & {*path.relative_to(ROOT).parts}
]


def imported(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return modules


def test_figures_know_no_torch_and_the_core_no_plotly():
    for path in ROOT.glob("mla_engine/**/*.py"):
        other = "torch" if "figures" in path.parts else "plotly"
        assert not any(n.split(".")[0] == other for n in imported(path)), path


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_a_page_is_a_storyboard(path):
    text = path.read_text("utf-8")
    assert not {n.split(".")[0] for n in imported(path)} & {"torch", "plotly", "numpy"}
    sums = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.BinOp)]
    arithmetic = [one for one in sums if not isinstance(one.op, ast.BitOr)]  # "View | None"
    assert not arithmetic, f"line {arithmetic[0].lineno} calculates"
    values = [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Expr)]
    shown = [value for value in values if not isinstance(value, ast.Call | ast.Constant)]
    assert not shown, f"Streamlit would show the value in line {shown[0].lineno}"


def test_every_page_has_an_entry_in_the_navigation():
    from ui.frame.pages import PAGES as NAVIGATION

    assert {ROOT / page.file for page in NAVIGATION.values()} == set(PAGES)


INTERNALS = "ui/streamlit_internals.py"
PRIVATE = re.compile(r"\bst\.(runtime|config|proto|web|logger|delta_generator)\b")


def test_private_modules_of_streamlit_are_imported_in_one_file():
    for path in [*OURS, *PAGES]:
        file = path.relative_to(ROOT).as_posix()
        if file == INTERNALS:
            continue
        text = path.read_text("utf-8")
        behind = {name for name in names_imported(path) | imported(path) if "streamlit." in name}
        assert not behind, file
        assert not PRIVATE.search(text), file


ROOMS = sorted(path.parent for path in ROOT.glob("ui/pages/*/__init__.py"))
READS_SETTINGS = {"controls.py", "__init__.py"}
READ = re.compile(r'(?:settings\(\)|\bs)\["(\w+)"\]')
READING = re.compile(r"\b(settings|model\.present)\(\)|\bimport present\b")


def names_imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_settings_are_read_where_the_view_is_made(room):
    others = [path for path in room.rglob("*.py") if path.name not in READS_SETTINGS]
    reading = [path for path in others if READING.search(path.read_text("utf-8"))]
    assert len(reading) <= 1, "take the view instead"


def test_parts_read_only_settings_that_every_page_has():
    for path in ROOT.glob("ui/parts/**/*.py"):
        assert set(READ.findall(path.read_text("utf-8"))) <= set(SHARED), path


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_speaks_with_its_own_texts(room):
    rooms = {other.name for other in ROOMS} - {room.name}
    for path in (
        *room.rglob("*.py"),
        ROOT / ("app.py" if room.name == "overview" else f"pages/{room.name}.py"),
    ):
        said = re.findall(r'\bt\(\s*f?"(\w+)\.', path.read_text("utf-8"))
        assert not set(said) & rooms, path


def functions(path: Path) -> list[ast.FunctionDef]:
    return [
        n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.FunctionDef)
    ]


FORBIDDEN = re.compile(r"\bglobals\(\)\[|\bgetattr\(\w+, (?:view|s\[|settings)")


def test_nothing_is_called_by_its_name_and_no_import_hides_in_a_function():
    for path in [*OURS, *PAGES]:
        text = path.read_text("utf-8")
        assert not FORBIDDEN.search(text), path
        for function in functions(path):
            for node in ast.walk(function):
                assert not isinstance(node, ast.Import | ast.ImportFrom), f"{path}: {node.lineno}"


TESTS = sorted(ROOT.glob("tests/**/*.py"))
CLOCKS = {f"{name}{unit}" for name in ("perf_counter", "monotonic", "process_time", "time")
          for unit in ("", "_ns")}  # fmt: skip
POLLERS = {  # each asks again and again whether a state has come, or is slow as a server is
    "tests/attacks/false_worker.py:hang",
    "tests/attacks/server.py:wait_until",
    "tests/checkpoints/serving.py:part",
    "tests/classroom/browser.py:until",
}


def called_in(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield the calls of a file: the innermost function that makes one, and what is called."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            yield inside, ast.unparse(node.func)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from called_in(node, node.name if is_function else inside)


def test_tests_wait_for_a_state_and_measure_no_time():
    """Tests wait for a state and assert no seconds, so that they hold on a busy machine."""
    waiting, measuring = [], []
    for path in TESTS:
        file = str(path.relative_to(ROOT))
        for function, call in called_in(ast.parse(path.read_text("utf-8"))):
            module, _, name = call.rpartition(".")
            place = f"{file}:{function}"
            if name == "wait_for_timeout" or (name == "sleep" and place not in POLLERS):
                waiting.append(place)
            if function.startswith("test_") and name in CLOCKS and module in ("", "time"):
                measuring.append(place)
    assert not waiting
    assert not measuring


CACHES_OF_STREAMLIT = {  # what they keep does not grow with what visitors ask for
    "ui/engine/shared_cache.py:engine": "the one engine",
    "ui/engine/shared_cache.py:cache": "the one cache itself",
    "ui/engine/queue.py:_queue": "the one line",
    "ui/engine/queue.py:warm_up": "nothing, once a server",
    "ui/parts/measure.py:rate": "two numbers of this machine",
    "ui/parts/statements.py:checked": "a verdict for each of the statements",
}
CACHES_OF_PYTHON = {
    "ui/frame/story.py:telling": "the story, with the real model of two names and without",
    "ui/settings/values.py:usual_model": "without arguments",
    "ui/settings/values.py:_defaults": "512 tables of defaults, a preset's on a page",
    "ui/engine/workers/messages.py:_types": "without arguments",
    "ui/classroom/rooms.py:_of": "the one store of rooms",
    "ui/settings/server.py:_of": "the settings that the operator has now",
    "ui/__init__.py:asset": "a file of the project",
    "ui/sources/trained.py:score_texts": "of a kind of head",
    "ui/pages/sparse/view.py:_asked_before": "some numbers for each of 41 questions, of 8 models",
    "ui/settings/sizes.py:implied": "of 512 presets, those of readers as well",
    "ui/settings/sizes.py:variant_of": "of 512 presets, those of readers as well",
    "ui/server/scripts.py:scripts": "of two kinds of page",
    "ui/words/glossary.py:_pattern": "of a language",
    "ui/words/glossary.py:terms": "without arguments",
    "ui/words/sources.py:_phrases": "without arguments",
    "ui/words/text.py:catalogue": "without arguments",
    "mla_engine/costs/sizes.py:model": "256 caches, each of some kinds of layers",
    "mla_engine/estimate.py:_moments": "some pairs of numbers for each of 256 shapes of a step",
    "mla_engine/estimate.py:_peak": "a number for each of 1,024 shapes of a call",
    "mla_engine/estimate.py:_without_data": "32 layers without data",
    "mla_engine/claims/__init__.py:_checks": "without arguments",
    "mla_engine/given_preset.py:read_given": "256 configurations, each of a link",
    "mla_engine/mechanisms.py:all": "without arguments",
    "mla_engine/mechanisms.py:variants": "without arguments",
    "ui/sources/model.py:_built": "256 configurations of sizes that a link can name",
    "kvcount/explain_report.py:table": "without arguments",
    "kvcount/mistakes.py:mistakes": "without arguments",
    "kvcount/reading/model_types.py:_row": "the rows of its table, by name",
    "mla_engine/rope.py:_numbers": "half as many numbers as rotated dimensions, of 256 rotations",
    "kvcount/refusals.py:_tables": "without arguments",
    "mla_engine/studies/words.py:_vector": "256 vectors of at most 64 KiB",
    "mla_engine/worked_example/__init__.py:_data": "without arguments",
}


def caches(pattern: str) -> set[str]:
    """Return the functions of app, engine and counter with such a decorator."""
    return {
        f"{path.relative_to(ROOT)}:{f.name}"
        for path in OURS
        for f in functions(path)
        if any(re.match(pattern, ast.unparse(mark)) for mark in f.decorator_list)
    }


def test_what_visitors_ask_for_is_kept_in_the_one_cache_with_a_budget():
    assert caches(r"st\.cache_") == set(CACHES_OF_STREAMLIT)
    assert caches(r"(functools\.)?(lru_)?cache\b") == set(CACHES_OF_PYTHON)
