"""A stranger's choice of a repository reads, fetches and fills only what it may."""

import json
import threading

import huggingface_hub
import pytest

from kvcount.files import quota
from mla_engine.checkpoints import CheckpointError, open_checkpoint
from tests.checkpoints.reading import NAMES, expect_equal, open_repository
from tests.checkpoints.serving import Handler, serving
from tests.refusals import refusing
from tests.ui.screen import says

PUBLIC = (
    "there is no public repository of this name, or it is gated: only public ones are read here"
)
OWNERS = ("HF_TOKEN", "token", "log in", "login", "HF_HUB_OFFLINE", "hf auth")


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "kept"


@pytest.fixture
def with_token(monkeypatch, empty_cache):
    """An owner who has given a token, and has logged in."""
    monkeypatch.setenv("HF_TOKEN", "hf_abc")
    empty_cache.mkdir()
    (empty_cache / "token").write_text("hf_def")


def refusal(*source, **place):
    with pytest.raises(CheckpointError) as caught:
        open_repository(*source, **place).read(["embed"])
    return str(caught.value)


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]


def reserve(folder, most, n_bytes):
    with quota.using(folder, {folder / "new": n_bytes}, most) as use:
        use.reserve(n_bytes)


def held_bytes(folder):
    return sum(path.stat().st_size for path in files(folder))


@pytest.mark.parametrize("own_folder", [True, False])
def test_sends_no_token(hub, with_token, model_folder, kept, own_folder, sharded_tensors):
    with serving(model_folder) as store:
        hub.store = store.address.replace("127.0.0.1", "localhost")
        place = {"folder": kept} if own_folder else {}
        checkpoint = open_repository("who/model", token=False, **place)
        checkpoint.file("tokenizer.json")
        expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
        assert {token for _, token in hub.tokens + store.tokens} == {None}
        open_repository("who/model", **place)
    assert hub.tokens[-1][1] == "Bearer hf_abc"


def test_asks_for_sizes_without_a_token(hub, with_token, kept, monkeypatch):
    listed = [{"rfilename": path.name} for path in hub.folder.iterdir()]
    body = json.dumps({"id": "who/model", "sha": "0" * 40, "siblings": listed}).encode()
    monkeypatch.setattr(Handler, "listing", lambda self: self.answer(200, body))
    monkeypatch.setattr("tests.checkpoints.serving.COMMIT", "0" * 40)
    open_repository("who/model", token=False, folder=kept)
    assert "HEAD" in {how for how, *_ in hub.asked}
    assert {token for _, token in hub.tokens} == {None}


def test_sends_the_token_that_it_is_given(hub, with_token, kept):
    open_repository("who/model", token="hf_ghi", folder=kept)
    assert {token for _, token in hub.tokens} == {"Bearer hf_ghi"}


@pytest.mark.parametrize("name", ["who/missing", "who/gated"])
def test_gives_strangers_no_advice_for_owners(hub, with_token, kept, name, monkeypatch):
    for place in ({}, {"folder": kept}):
        said = refusal(name, token=False, **place)
        assert "only public" in said
        assert not [word for word in OWNERS if word in said.replace("tokenizer", "")]
    assert "HF_TOKEN" in refusal(name)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    said = refusal("who/other", token=False, folder=kept)
    assert not [word for word in OWNERS if word in said]


@pytest.mark.parametrize("status", [401, 403])
def test_a_shard_behind_a_gate_is_no_advice_either(hub, kept, status):
    checkpoint = open_repository("who/model", token=False, folder=kept)
    checkpoint.entries(["embed"])
    hub.faults = [str(status)]
    with refusing("so_public_only"):
        checkpoint.read(["embed"])


def test_does_not_look_into_the_owners_caches(hub, with_token, kept, monkeypatch, empty_cache):
    open_checkpoint("who/private").read(["embed"])
    held = {path: path.stat().st_mtime_ns for path in files(empty_cache)}
    for away in ("down", "offline"):
        hub.down = 503
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", away == "offline")
        for token in (False, None):
            refusal("who/private", token=token, folder=kept)
    assert open_checkpoint("who/private").read(["embed"])  # the owner goes on
    assert not [path for path in files(kept) if path.suffix]
    assert {path: path.stat().st_mtime_ns for path in files(empty_cache)} == held


def test_what_was_read_with_a_token_is_not_shown_without(hub, with_token, kept):
    open_repository("who/private", folder=kept).read(["embed"])
    hub.down = 503
    assert open_repository("who/private", folder=kept).read(["embed"])
    refusal("who/private", token=False, folder=kept)


