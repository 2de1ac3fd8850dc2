"""A page is a folder and a storyboard: put into a copy of the project, the whole app knows it.

A page that cannot be opened is refused when the app starts, with its file and the name.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mla_engine import PRESETS, costs
from tests import patience
from tests.ui.screen import says
from ui.frame.pages import PAGES
from ui.settings.page import joined
from ui.settings.parsers import Setting, whole

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
COPIED, LINKED = ("ui", "pages", "benchmarks", ".streamlit"), ("kvcount", "mla_engine", "assets")
LITE = PRESETS["deepseek-v2-lite"].config


def copy_with_toy(tree: Path) -> Path:
    """Copy the project and add one page."""
    tree.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in LINKED:
        (tree / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "app.py", tree)
    return shutil.copytree(HERE / "toy_page", tree, dirs_exist_ok=True)


def told(script: str, folder: Path, *arguments: str) -> object:
    """Run a script in a process of its own, and return the JSON that it prints."""
    quiet = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    command = [sys.executable, str(HERE / script), *arguments]
    run = subprocess.run(
        command, cwd=folder, env=quiet, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Return what the app knows of the toy page."""
    tree = copy_with_toy(tmp_path_factory.mktemp("pages") / "project")
    return told("toy_visit.py", tree, str(patience.SECONDS))


def statement(tokens: int, config: object = LITE) -> str:
    numbers = tokens * costs.cache_elements(config)
    return f"{tokens} tokens leave {numbers:,} numbers in the cache"


def test_the_navigation_has_it_last_in_the_readers_language(seen):
    links = seen["navigation"]["links"]
    assert len(links) == len(PAGES) + 1
    assert links[-1] == ["toy", "玩具页"]
    numbers = 7 * costs.cache_elements(LITE)
    assert seen["navigation"]["statement"] == f"7 个词元在缓存中留下 {numbers:,} 个数"


def test_a_link_restores_it_and_a_button_resets_it(seen):
    found = seen["settings"]
    assert found["statement"] == statement(7)
    assert found["url"] == {"toy_tokens": "7", "n_heads": "8"}
    assert {"toy_tokens", "n_heads"} <= set(found["sliders"])
    assert found["moved"] == {"toy_tokens": "5", "n_heads": "8"}
    assert found["reset"] == [{}, statement(3)]
    assert says(found["mended"], "common.changed_setting", given="70", used="9")
    assert found["elsewhere"] == 0, "other pages carry its setting along"


def test_lecture_mode_has_its_controls_and_its_place(seen):
    found, count = seen["lecture"], len(PAGES) + 1
    assert found["next"] == "toy"
    assert found["first"] == ["toy_tokens", "preset"]
    assert found["place"] == [f"{count} / {count}"]
    assert found["is_last"]
    assert found["previous"] == "notation"


def test_the_code_panel_shows_what_ran_and_a_snippet_that_runs(seen, capsys):
    found = seen["code"]
    assert found["statement"] == statement(4)
    assert found["source"].startswith("def cache_elements(")
    assert "mla_engine/costs/" in found["place"][0]
    exec(found["snippet"], {})
    assert int(capsys.readouterr().out) == 4 * costs.cache_elements(LITE)


def test_its_texts_and_its_picture_are_found(seen):
    assert seen["texts"] == ["toy.line", "toy.link", "toy.look", "toy.title", "toy.tokens"]
    assert list(seen["pictures"]) == [*PAGES, "toy"]
    assert seen["pictures"]["toy"] == "/toy?lang=en"
    assert seen["pictures"]["overview"] == "/?lang=en"


