"""Names that no file can have, and folders that cannot be read: one refusal, no path of ours."""

from pathlib import Path

import pytest

from mla_engine import checkpoints
from mla_engine.checkpoints import CheckpointError, build_demo, open_checkpoint
from mla_engine.checkpoints.activations import read_activations
from tests.checkpoints.conftest import SHARDS
from tests.checkpoints.reading import open_repository

NAMES = [
    "~nosuchuser/x", "~nosuchuser/x.safetensors", "x" * 300 + "/y", "a/" + "y" * 300, "x" * 5000,
    "a\0b", "a\0b.safetensors", "~\0/x", "\ud800/x", "loop", "loop/x", "loop.safetensors",
    "folder.safetensors", b"x", 5, None, [], Path("~nosuchuser/x"), Path("a\0b"), "a/..",
    "../x/y/z",
]  # fmt: skip
CALLS = {
    "open_checkpoint": open_checkpoint,
    "open_repository": open_repository,
    "describe": lambda name: checkpoints.describe(name, 0),
    "load_attention": lambda name: checkpoints.load_attention(name, 0),
    "tokenize": lambda name: checkpoints.tokenize(name, "a"),
    "hidden_bytes": lambda name: checkpoints.hidden_bytes(name, "a", 0),
    "hidden_states": lambda name: checkpoints.hidden_states(name, "a", 0),
    "hidden_states_of_layers": lambda name: checkpoints.hidden_states_of_layers(name, "a", [0]),
    "activations": lambda name: read_activations(name, 4, 0),
    "folder": lambda name: open_repository("a/b", folder=name or "loop"),
}
UNWRITABLE = ["a\0b", "\ud800/x", "loop", "x" * 300, b"x", 5, None]


@pytest.fixture
def place(tmp_path, monkeypatch, empty_cache):
    """A working directory with links in a ring, and a Hub that is away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    for name in ("loop", "loop.safetensors"):
        (tmp_path / name).symlink_to(name)
    (tmp_path / "folder.safetensors").mkdir()
    return tmp_path


def said(call, *arguments):
    with pytest.raises(CheckpointError) as caught:
        call(*arguments)
    text = str(caught.value)
    assert text.encode()
    return text


@pytest.mark.parametrize("call", CALLS)
def test_a_name_that_can_be_no_files_is_refused(place, call):
    for name in NAMES:
        assert str(place) not in said(CALLS[call], name)


@pytest.mark.parametrize("name", UNWRITABLE, ids=repr)
def test_nothing_is_written_at_such_a_name(place, name):
    said(build_demo, name)


def forbid(monkeypatch, method, ending):
    """Make a folder or a file one that this user may not read."""
    real = getattr(Path, method)

    def refuse(path, *arguments, **options):
        if path.name == ending:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, method, refuse)


@pytest.mark.parametrize(
    ("method", "ending"),
    [
        ("exists", "model"),
        ("resolve", "model"),
        ("iterdir", "model"),
        ("is_file", "config.json"),
        ("open", "config.json"),
        ("is_file", SHARDS[0]),
        ("stat", SHARDS[0]),
        ("open", SHARDS[0]),
    ],
)
def test_what_may_not_be_read_is_told_without_its_path(model_folder, monkeypatch, method, ending):
    forbid(monkeypatch, method, ending)
    monkeypatch.chdir(model_folder.parent)
    text = said(lambda: open_checkpoint("model").read(["layers.0.W"]))
    assert str(model_folder.parent) not in text
