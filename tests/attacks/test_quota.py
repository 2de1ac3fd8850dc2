"""Downloads of an hour are bounded, by one visitor and by all, over a machine's processes."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import streamlit as st

from kvcount.files import quota
from mla_engine.checkpoints import CheckpointError
from tests.checkpoints.reading import open_repository
from tests.refusals import refusing
from ui.engine import folders, job_owner
from ui.engine.job_owner import COOKIE
from ui.engine.workers.access import repository

NAMES = [f"layers.{i}.W" for i in range(6)]
QUOTA = 2**20
ANOTHER = """
import sys
from kvcount.files import quota
from tests.checkpoints.reading import open_repository
quota.visitor.set("elsewhere")
quota.spend.__defaults__ = (lambda: 0.0,)
folder, most, hourly, *names = sys.argv[1:]
bounds = {"quota_bytes": int(most), "hourly_bytes": int(hourly)}
open_repository("who/model1", token=False, folder=folder, **bounds).fetch(names)
"""


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "kept"


@pytest.fixture(autouse=True)
def one_hour(monkeypatch):
    """Keep the hour from ending while a test looks."""
    monkeypatch.setattr(quota.spend, "__defaults__", (lambda: 0.0,))


def fetch(kept, number, hourly, who):
    """Fetch a repository that nobody has fetched yet, for a visitor; the bytes of its weights."""
    quota.visitor.set(who)
    bounds = {"quota_bytes": QUOTA, "hourly_bytes": hourly}
    checkpoint = open_repository(f"who/model{number}", token=False, folder=kept, **bounds)
    checkpoint.fetch(NAMES)
    return checkpoint.bytes_of(NAMES)


def test_one_may_fetch_a_fourth_and_all_together_no_more_than_all(hub, kept):
    needed = fetch(kept, 0, QUOTA, "first")
    hourly = quota.OWN_SHARE * 2 * needed  # with what names and sizes take, one whole model
    sent = hub.shard_bytes
    with refusing("fetched_own"):
        fetch(kept, 1, hourly, "first")
    assert hub.shard_bytes < sent + needed, "it is refused before the weights come"
    for number, who in enumerate(("second", "third", "fourth", "fifth", "sixth", "seventh"), 2):
        fetch(kept, number, hourly, who)
    sent = hub.shard_bytes
    with refusing("fetched_all"):
        fetch(kept, 8, hourly, "eighth")
    assert hub.shard_bytes < sent + needed


def test_what_another_process_fetched_counts_too(hub, kept):
    environment = os.environ | {"PYTHONPATH": str(folders.APP)}
    given = str(kept), str(QUOTA), str(QUOTA), *NAMES
    subprocess.run([sys.executable, "-c", ANOTHER, *given], env=environment, check=True)
    needed = hub.shard_bytes
    hourly = int(1.6 * needed) * quota.OWN_SHARE  # of all six, and a bit
    with refusing("fetched_own"):
        fetch(kept, 2, hourly, "elsewhere")
    for number in range(2, 7):
        fetch(kept, number, hourly, f"visitor {number}")
    with refusing("fetched_all"):
        fetch(kept, 7, hourly, "visitor 7")


def test_what_did_not_come_is_not_counted(kept):
    with quota.using(kept, {kept / "a": 900}, QUOTA, 4000) as use:
        use.reserve(900)
        (kept / "a.incomplete").write_bytes(bytes(300))
    with quota.using(kept, {kept / "b": 700}, QUOTA, 4000) as use:
        use.reserve(700)
        with pytest.raises(CheckpointError, match="one visitor"):
            use.reserve(1)


def test_the_next_hour_begins_at_nothing(tmp_path):
    now, file = [0.0], tmp_path / "fetched"
    quota.spend(file, 250, 1000, lambda: now[0])
    with pytest.raises(CheckpointError):
        quota.spend(file, 1, 1000, lambda: now[0])
    now[0] = 3599.0
    with pytest.raises(CheckpointError):
        quota.spend(file, 1, 1000, lambda: now[0])
    now[0] = 3600.0
    quota.spend(file, 250, 1000, lambda: now[0])


def test_a_damaged_file_of_counts_begins_at_nothing(tmp_path):
    file = tmp_path / "fetched"
    for text in ("", "[]", '{"hour": 0}', "{", "null", '{"hour": 0, "had": 3}'):
        file.write_text(text)
        quota.spend(file, 250, 1000, lambda: 0.0)


def test_visitors_have_the_bounds_that_the_operator_sets(monkeypatch):
    monkeypatch.setenv("MLA_DOWNLOADS_GIB", "0.5")
    where = repository("who/model", "").where
    assert where["hourly_bytes"] == 2**29
    assert where["quota_bytes"] == 4 * 2**30
    monkeypatch.setenv("MLA_TOKEN_REPOSITORIES", "who/model")
    assert repository("who/model", "").where["hourly_bytes"] is None


def test_tabs_of_a_browser_count_together_and_its_cookie_is_not_handed_on(monkeypatch):
    session, cookies = SimpleNamespace(session_id="one"), {COOKIE: "a browser's seat"}
    monkeypatch.setattr(job_owner, "session_id", lambda: session.session_id)
    monkeypatch.setattr(job_owner, "is_served", lambda: True)
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: cookies))
    first = job_owner.browser()
    session.session_id = "another tab"
    assert job_owner.browser() == first
    assert "seat" not in first
    cookies[COOKIE] = "of another browser"
    other = job_owner.browser()
    cookies.clear()
    assert len({first, other, job_owner.browser()}) == 3
    seen = job_owner.browser()
    session.session_id = "a third tab"
    assert job_owner.browser() != seen