def test_an_own_folder_holds_all_and_is_read_again_offline(
    hub, kept, empty_cache, sharded_tensors, monkeypatch
):
    place = {"token": False, "folder": kept}
    checkpoint = open_repository("who/model", **place)
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
    rules = checkpoint.file("tokenizer.json")
    assert not files(empty_cache)
    asked = len(hub.asked)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    again = open_repository("who/model", **place)
    assert (again.revision, again.file("tokenizer.json")) == (checkpoint.revision, rules)
    expect_equal(again.read(NAMES), sharded_tensors[0])
    assert open_repository("who/model", checkpoint.revision, **place).config == checkpoint.config
    assert len(hub.asked) == asked


def test_a_repository_is_no_folder_beside_the_program(hub, kept, sharded_folder, monkeypatch):
    beside = kept / "who" / "model"
    beside.mkdir(parents=True)
    (beside / "config.json").write_text('{"model_type": "secret"}')
    monkeypatch.chdir(kept)
    assert open_repository("who/model", token=False).config == {"model_type": "deepseek_v2"}
    for name in ("../who", "who", "/who/model", "who/model/x", "", None, sharded_folder):
        assert says(refusal(name), "file.no_repository_name")


def test_fetches_without_loading(hub, kept, sharded_tensors):
    checkpoint = open_repository("who/model", folder=kept)
    said = []
    checkpoint.fetch(NAMES, lambda *done: said.append(done))
    needed = checkpoint.bytes_of(NAMES)
    assert said[-1] == (needed, needed)
    sent = hub.shard_bytes
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
    assert hub.shard_bytes == sent


def test_a_fetch_beyond_the_quota_is_refused_before_it_begins(hub, kept):
    checkpoint = open_repository("who/model", folder=kept, quota_bytes=60_000)
    checkpoint.entries([*NAMES, "embed"])
    needed, sent = checkpoint.bytes_of([*NAMES, "embed"]), hub.shard_bytes
    figures = rf"takes {needed / 2**30:.3g} GiB of disk, and {60_000 / 2**30:.3g} GiB are set aside"
    with pytest.raises(CheckpointError, match=figures):
        checkpoint.fetch([*NAMES, "embed"])
    assert hub.shard_bytes == sent


@pytest.mark.parametrize("own_folder", [True, False])
def test_a_fetch_beyond_the_free_disk_is_refused(hub, kept, own_folder, monkeypatch):
    checkpoint = open_repository("who/model", folder=kept if own_folder else None)
    needed, sent = checkpoint.bytes_of(NAMES), hub.shard_bytes
    free = (0, 0, quota.LEAVE_FREE_BYTES + needed - 1)
    monkeypatch.setattr(quota.shutil, "disk_usage", lambda _: type("", (), {"free": free[2]}))
    with refusing("disk_full"):
        checkpoint.fetch(NAMES)
    assert hub.shard_bytes == sent


def test_what_was_used_longest_ago_goes_first(hub, kept):
    """Repositories one after the other, in a folder that holds less than all of them."""
    most = 130_000
    for number in range(5):
        checkpoint = open_repository(f"who/model{number}", folder=kept, quota_bytes=most)
        checkpoint.read(NAMES)
        assert held_bytes(kept) <= most
        hub.down, sent = 0, hub.shard_bytes
        checkpoint.read(NAMES)
        assert hub.shard_bytes == sent, "the last one is still there"
    names = {path.name for path in (kept / "granted").iterdir()}
    assert "who%2Fmodel4" in names
    assert "who%2Fmodel0" not in names


def test_what_is_read_or_written_stays(hub, kept, sharded_tensors):
    """One visitor's slow download, and another who needs the room."""
    most = 130_000
    slow = open_repository("who/slow", folder=kept, quota_bytes=most)
    slow.entries(NAMES)
    hub.faults = ["slow"]
    found, begun = [], threading.Event()
    reader = threading.Thread(
        target=lambda: found.append(slow.read(NAMES, lambda done, _: done and begun.set()))
    )
    reader.start()
    begun.wait(10)
    other = open_repository("who/other", folder=kept, quota_bytes=most)
    with refusing("disk_busy"):
        reserve(kept, most, most - 1000)
    reader.join()
    expect_equal(found[0], sharded_tensors[0])
    expect_equal(other.read(NAMES), sharded_tensors[0])
    assert held_bytes(kept) <= most


def test_room_is_made_again_after_a_process_was_killed(kept):
    with quota.using(kept, {kept / "a" / "0-9": 8000}, 10_000) as use:
        use.reserve(8000)
        left = use.place.read_text()
    (kept / quota.USES / "left.json").write_text(left)  # as kill -9 leaves it
    reserve(kept, 10_000, 9000)
    assert not files(kept)