ROOM, STORYBOARD = "ui/pages/toy/__init__.py", "pages/toy.py"
TEXTS, STORY = "ui/pages/toy/texts.toml", "ui/frame/story.toml"
BAD = {  # what is wrong -> file, what becomes what there (nothing: the file goes), what is said
    "no texts": (TEXTS, None, f"{TEXTS}: the text 'link' is missing"),
    "no PAGE": (ROOM, ("PAGE =", "ROOM ="), f"{ROOM}: declare the page as PAGE = Page(...)"),
    "another name": (
        ROOM, ('name="toy"', 'name="toys"'),
        f"{ROOM}: the page is called 'toys', not as its folder",
    ),
    "no storyboard": (STORYBOARD, None, f"{STORYBOARD}: the storyboard of 'toy' is missing"),
    "another page's setting": (
        ROOM, ('"toy_tokens": S', '"kv_left": S'),
        f"{ROOM}: setting 'kv_left' belongs to ui/pages/kv_cache/__init__.py",
    ),
    "a shared setting": (
        ROOM, ('"toy_tokens": S', '"seed": S'),
        f"{ROOM}: setting 'seed' belongs to the shared settings",
    ),
    "another page's order": (
        ROOM, ("order=4", "order=3"), f"{ROOM}: order 3 of 'check' is that of notation",
    ),
    "an unknown group": (
        ROOM, ('"check"', '"checks"'),
        f"{ROOM}: group 'checks' is none of understand, explore, size, check",
    ),
    "a link to an unknown page": (
        ROOM, ('"kv_cache"', '"kv_cash"'), f"{ROOM}: there is no page 'kv_cash'",
    ),
    "a link with an unknown setting": (
        ROOM, ('"kv_left"', '"kv_links"'),
        f"{ROOM}: the page 'kv_cache' has no setting 'kv_links'",
    ),
    "a link with an impossible value": (
        ROOM, ('"deepseek-v3"', '"deepseek-v33"'),
        f"{ROOM}: kv_left of the page 'kv_cache' cannot be 'deepseek-v33'",
    ),
    "an unknown lecture control": (
        ROOM, ('lecture=("toy_tokens"', 'lecture=("toy_token"'),
        f"{ROOM}: lecture mode shows the unknown 'toy_token'",
    ),
    "a former name that another page has": (
        ROOM, ("order=4", 'order=4, former=("decode",)'),
        "page 'toy': its former name 'decode' is that of 'decode'",
    ),
    "a former name that another page had": (
        ROOM, ("order=4", 'order=4, former=("quality",)'),
        "page 'toy': its former name 'quality' is that of 'compression'",
    ),
    "a step of the story at an unknown page": (
        STORY, ('page = "quiz"', 'page = "quizz"'), f"{STORY}: there is no page 'quizz'",
    ),
    "a step of the story with an unknown setting": (
        STORY, ("quiz_seed", "quiz_sed"), f"{STORY}: the page 'quiz' has no setting 'quiz_sed'",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what the app says when it starts with each of these pages, and with the good one."""
    folder = tmp_path_factory.mktemp("bad")
    trees = [str(copy_with_toy(folder / "good"))]
    for number, (name, change, _) in enumerate(BAD.values()):
        tree = copy_with_toy(folder / f"project{number}")
        trees.append(str(tree))
        file = tree / name
        if change is None:
            file.unlink()
            continue
        text = file.read_text("utf-8")
        assert text.count(change[0]) == 1, name
        file.write_text(text.replace(*change), "utf-8")
    return dict(zip(["nothing", *BAD], told("toy_refusals.py", ROOT, *trees), strict=True))


@pytest.mark.parametrize("wrong", BAD)
def test_a_bad_page_is_refused_at_start(refusals, wrong):
    assert refusals[wrong] == BAD[wrong][2]


def test_the_good_page_is_not_refused(refusals):
    assert refusals["nothing"] == ""


def test_a_setting_that_two_topics_declare_is_refused():
    one = Setting(1, whole(0, 9))
    assert list(joined({"toy_a": one}, {"toy_b": one})) == ["toy_a", "toy_b"]
    with pytest.raises(ValueError, match="'toy_a'"):
        joined({"toy_a": one}, {"toy_a": one})
