"""The helpers that the tests of byte ranges share."""

from pathlib import Path

import torch
from safetensors.torch import load_file

from kvcount.files.repository import repository_files
from mla_engine.checkpoints import Checkpoint, open_checkpoint

NAMES = [f"layers.{i}.W" for i in range(6)]


def names_of(folder):
    """The names of all tensors in a folder, by the library."""
    return [name for file in sorted(folder.glob("*.safetensors")) for name in load_file(file)]


def open_repository(name, revision=None, **access):
    """Open a repository as the app does, which says who reads it and where it is kept."""
    return Checkpoint(repository_files(name, revision, **access))


def open_with_headers(names=NAMES):
    checkpoint = open_checkpoint("who/model")
    checkpoint.entries(names)
    return checkpoint


def expect_equal(found, tensors):
    for name in found:
        assert torch.equal(found[name].float(), tensors[name].float()), name


def unfinished(cache):
    return [path for path in Path(cache).rglob("*.incomplete") if "assets" in path.parts]
