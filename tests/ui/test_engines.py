"""Both engines do the same: in this process, and on a real cluster of Ray on this machine."""

import ast
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
from ray.serve._private.router import SingletonThreadRouter
from streamlit.runtime.scriptrunner import StopException, add_script_run_ctx

from mla_engine import GroupedConfig, LatentConfig, RopeConfig
from mla_engine.refusals import Phrase, RefusedError, sentence
from tests import patience
from tests.ui import engine_works as works
from tests.ui.conftest import SHIPPED
from tests.ui.engine_works import noted
from tests.ui.test_queue import until
from ui.engine import kept, on_ray, queue
from ui.engine.digest import digest
from ui.engine.engine import InProcess
from ui.engine.queue import FullError, Queue
from ui.engine.real_layer import RealLayer
from ui.engine.trained_layer import TrainedLayer
from ui.pages.compression.answers import Cut
from ui.pages.compression.run import Source
from ui.pages.rope.run import Head
from ui.pages.trained_heads.run import Cut as HeadCut
from ui.pages.trained_heads.trained_models import Trained
from ui.parts.maps.run import Run
from ui.settings.server import server

ROOT = Path(__file__).parents[2]
PATIENCE = float(patience.SECONDS)
LINE = on_ray.Line(at_once=1, waiting=2)
BUDGET = 2**26


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
    """A cluster of this machine alone; no process of it is left behind."""
    before = descendants()
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # short: sockets lie in it
        on_ray.start(server(), num_cpus=3, num_gpus=1, _temp_dir=folder)
        yield
        started = descendants() - before
        on_ray.serve.shutdown()
        end_routing()
        on_ray.ray.shutdown()
        until(lambda: not started & descendants())
    assert not on_ray.ray.is_initialized()


def end_routing() -> None:
    """Serve's thread would outlive the cluster, start one anew, or tell again and again of it.

    A traceback parses Python, and two threads that do so at once are too much for Python 3.11.
    """
    loop, SingletonThreadRouter._asyncio_loop = SingletonThreadRouter._asyncio_loop, None
    loop.call_soon_threadsafe(loop.stop)
    until(lambda: not loop.is_running())


@pytest.fixture(scope="module")
def replicas(cluster: None) -> on_ray.DeploymentHandle:
    return on_ray.deploy(on_ray.NAME, server(), LINE)


