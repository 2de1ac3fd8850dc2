"""The contract of every engine: the tests of a file that has a fixture `engine`."""

import ast
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner import StopException, add_script_run_ctx

from kvcount.refusals import Phrase, RefusedError, sentence
from mla_engine import GroupedConfig, LatentConfig, RopeConfig
from tests import patience
from tests.attacks.server import wait_until
from tests.ui import engine_works as works
from tests.ui.conftest import SHIPPED
from tests.ui.engine_works import noted
from tests.ui.screen import says
from ui import ROOT
from ui.engine import queue, shared_cache
from ui.engine.queue import FullError, Queue
from ui.pages.compression.answers import Cut
from ui.pages.compression.source import Source
from ui.pages.rope.head import Head
from ui.pages.trained_heads.run import Cut as HeadCut
from ui.pages.trained_heads.run import ModelFile
from ui.parts.maps.run import Run
from ui.sources import Drawn, Trained

PATIENCE = float(patience.SECONDS)
WAITING = 2
BUDGET = 2**26


def placed(patch: pytest.MonkeyPatch, make: Callable) -> SimpleNamespace:
    """The engine that `make` has of a cache is in force: one at work, two may wait, 64 MiB kept."""
    cache, line = shared_cache.SharedCache(BUDGET, 600), Queue(WAITING, PATIENCE)
    patch.setattr(shared_cache, "cache", lambda: cache)
    patch.setattr(queue, "_queue", lambda: line)
    made = make(cache)
    patch.setattr(shared_cache, "engine", lambda: made)
    asked = getattr(made, "_asked", line._line)  # of an engine elsewhere, what it was asked for
    return SimpleNamespace(cache=cache, line=lambda: len(asked), made=made)


class Caller(threading.Thread):
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

    def ended(self) -> "Caller":
        self.join(PATIENCE)
        assert not self.is_alive(), "it hangs"
        return self


def begun(folder: Path, name: str, visitor: str = "one") -> Caller:
    """One whose work has begun."""
    caller = Caller(works.held, str(folder), name, visitor=visitor)
    wait_until(lambda: noted(folder, f"begun {name}"))
    return caller


# What goes over the seam

ROPE = RopeConfig()
MLA = LatentConfig(
    d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_latent_q=48, d_rope=8, latent_norm=True
)
MHA = GroupedConfig(d_model=32, n_heads=4, n_kv_heads=4, d_head=8)
WORDS = ("the", "cat", "sat", "on", "the", "mat")
HEAD = Head(MLA, ROPE, Drawn(0), 1, WORDS, 3)
SOURCE = Source(MHA, Drawn(0), (0, 1, 2, 3), 0.5)
MODEL = ModelFile(str(SHIPPED / "mla.safetensors"), 0)
WORKS = {
    "ui.parts.maps.run:_ran": (Run(MLA, "absorbed", WORDS, Drawn(0), (1, 2)),),
    "ui.sources.trained:_run": (("mla", SHIPPED / "mla.safetensors", 0), (1, 2, 3, 4)),
    "ui.sources.trained:written": (("mla", SHIPPED / "mla.safetensors", 0), (1, 2, 3, 4), 3),
    "ui.sources.trained:head_scores": (Trained("mla", 0, 0), "induction"),
    "ui.pages.absorption.merged:merge": (MLA, Drawn(0), 1),
    "ui.pages.absorption.rounding:rounding": (MLA, Drawn(0), (0, 1), WORDS),
    "ui.pages.absorption.merges:too_much": (MLA, Drawn(0), (0, 1), WORDS, 2.0),
    "ui.pages.rope.turning:turn": (HEAD, 1),
    "ui.pages.rope.merged:merge": (HEAD, 2),
    "ui.pages.rope.reading:read": (HEAD, "keys", "own"),
    "ui.pages.compression.source:_lost": (SOURCE, WORDS, "joint", (4, 8)),
    "ui.pages.compression.spectrum:spectra": (SOURCE,),
    "ui.pages.compression.separate:split": (SOURCE, 9),
    "ui.pages.compression.answers:right": (Cut("weights", 8, 0),),
    "ui.pages.compression.answers:_as_mla": (0,),
    "ui.pages.compression.as_mla:_lost": (SOURCE, WORDS, (12, 20), False),
    "ui.pages.compression.as_mla:_lost_rotated": (SOURCE, WORDS, (4, 8)),
    "ui.pages.trained_heads.run:whole": (MODEL,),
    "ui.pages.trained_heads.run:induction": (MODEL,),
    "ui.pages.trained_heads.run:_after": (MODEL, HeadCut("rank", rank=2)),
    "ui.pages.trained_heads.run:_directions": (MODEL,),
    "ui.pages.trained_heads.run:example": (MODEL, "agreement"),
    "ui.pages.sparse.view:_reading": (0, (1, 2, 3, 4, 5), 2),
    "ui.pages.sparse.view:_asked": (0, 2, "chance"),
    "ui.pages.quiz.view:asked": (3, "statement"),
}


