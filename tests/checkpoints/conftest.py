"""A sharded checkpoint and a Hub on this machine that serves it."""

import json
import shutil

import huggingface_hub
import pytest
import torch
from safetensors.torch import save_file

from kvcount.files import pieces
from mla_engine.checkpoints import build_demo
from tests import patience
from tests.checkpoints.serving import serving

SHARDS = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The demonstration checkpoint, which no test changes."""
    return build_demo(tmp_path_factory.mktemp("demonstration") / "demo")


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory):
    """A small Llama in a GGUF file, which no test changes."""
    from tests.checkpoints import gguf_model  # which skips where the package is not installed

    return gguf_model.write(tmp_path_factory.mktemp("gguf") / "small.gguf")


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory):
    """Save small models of every family once in a folder that no test changes."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def sharded_tensors():
    """Name -> tensor, in the two files of `sharded_folder`; of several dtypes, one empty."""
    draw = torch.Generator().manual_seed(4)
    first = {f"layers.{i}.W": torch.randn(48, 40 + i, generator=draw) for i in range(6)}
    second = {
        "embed": torch.randn(300, 32, generator=draw).bfloat16(),
        "eight": torch.randn(64, 64, generator=draw).to(torch.float8_e4m3fn),
        "half": torch.randn(70, 3, generator=draw).half(),
        "double": torch.randn(9, generator=draw).double(),
        "none": torch.empty(0, 7),
    }
    return first, second


@pytest.fixture(scope="session")
def sharded_folder(sharded_tensors, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sharded") / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "deepseek_v2"}')
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    for tensors, file in zip(sharded_tensors, SHARDS, strict=True):
        save_file(tensors, folder / file, {"format": "pt"})
    pairs = zip(sharded_tensors, SHARDS, strict=True)
    files = {name: file for tensors, file in pairs for name in tensors}
    index = {"metadata": {}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@pytest.fixture
def model_folder(sharded_folder, tmp_path):
    """A copy of `sharded_folder` that a test may damage."""
    return shutil.copytree(sharded_folder, tmp_path / "model")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache of the Hub's client of its own, and no token, no mode from outside."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    cache = tmp_path / "cache"
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache / "hub"))
    monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(cache / "assets"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(cache / "token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(pieces, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(pieces, "TIMEOUT_SECONDS", patience.SECONDS)
    return cache


@pytest.fixture
def hub(sharded_folder, empty_cache, monkeypatch):
    """A Hub that serves `sharded_folder`; HF_ENDPOINT names it."""
    with serving(sharded_folder) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        yield hub