@pytest.fixture(params=["process", "ray"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """One of them is in force: one at work, two may wait, 64 MiB are kept."""
    shelf, line = kept.Shelf(BUDGET, 600), Queue(LINE.waiting, PATIENCE)
    monkeypatch.setattr(kept, "shelf", lambda: shelf)
    monkeypatch.setattr(queue, "_queue", lambda: line)
    if request.param == "ray":
        made = on_ray.OnRay(shelf, request.getfixturevalue("replicas"), LINE)
        asked = made._asked
    else:
        made, asked = InProcess(shelf), line._line
    monkeypatch.setattr(kept, "engine", lambda: made)
    return SimpleNamespace(name=request.param, shelf=shelf, line=lambda: len(asked), made=made)


on_ray_alone = pytest.mark.parametrize("engine", ["ray"], indirect=True)


class Asker(threading.Thread):
    """A visitor who asks; one who is `asked` to stop has left."""

    def __init__(self, work: Callable, *given: object, visitor: str = "one") -> None:
        super().__init__(daemon=True)
        self.work, self.given, self.asked = work, given, threading.Event()
        self.found, self.refused = None, None
        context = SimpleNamespace(session_id=visitor, yield_check=self.stop_if_asked)
        add_script_run_ctx(self, context)
        self.start()

    def stop_if_asked(self) -> None:
        if self.asked.is_set():
            raise StopException

    def run(self) -> None:
        with suppress(StopException):
            try:
                self.found = self.work(*self.given)
            except Exception as error:
                self.refused = error

    def ended(self) -> "Asker":
        self.join(PATIENCE)
        assert not self.is_alive(), "it hangs"
        return self


def begun(folder: Path, name: str, visitor: str = "one") -> Asker:
    """One whose work has begun."""
    asker = Asker(works.held, str(folder), name, visitor=visitor)
    until(lambda: noted(folder, f"begun {name}"))
    return asker


# The numbers of every work that goes over the seam

ROPE = RopeConfig()
MLA = LatentConfig(
    d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_latent_q=48, d_rope=8, latent_norm=True
)
MHA = GroupedConfig(d_model=32, n_heads=4, n_kv_heads=4, d_head=8)
WORDS = ("the", "cat", "sat", "on", "the", "mat")
HEAD = Head(MLA, ROPE, 0, 1, WORDS, 3)
SOURCE = Source(MHA, 0, (0, 1, 2, 3), 0.5)
MODEL = Trained(str(SHIPPED / "mla.safetensors"), 0)
WORKS = {
    "ui.parts.maps.run:_ran": (Run(MLA, "absorbed", WORDS, 0, (1, 2)),),
    "ui.engine.trained:_run": (("mla", SHIPPED / "mla.safetensors", 0), (1, 2, 3, 4)),
    "ui.engine.head_scores:score": (TrainedLayer("mla", 0, 0), "induction"),
    "ui.pages.absorption.run:merged": (MLA, 0, 1),
    "ui.pages.absorption.run:rounding": (MLA, 0, (0, 1), WORDS),
    "ui.pages.absorption.run:too_much": (MLA, 0, (0, 1), WORDS, 2.0),
    "ui.pages.rope.run:turning": (HEAD, 1),
    "ui.pages.rope.run:merged": (HEAD, 2),
    "ui.pages.rope.run:reading": (HEAD, "keys", "own"),
    "ui.pages.compression.run:_lost": (SOURCE, WORDS, "joint", (4, 8)),
    "ui.pages.compression.run:spectra": (SOURCE,),
    "ui.pages.compression.run:split": (SOURCE, 9),
    "ui.pages.compression.answers:_right": (Cut("weights", 8, 0),),
    "ui.pages.compression.answers:_as_mla": (0,),
    "ui.pages.compression.as_mla:_lost": (SOURCE, WORDS, (12, 20)),
    "ui.pages.trained_heads.run:whole": (MODEL,),
    "ui.pages.trained_heads.run:induction": (MODEL,),
    "ui.pages.trained_heads.run:_after": (MODEL, HeadCut("rank", rank=2)),
    "ui.pages.trained_heads.run:_directions": (MODEL,),
    "ui.pages.trained_heads.run:example": (MODEL, "agreement"),
    "ui.pages.sparse.run:_reading": (0, (1, 2, 3, 4, 5), 2),
    "ui.pages.sparse.run:_asked": (0, 2, "chance"),
    "ui.pages.quiz.view:asked": (3, "statement"),
    "ui.pages.decode.run:written": ("mla", 0, ("anna", "lamp"), 3),
}


def test_all_that_goes_over_the_seam_is_compared() -> None:
    marked = {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}:{node.name}"
        for path in ROOT.glob("ui/**/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any("anywhere=True" in ast.unparse(mark) for mark in node.decorator_list)
    }
    assert marked == set(WORKS)


@pytest.mark.parametrize("name", WORKS)
def test_its_numbers_are_those_of_a_direct_call_bit_for_bit(engine, shipped_models, name) -> None:
    work = resolve_name(name)
    found = work(*WORKS[name])
    assert digest(found) == digest(work.__wrapped__(*WORKS[name]))
    assert work(*WORKS[name]) is found, "kept"


# Who asks, who waits, who leaves


def test_it_is_done_once_for_all_who_ask_at_once(engine, tmp_path) -> None:
    first = begun(tmp_path, "a")
    others = [Asker(works.held, str(tmp_path), "a", visitor=str(n)) for n in range(8)]
    works.note(tmp_path, "end")
    assert {asker.ended().found for asker in (first, *others)} == {"a"}
    assert noted(tmp_path, "begun a") == 1


def test_a_full_line_is_refused_in_its_words_and_takes_more_once_there_is_room(
    engine, tmp_path
) -> None:
    askers = [begun(tmp_path, "0", visitor="0")]
    for n in (1, 2):
        askers.append(Asker(works.held, str(tmp_path), str(n), visitor=str(n)))
        until(lambda n=n: engine.line() == n + 1)
    beyond = Asker(works.held, str(tmp_path), "3", visitor="3").ended()
    assert isinstance(beyond.refused, FullError)
    assert str(beyond.refused) == "2 pieces of work are waiting: try again soon"
    assert not noted(tmp_path, "begun 3")
    works.note(tmp_path, "end")
    assert [asker.ended().found for asker in askers] == ["0", "1", "2"]
    assert Asker(works.held, str(tmp_path), "3").ended().found == "3"


def test_the_work_of_who_leaves_ends_and_his_place_is_free(engine, tmp_path) -> None:
    leaves = begun(tmp_path, "a", visitor="a")
    waits = Asker(works.held, str(tmp_path), "b", visitor="b")
    until(lambda: engine.line() == 2)
    leaves.asked.set()
    until(lambda: noted(tmp_path, "ended a"))
    assert leaves.ended().found is None
    until(lambda: noted(tmp_path, "begun b"))
    works.note(tmp_path, "end")
    assert waits.ended().found == "b"


def test_who_leaves_while_he_waits_never_begins(engine, tmp_path) -> None:
    works_on = begun(tmp_path, "a", visitor="a")
    leaves = Asker(works.held, str(tmp_path), "b", visitor="b")
    until(lambda: engine.line() == 2)
    leaves.asked.set()
    leaves.ended()
    works.note(tmp_path, "end")
    assert works_on.ended().found == "a"
    assert Asker(works.held, str(tmp_path), "c", visitor="c").ended().found == "c"
    assert not noted(tmp_path, "begun b")


def test_another_who_asked_for_the_same_gets_it_although_the_first_left(engine, tmp_path) -> None:
    leaves = begun(tmp_path, "a", visitor="a")
    stays = Asker(works.held, str(tmp_path), "a", visitor="b")
    leaves.asked.set()
    leaves.ended()
    works.note(tmp_path, "end")
    assert stays.ended().found == "a"


# What goes wrong


def test_a_refusal_arrives_as_it_was_raised(engine) -> None:
    told = Asker(works.refused, 3).ended().refused
    assert (type(told), told.code) == (RefusedError, "memory")
    assert told.values["needed"] == 3.0
    assert isinstance(told.values["what"], Phrase)
    with pytest.raises(RefusedError) as direct:
        works.refused.__wrapped__(3)
    for language in ("en", "zh"):
        assert sentence(told, language) == sentence(direct.value, language)


@pytest.mark.parametrize(("work", "kind"), [(works.mistaken, KeyError), (works.late, TimeoutError)])
def test_a_mistake_in_the_code_is_none_of_the_visitors(engine, work, kind) -> None:
    told = Asker(work).ended().refused
    assert isinstance(told, kind)
    assert not isinstance(told, RefusedError)


def test_what_is_kept_has_a_budget_in_bytes(engine, tmp_path) -> None:
    given = [(str(tmp_path), str(n), BUDGET // 3) for n in range(5)]
    for one in given:
        assert works.block(*one).sum() == BUDGET // 3
    assert BUDGET // 2 < engine.shelf.held_bytes <= BUDGET
    assert [works.block.at_hand(*one) is not None for one in given] == [False] * 3 + [True] * 2


# Ray alone


@on_ray_alone
def test_two_processes_of_the_app_have_it_done_once(engine, tmp_path, monkeypatch) -> None:
    """The second finds the replicas that the first has started."""
    works.note(tmp_path, "end")
    assert works.held(str(tmp_path), "a") == "a"
    other = on_ray.engine(kept.Shelf(BUDGET, 600))
    monkeypatch.setattr(kept, "engine", lambda: other)
    assert works.held(str(tmp_path), "a") == "a"
    assert noted(tmp_path, "begun a") == 1


@on_ray_alone
def test_what_names_a_checkpoint_is_done_here(engine) -> None:
    source = replace(SOURCE, inputs=RealLayer("a/b", "", 0))
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


@on_ray_alone
def test_many_are_done_together_by_more_replicas_that_share_a_gpu(engine, wide, tmp_path) -> None:
    """One deployment for all three: it takes seconds to start."""
    numbers = count()

    def together() -> bool:
        asked = [next(numbers) for _ in range(8)]
        askers = [Asker(works.doubled, str(tmp_path), n, visitor=str(n)) for n in asked]
        assert [asker.ended().found for asker in askers] == [2 * n for n in asked]
        return noted(tmp_path, "several") and noted(tmp_path, "refused")

    until(together)
    first, share = works.share_of_gpu(0)
    askers = [begun(tmp_path, name, visitor=name) for name in "ab"]
    until(lambda: works.share_of_gpu(next(numbers)) not in ((first, share),))
    works.note(tmp_path, "end")
    assert [asker.ended().found for asker in askers] == ["a", "b"]
    assert share == 0.5


@on_ray_alone
def test_a_page_shows_what_it_shows_without_ray(engine, opened, monkeypatch) -> None:
    def nowhere(*_: object) -> None:
        pytest.fail("it is run in this process")

    with monkeypatch.context() as patch:
        patch.setattr("ui.engine.layers.run", nowhere)
        there = pictures(opened("pages/attention_maps.py", preset="small"))
    engine.shelf.clear()
    monkeypatch.setattr(kept, "engine", lambda: InProcess(engine.shelf))
    assert there == pictures(opened("pages/attention_maps.py", preset="small"))
    assert len(there) > 1


def pictures(at: object) -> list[str]:
    """What the browser is sent of every chart."""
    return [chart.proto.spec for chart in at.get("plotly_chart")]


@on_ray_alone
def test_a_killed_replica_is_told_and_the_next_question_is_answered(engine, tmp_path) -> None:
    replica = works.process(1)
    asker = begun(tmp_path, "a")
    os.kill(replica, signal.SIGKILL)
    told = asker.ended().refused
    assert isinstance(told, FullError)
    assert str(told) == "the process that computed this has ended: try again"
    assert works.process(2) not in (replica, os.getpid())