def test_all_that_goes_over_the_seam_is_compared():
    marked = {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}:{node.name}"
        for path in ROOT.glob("ui/**/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any("anywhere=True" in ast.unparse(mark) for mark in node.decorator_list)
    }
    assert marked == set(WORKS)


# Who asks, who waits, who leaves


def test_it_is_done_once_for_all_who_ask_at_once(engine, tmp_path):
    first = begun(tmp_path, "a")
    others = [Caller(works.held, str(tmp_path), "a", visitor=str(n)) for n in range(8)]
    works.note(tmp_path, "end")
    assert {caller.ended().found for caller in (first, *others)} == {"a"}
    assert noted(tmp_path, "begun a") == 1


def test_a_full_line_is_refused_in_its_words_and_takes_more_once_there_is_room(engine, tmp_path):
    callers = [begun(tmp_path, "0", visitor="0")]
    for n in (1, 2):
        callers.append(Caller(works.held, str(tmp_path), str(n), visitor=str(n)))
        wait_until(lambda n=n: engine.line() == n + 1)
    beyond = Caller(works.held, str(tmp_path), "3", visitor="3").ended()
    assert isinstance(beyond.refused, FullError)
    assert says(str(beyond.refused), "refused.waiting", most="2")
    assert not noted(tmp_path, "begun 3")
    works.note(tmp_path, "end")
    assert [caller.ended().found for caller in callers] == ["0", "1", "2"]
    assert Caller(works.held, str(tmp_path), "3").ended().found == "3"


def test_the_work_of_who_leaves_ends_and_his_place_is_free(engine, tmp_path):
    leaves = begun(tmp_path, "a", visitor="a")
    waits = Caller(works.held, str(tmp_path), "b", visitor="b")
    wait_until(lambda: engine.line() == 2)
    leaves.asked.set()
    wait_until(lambda: noted(tmp_path, "ended a"))
    assert leaves.ended().found is None
    wait_until(lambda: noted(tmp_path, "begun b"))
    works.note(tmp_path, "end")
    assert waits.ended().found == "b"


def test_who_leaves_while_he_waits_never_begins(engine, tmp_path):
    works_on = begun(tmp_path, "a", visitor="a")
    leaves = Caller(works.held, str(tmp_path), "b", visitor="b")
    wait_until(lambda: engine.line() == 2)
    leaves.asked.set()
    leaves.ended()
    works.note(tmp_path, "end")
    assert works_on.ended().found == "a"
    assert Caller(works.held, str(tmp_path), "c", visitor="c").ended().found == "c"
    assert not noted(tmp_path, "begun b")


def test_another_who_asked_for_the_same_gets_it_although_the_first_left(engine, tmp_path):
    leaves = begun(tmp_path, "a", visitor="a")
    stays = Caller(works.held, str(tmp_path), "a", visitor="b")
    leaves.asked.set()
    leaves.ended()
    works.note(tmp_path, "end")
    assert stays.ended().found == "a"


# What goes wrong


def test_a_refusal_arrives_as_it_was_raised(engine):
    told = Caller(works.refused, 3).ended().refused
    assert (type(told), told.code) == (RefusedError, "memory")
    assert told.values["needed"] == 3.0
    assert isinstance(told.values["what"], Phrase)
    with pytest.raises(RefusedError) as direct:
        works.refused.__wrapped__(3)
    for language in ("en", "zh"):
        assert sentence(told, language) == sentence(direct.value, language)


@pytest.mark.parametrize(("work", "kind"), [(works.mistaken, KeyError), (works.late, TimeoutError)])
def test_a_mistake_in_the_code_is_none_of_the_visitors(engine, work, kind):
    told = Caller(work).ended().refused
    assert isinstance(told, kind)
    assert not isinstance(told, RefusedError)


def test_what_is_kept_has_a_budget_in_bytes(engine, tmp_path):
    given = [(str(tmp_path), str(n), BUDGET // 3) for n in range(5)]
    for one in given:
        assert works.block(*one).sum() == BUDGET // 3
    assert BUDGET // 2 < engine.cache.held_bytes <= BUDGET
    assert [works.block.peek(*one) is not None for one in given] == [False] * 3 + [True] * 2
