"""No stranger's link brings a place of the server's disk to the screen."""

import html
import os
import site
import sys
import tempfile
from pathlib import Path

import pytest

from mla_engine.checkpoints import build_demo
from tests.ui.conftest import open_page
from tests.ui.screen import everything
from ui.frame.pages import PAGES

ROOT = Path(__file__).parents[2]
SECRET = {ROOT, Path.home(), Path.cwd(), Path(sys.prefix), Path(tempfile.gettempdir())}
SECRET |= {Path(folder) for folder in site.getsitepackages()}
NAMES = sorted({str(place) for path in SECRET for place in (path, path.resolve())} - {"/"})

HOSTILE = {
    "above": {"source": "../../etc"},
    "below": {"source": "models/no such model"},
    "home": {"source": "~/.cache"},
    "nobody's home": {"source": "~nosuchuser/x"},
    "too long": {"source": "a/" * 90 + "b" * 20},
    "a long name": {"source": "models/" + "n" * 190},
    "a zero": {"source": "models/\0"},
    "the app": {"source": "ui/engine"},
    "the app itself": {"source": "."},
    "another file": {"source": "models", "activations": "../requirements.txt"},
}


def leaks(at, typed=()):
    """Texts that name a place of this machine, beside what the visitor wrote."""
    found = []
    for text in map(html.unescape, everything(at)):
        for own in typed:
            text = text.replace(own, "")
        found += [text for name in NAMES if name in text]
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of models that are wrong in several ways, and the only one that is read."""
    folder = tmp_path_factory.mktemp("models")
    demo = build_demo(folder / "demo")
    for name, file in [("empty", "note.txt"), ("json", "config.json")]:
        (folder / name).mkdir()
        (folder / name / file).write_text("{")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "out").symlink_to(Path(tempfile.gettempdir()))
    (folder / "cut").mkdir()
    for file in demo.iterdir():
        data = file.read_bytes()
        (folder / "cut" / file.name).write_bytes(
            data[: len(data) // 2 * (file.stem == "model")] or data
        )
    (folder / "bad.safetensors").write_bytes(b"\xff" * 64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLA_MODEL_FOLDERS", str(folder))
        yield folder


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_brings_no_path_of_the_server(models, name):
    at = open_page("pages/real_models.py", **HOSTILE[name])
    assert not leaks(at)


@pytest.mark.parametrize("name", ["empty", "json", "loop", "out", "cut", "missing"])
def test_a_broken_model_brings_no_path_but_the_one_that_was_typed(models, name):
    typed = str(models / name)
    at = open_page("pages/real_models.py", source=typed, code="snippet")
    assert any(typed in html.unescape(text) for text in everything(at))
    assert not leaks(at, [typed])


@pytest.mark.parametrize("file", ["bad.safetensors", "none.safetensors", "demo", "loop"])
def test_a_broken_file_of_activations_brings_none_either(models, file):
    demo, typed = str(models / "demo"), str(models / file)
    at = open_page("pages/real_models.py", source=demo, activations=typed)
    assert not leaks(at, [typed, demo])


@pytest.mark.parametrize("page", PAGES)
def test_no_page_names_a_place_of_the_server(models, page):
    at = open_page(PAGES[page].file, source="../../etc", activations="/x", code="snippet")
    assert not leaks(at)


def test_a_folder_that_cannot_be_kept_names_none(models, monkeypatch):
    monkeypatch.setenv("MLA_MODEL_FOLDERS", os.pathsep.join(["/proc/none", str(models)]))
    assert not leaks(open_page("pages/real_models.py", source="models/x"))
