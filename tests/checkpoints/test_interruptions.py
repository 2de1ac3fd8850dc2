"""A bad server, a bad disk or a reader who gives up breaks nothing."""

import shutil
import threading

import pytest
from huggingface_hub.utils import WeakFileLock

from kvcount.files import pieces
from mla_engine.checkpoints import CheckpointError, open_checkpoint
from tests.checkpoints.reading import NAMES, expect_equal, open_with_headers, unfinished


@pytest.mark.parametrize(
    "faults",
    [["cut"], ["unsized"], ["429", "503"], ["cut", "503", "cut", "cut"]],
    ids=" ".join,
)
def test_takes_up_again_what_was_cut_off(hub, empty_cache, sharded_tensors, faults):
    checkpoint = open_with_headers()
    sent = hub.shard_bytes
    hub.faults = list(faults)
    calls = []
    expect_equal(checkpoint.read(NAMES, lambda *done: calls.append(done)), sharded_tensors[0])
    assert not hub.faults
    assert not unfinished(empty_cache)
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1] == checkpoint.bytes_of(NAMES) == hub.shard_bytes - sent


def test_does_not_wait_for_a_server_that_says_no_more(hub, sharded_tensors, monkeypatch):
    monkeypatch.setattr(pieces, "TRIES", 1000)  # a busy machine may be as silent
    checkpoint = open_with_headers()
    monkeypatch.setattr(pieces, "TIMEOUT_SECONDS", 0.25)
    hub.faults = ["hangs"]
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
    assert hub.hanging == 1, "it still says no more"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("ignores", "ignores byte ranges and would send the whole file"),
        ("wrong start", r"asked for bytes \d+-\d+/\d+, the server sends 'bytes \d+"),
        ("wrong total", r"asked for bytes \d+-\d+/\d+, the server sends 'bytes \d+"),
        ("no range", "the server sends ''"),
        ("short", r"asked for 48960 bytes, the server sends 24480"),
        ("longer", r"asked for 48960 bytes, the server sends 48970"),
        ("packed", r"the server sends 48960 \(gzip\)"),
        ("401", "answers 401, so it wants an access token: set HF_TOKEN"),
        ("404", "answers 404, so there is no such file"),
        ("416", "answers 416, so the file has no such bytes"),
        ("wait", "for 3600 s more; what has arrived is kept"),
    ],
)
def test_refuses_wrong_bytes_and_keeps_none(hub, empty_cache, sharded_tensors, fault, words):
    checkpoint = open_with_headers()
    hub.faults = [fault]
    with pytest.raises(CheckpointError, match=words):
        checkpoint.read(NAMES)
    assert not any(path.stat().st_size for path in unfinished(empty_cache))
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])


def test_gives_up_after_some_tries_and_keeps_what_came(hub, empty_cache, sharded_tensors):
    checkpoint = open_with_headers()
    sent = hub.shard_bytes
    hub.faults = ["cut"] * pieces.TRIES
    with pytest.raises(CheckpointError, match=r"given up after 5 tries.*try again later"):
        checkpoint.read(NAMES)
    assert not hub.faults
    assert len(unfinished(empty_cache)) == 1
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
    assert hub.shard_bytes - sent == checkpoint.bytes_of(NAMES)


def test_a_stopped_read_goes_on_where_it_was(hub, empty_cache, sharded_tensors):
    class StoppedError(Exception):
        pass

    def stop(done, total):
        if done >= total / 4:
            raise StoppedError

    checkpoint = open_with_headers()
    needed, held = checkpoint.bytes_of(NAMES), []
    hub.faults = ["slow"]
    with pytest.raises(StoppedError):
        checkpoint.read(NAMES, stop)
    assert not [t for t in threading.enumerate() if t.name.startswith(pieces.THREADS)]
    asked = len(hub.asked)
    expect_equal(checkpoint.read(NAMES, lambda done, total: held.append(done)), sharded_tensors[0])
    spans = [span for _, _, span in hub.asked[asked:] if span]
    bounds = [map(int, span.removeprefix("bytes=").split("-")) for span in spans]
    assert sum(last + 1 - first for first, last in bounds) == needed - held[0]
    assert held[0] > 0
    assert not unfinished(empty_cache)


@pytest.mark.parametrize("kind", [ValueError, OSError, KeyboardInterrupt])
def test_what_the_callback_raises_comes_through(hub, kind):
    def stop(done, total):
        raise kind("enough")

    with pytest.raises(kind, match="enough"):
        open_checkpoint("who/model").read(NAMES, stop)


def test_says_when_the_cache_cannot_be_written(hub, empty_cache):
    checkpoint = open_with_headers()
    [folder] = {path.parent for path in empty_cache.rglob("0-8")}
    shutil.rmtree(folder)
    folder.write_text("a file where the folder was")
    with pytest.raises(
        CheckpointError,
        match=r"the copy of \S+ on this machine: File exists",
    ):
        checkpoint.read(NAMES)


def test_never_uses_a_damaged_piece(hub, empty_cache, sharded_tensors):
    checkpoint = open_with_headers()
    checkpoint.read(NAMES)
    held = sorted(path for path in empty_cache.rglob("*-*") if path.parent.name.endswith("tensors"))
    assert len(held) == len(NAMES) + 2  # and the two parts of the header
    for path in held[2:5]:
        path.write_bytes(path.read_bytes()[:-1])
    held[5].with_name(f"{held[5].name}.incomplete").write_bytes(held[5].read_bytes() + b"more")
    held[5].unlink()
    expect_equal(open_checkpoint("who/model").read(NAMES), sharded_tensors[0])


def test_a_reader_that_waits_for_another_can_be_stopped(hub, empty_cache):
    checkpoint = open_with_headers()
    [lock] = empty_cache.rglob(".lock")
    calls = []

    def stop(done, total):
        calls.append(done)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with WeakFileLock(lock), pytest.raises(KeyboardInterrupt):
        checkpoint.read(NAMES, stop)
    assert calls == [0, 0, 0]
    assert not unfinished(empty_cache)


def test_two_readers_at_once_get_the_same(hub, sharded_tensors):
    checkpoint = open_with_headers()
    found = []
    readers = [
        threading.Thread(target=lambda: found.append(checkpoint.read(NAMES))) for _ in range(4)
    ]
    sent = hub.shard_bytes
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(found) == 4
    for tensors in found:
        expect_equal(tensors, sharded_tensors[0])
    assert hub.shard_bytes - sent == checkpoint.bytes_of(NAMES)
