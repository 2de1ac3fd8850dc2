"""The small real model that a server fetches: once it is up, and only where that is set."""

import asyncio
import logging
import shutil
import sys

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine.language_model.real import load_real
from mla_engine.language_model.text_heads import repeat_scores
from tests.attacks.server import wait_until
from tests.ui.conftest import OWN
from tests.ui.screen import says
from ui.server import real_model as server_side
from ui.server.real_model import fetch
from ui.sources import whole
from ui.sources.small_model import AS_TRAINED

PAGE = "pages/real_models.py"


@pytest.fixture(autouse=True)
def nothing_pending():
    yield
    AS_TRAINED.end(failed=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where it is to lie, of a server that is to fetch it."""
    monkeypatch.setenv("MLA_MODEL_FOLDERS", str(tmp_path))
    monkeypatch.setenv("MLA_REAL_MODEL", "1")
    monkeypatch.setattr(server_side, "OF_MLA", (sys.executable, "-c", "pass"))
    return tmp_path / "smollm2-135m-instruct"


def command(monkeypatch, code):
    """Let this code stand in the place of what makes the model; the folder is its argument."""
    head = "import sys, pathlib, time; folder = pathlib.Path(sys.argv[1]); "
    monkeypatch.setattr(server_side, "COMMAND", (sys.executable, "-c", head + code))


def fetched(*, proved=True):
    """Run what the server runs, to its end."""

    async def run():
        event = asyncio.Event()
        if proved:
            event.set()
        await fetch(event)

    asyncio.run(run())


def said(at: AppTest) -> list[str]:
    return [
        one.value
        for one in at.caption
        if "small real model" in one.value or "小型真实模型" in one.value
    ]


def test_a_server_fetches_nothing_unless_it_is_set(folder, monkeypatch):
    command(monkeypatch, "folder.mkdir()")
    monkeypatch.delenv("MLA_REAL_MODEL")
    fetched()
    assert not folder.exists()


def test_it_is_made_in_the_servers_folder_and_not_made_again(folder, monkeypatch):
    command(monkeypatch, "folder.mkdir()")
    fetched()
    assert folder.is_dir()
    assert not AS_TRAINED.pending
    command(monkeypatch, "sys.exit('made again')")
    fetched()
    assert not AS_TRAINED.failed


def test_its_heads_are_named_before_anybody_asks(folder, own_saved, monkeypatch):
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", OWN)
    shutil.copytree(own_saved, folder)
    fetched()
    found = whole._fresh_scores.peek(whole.key())
    theirs = repeat_scores(load_real(own_saved))
    assert torch.equal(found.table, theirs.table)
    (folder / "config.json").write_text("{")
    fetched()  # of which the page tells
    assert whole.key() is None


def test_the_one_with_mla_is_made_of_it_and_not_made_again(folder, monkeypatch):
    code = "import sys, pathlib; made, of = map(pathlib.Path, sys.argv[1:]); "
    code += "made.mkdir(); (made / of.name).touch()"
    monkeypatch.setattr(server_side, "OF_MLA", (sys.executable, "-c", code))
    command(monkeypatch, "sys.exit('no network')")
    fetched()
    made = folder.with_name("smollm2-135m-mla")
    assert not made.exists()
    folder.mkdir()
    for _ in range(2):
        fetched()
        assert [path.name for path in made.iterdir()] == [folder.name]


def test_nothing_is_begun_before_the_first_page_has_been_run(folder, monkeypatch):
    command(monkeypatch, "folder.mkdir()")

    async def stopped():
        task = asyncio.create_task(fetch(asyncio.Event()))
        await asyncio.wait([task], timeout=0)
        assert AS_TRAINED.pending
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(stopped())
    assert not folder.exists()
    assert not AS_TRAINED.pending


def test_a_failure_is_said_once_in_the_log_and_where_a_model_is_missed(
    folder, monkeypatch, caplog, opened
):
    command(monkeypatch, "sys.exit('it is not made: no network')")
    with caplog.at_level(logging.WARNING):
        fetched()
    assert [one.getMessage() for one in caplog.records] == [
        "the small real model: it is not made: no network"
    ]
    at = opened(PAGE)
    assert not at.exception
    assert [one for one in said(at) if says(one, "real_models.not_fetched")]


def test_one_that_another_process_makes_is_no_failure(folder, monkeypatch):
    command(monkeypatch, "sys.exit(75)")
    fetched()
    assert not AS_TRAINED.failed


def test_the_command_ends_with_the_server(folder, monkeypatch, tmp_path):
    command(monkeypatch, "(folder.parent / 'begun').touch(); time.sleep(600)")

    async def ended():
        event = asyncio.Event()
        event.set()
        task = asyncio.create_task(fetch(event))
        await asyncio.to_thread(wait_until, (tmp_path / "begun").exists, "it has begun")
        task.cancel()
        await asyncio.wait([task])  # it waits for the command

    asyncio.run(ended())
    assert not AS_TRAINED.pending


@pytest.mark.parametrize(
    ("lang", "line"), [("en", "Fetching a small real model"), ("zh", "正在下载")]
)
def test_the_page_says_how_far_it_is_and_then_no_more(folder, opened, lang, line):
    AS_TRAINED.begin()
    at = opened(PAGE, lang=lang)
    assert not at.exception
    [told] = said(at)
    assert told.startswith(line)
    assert "0" in told
    AS_TRAINED.end(failed=False)
    assert not said(at.run())
