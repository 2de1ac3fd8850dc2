"""The engine on a real cluster of Ray: run by tests/ui/test_ray.py, in a process of its own."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest

from tests import patience
from tests.attacks.server import wait_until
from tests.ui import engine_works as works
from tests.ui.engine_contract import *  # noqa: F403
from tests.ui.engine_contract import BUDGET, SOURCE, WAITING, WORKS, Caller, begun, placed
from tests.ui.engine_works import noted
from tests.ui.screen import charts, says
from ui.engine import on_ray, shared_cache
from ui.engine.digest import digest
from ui.engine.queue import FullError
from ui.settings.server import server
from ui.sources import Checkpoint

LINE = on_ray.Line(at_once=1, waiting=WAITING)


def descendants() -> set[int]:
    """The processes that this one has started, and those that they have."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster of only this machine; no process of it is left behind."""
    before = descendants()
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # short: sockets lie in it
        on_ray.start(server(), num_cpus=3, num_gpus=1, _temp_dir=folder)
        yield
        started = descendants() - before
        on_ray.serve.shutdown()
        on_ray.ray.shutdown()
        wait_until(lambda: not started & descendants())


@pytest.fixture(scope="module")
def replicas(cluster: None) -> on_ray.DeploymentHandle:
    return on_ray.deploy(on_ray.NAME, server(), LINE)


@pytest.fixture
def engine(replicas: on_ray.DeploymentHandle, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    return placed(monkeypatch, lambda cache: on_ray.OnRay(cache, replicas, LINE))


@pytest.mark.parametrize("name", WORKS)
def test_its_numbers_are_those_of_a_direct_call_bit_for_bit(engine, shipped_models, name):
    work = resolve_name(name)
    found = work(*WORKS[name])
    assert digest(found) == digest(work.__wrapped__(*WORKS[name]))
    assert work(*WORKS[name]) is found, "kept"


def test_two_processes_of_the_app_have_it_done_once(engine, tmp_path, monkeypatch):
    """The second finds the replicas that the first has started."""
    works.note(tmp_path, "end")
    assert works.held(str(tmp_path), "a") == "a"
    other = on_ray.engine(shared_cache.SharedCache(BUDGET, 600))
    monkeypatch.setattr(shared_cache, "engine", lambda: other)
    assert works.held(str(tmp_path), "a") == "a"
    assert noted(tmp_path, "begun a") == 1


def test_what_names_a_checkpoint_is_done_here(engine):
    source = replace(SOURCE, inputs=Checkpoint("a/b", "", 0))
    assert works.process(SOURCE) != os.getpid()
    assert works.process(source) == works.process((1, (source,))) == os.getpid()


@pytest.fixture
def wide(engine, monkeypatch) -> None:
    """Replicas that have several pieces of work in hand, and become two where more is asked."""
    ours = server().model_copy(update={"replicas": 2, "replica_gpus": 0.5})
    soon = {"min_replicas": 1, "max_replicas": 2, "target_ongoing_requests": 1}
    soon |= {"upscale_delay_s": 0, "metrics_interval_s": 0.5, "look_back_period_s": 1.0}
    handle = on_ray.deploy("wide", ours, on_ray.Line(), autoscaling_config=soon)
    monkeypatch.setattr(engine.made, "_handle", handle)
    yield
    on_ray.serve.delete("wide")


def states() -> dict[str, int]:
    """Count the replicas by state."""
    return on_ray.serve.status().applications["wide"].deployments["Replica"].replica_states


def test_many_are_done_together_by_more_replicas_that_share_a_gpu(engine, wide, tmp_path):
    """One deployment for all three: it takes seconds to start."""
    numbers = count()

    def together() -> bool:
        asked = [next(numbers) for _ in range(8)]
        callers = [Caller(works.doubled, str(tmp_path), n, visitor=str(n)) for n in asked]
        assert [caller.ended().found for caller in callers] == [2 * n for n in asked]
        return noted(tmp_path, "several") and noted(tmp_path, "refused")

    wait_until(together)
    first, share = works.share_of_gpu(0)
    callers = [begun(tmp_path, name, visitor=name) for name in "ab"]
    wait_until(lambda: sum(states().values()) == 2)
    works.note(tmp_path, "end")  # what is held would slow the second one's start
    assert [caller.ended().found for caller in callers] == ["a", "b"]
    wait_until(lambda: states() == {"RUNNING": 2}, seconds=3 * patience.SECONDS)
    wait_until(lambda: works.share_of_gpu(next(numbers)) not in ((first, share),))
    assert share == 0.5


def test_a_page_shows_what_it_shows_without_ray(engine, opened, monkeypatch):
    def nowhere(*_: object) -> None:
        pytest.fail("it is run in this process")

    with monkeypatch.context() as patch:
        patch.setattr("ui.sources.layers.run", nowhere)
        there = pictures(opened("pages/attention_maps.py", preset="small"))
    engine.cache.clear()
    monkeypatch.setattr(shared_cache, "engine", lambda: engine.cache)
    assert there == pictures(opened("pages/attention_maps.py", preset="small"))
    assert len(there) > 1


def pictures(at: object) -> list[dict]:
    """Return what the browser is sent of every chart."""
    return [chart.spec for chart in charts(at)]


def test_a_killed_replica_is_told_and_the_next_question_is_answered(engine, tmp_path):
    replica = works.process(1)
    caller = begun(tmp_path, "a")
    os.kill(replica, signal.SIGKILL)
    told = caller.ended().refused
    assert isinstance(told, FullError)
    assert says(str(told), "refused.engine_lost")
    assert works.process(2) not in (replica, os.getpid())
