"""The app runs on the device that is set, waits for it, and survives when its memory is full."""

from pathlib import Path
from weakref import ref

import pytest
import torch
from streamlit.testing.v1 import AppTest

from kvcount.refusals import RefusedError, sentence
from tests import patience
from tests.ui.screen import says
from ui.engine import device, queue, shared_cache
from ui.parts import measure
from ui.settings import server as settings
from ui.settings.server import server

ROOT = Path(__file__).parents[2]


def there_is(monkeypatch, gpu):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    settings._of.cache_clear()


@pytest.mark.parametrize(
    ("asked", "gpu", "processes", "wanted"),
    [
        ("auto", True, "1", "cuda"),
        ("auto", False, "1", "cpu"),
        ("auto", True, "3", "cpu"),  # each would have a line of its own
        ("cpu", True, "1", "cpu"),
        ("cuda", True, "1", "cuda"),
    ],
)
def test_the_device_is_what_the_server_is_set_to(monkeypatch, asked, gpu, processes, wanted):
    there_is(monkeypatch, gpu)
    monkeypatch.setenv("MLA_DEVICE", asked)
    monkeypatch.setenv("MLA_PROCESSES", processes)
    assert device.chosen(server()) == wanted


@pytest.mark.parametrize(("gpu", "processes"), [(False, "1"), (True, "2")])
def test_a_gpu_that_is_not_there_or_shared_is_a_wrong_variable(monkeypatch, gpu, processes):
    there_is(monkeypatch, gpu)
    monkeypatch.setenv("MLA_DEVICE", "cuda")
    monkeypatch.setenv("MLA_PROCESSES", processes)
    with pytest.raises(ValueError, match="device"):
        server()


def test_a_turn_ends_when_the_gpu_has_done_its_work(monkeypatch):
    waited = []
    monkeypatch.setattr(device, "DEVICE", "cuda")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(queue.length()))
    with queue.turn(whole=True):
        assert not waited
    assert waited == [1]  # while the turn was still held


def run_out(made):
    """Make a tensor, and then find no memory for the next."""
    scores = torch.zeros(1000)
    made.append(ref(scores))
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_memory_that_is_full_is_freed_and_what_to_lower_is_said():
    made = []
    shared_cache.cache().get(("kept", 1), lambda: torch.zeros(1000))
    assert shared_cache.cache().held_bytes >= 4000
    with pytest.raises(RefusedError) as refused, queue.turn():
        run_out(made)
    assert made[0]() is None  # the error does not hold what its run had made
    assert shared_cache.cache().held_bytes == 0
    assert queue.length() == 0
    assert says(sentence(refused.value, "en"), "refused.device_full")
    assert "请减少" in sentence(refused.value, "zh")
    with queue.turn():
        assert torch.ones(2).sum() == 2


def test_the_app_lives_on(monkeypatch):
    """A page whose run finds no memory says so, and shows its picture the next time."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=patience.SECONDS)
    at.switch_page("pages/attention_maps.py").run()
    assert not at.exception
    shared_cache.clear()
    with monkeypatch.context() as patch:
        patch.setattr(torch, "softmax", lambda *_, **__: run_out([]))
        at.run()
        assert not at.exception
        assert any(says(error.value, "refused.device_full") for error in at.error)
    at.run()
    assert not at.exception
    assert not at.error


@pytest.mark.parametrize(("lang", "said"), [("en", "Computed on {}"), ("zh", "计算设备：{}")])
def test_every_page_says_where_it_runs(lang, said, monkeypatch):
    monkeypatch.setattr(measure, "here", lambda: "an H200")
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=patience.SECONDS)
    at.query_params["lang"] = lang
    assert said.format("an H200") in [text.value for text in at.run().text]
