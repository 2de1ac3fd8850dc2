"""Hostile checkpoints: none is opened in the server, and the visitor gets one sentence."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kvcount.tests.published import listed
from mla_engine import PRESETS, checkpoints
from mla_engine.checkpoints import CheckpointError, safetensors_file, tokens
from tests.attacks import hostile
from tests.checkpoints.serving import serving
from tests.ui.conftest import opened  # noqa: F401, a fixture
from tests.ui.screen import statement
from ui import ROOT
from ui.engine.workers import limits, messages
from ui.engine.workers.pool import POOL
from ui.sources import Checkpoint, checkpoint, given

TEXT = "a cat sat on a mat."
STOPPED = {"job_long", "job_memory", "job_broke"}


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch):
    """The server's own process opens, parses and cuts nothing."""

    def opened_here(*_, **__):
        raise AssertionError("it was opened in the server")

    for name in ("open_checkpoint", "open_repository", "describe", "hidden_states", "tokenize"):
        monkeypatch.setitem(vars(checkpoints), name, opened_here)
    monkeypatch.setattr(safetensors_file, "parse_json", opened_here)
    monkeypatch.setattr(tokens, "_load", opened_here)


@pytest.fixture
def bounded(monkeypatch):
    """`bounded(seconds, memory_bytes)`: what a job may take."""

    def bound(cpu_seconds=60, memory_bytes=3 * 2**30):
        small = limits.Limits(cpu_seconds, 1e3, memory_bytes)
        for name in ("of_looking", "of_reading"):
            monkeypatch.setattr(limits, name, lambda: small)

    return bound


@pytest.fixture
def made(demo, models, request):
    """`made(change)`: the demonstration model with one file made hostile."""

    def make(change, **more):
        folder = models / f"{request.node.name} {len(list(models.iterdir()))}"
        return Checkpoint(str(hostile.copied(demo, folder, change)), "", 0, TEXT, **more)

    return make


def refusal(loaded, ask=checkpoint.inputs):
    with pytest.raises(CheckpointError) as caught:
        ask(loaded)
    error = caught.value
    assert error.values.get("kind") not in ("1", "AttributeError"), "a fault of the worker's own"
    return error


def test_a_page_reads_a_model_without_opening_it(opened, demo):  # noqa: F811
    at = opened("pages/real_models.py", source=demo, text=TEXT)
    assert not at.error
    assert "In layer 0 of it's a demo" in statement(at).replace("&#39;", "'")


def test_growing_rules_end_by_computing_time_or_memory(made, bounded):
    bounded(cpu_seconds=2, memory_bytes=2**30)
    assert refusal(made(hostile.growing(30))).code in STOPPED


def test_a_tokenizer_that_ends_its_process_is_one_sentence(made, bounded):
    bounded(memory_bytes=2**30)
    error = refusal(made(hostile.growing(4, by=100_000)))
    assert error.code in STOPPED
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("change", [hostile.bad_charsmap, hostile.empty_pattern])
def test_a_tokenizer_on_which_the_library_panics(made, change):
    assert refusal(made(change)).code in {"job_broke", "cannot_cut", "bad_tokenizer"}


@pytest.mark.parametrize("depth", [10_000, 1_000_000])
def test_deep_json_is_refused(made, depth):
    error = refusal(made(hostile.index_of(lambda: "[" * depth)), checkpoint.plan)
    assert error.code in {"no_json", "job_broke", "job_memory"}


def test_a_config_of_many_keys_is_read_in_linear_time(made, bounded):
    bounded(cpu_seconds=20)
    keys = {f"key {n}": 0 for n in range(100_000)}
    assert checkpoint.plan(made(hostile.config(**keys))).n_layers == 4


def test_an_index_beyond_the_address_space_is_refused(made, bounded):
    bounded(memory_bytes=2**27)
    error = refusal(made(hostile.index_of(lambda: f"[{'{},' * 1_900_000}0]")), checkpoint.plan)
    assert error.code in {"job_memory", "job_broke"}
    assert "GiB of memory" in str(error) or "too much memory" in str(error)


def test_a_header_bomb_is_refused(made, bounded):
    bounded(memory_bytes=2**29)
    bomb = hostile.header_of(b'{"a":' + b"[" * 3_000_000)
    assert refusal(made(bomb), checkpoint.plan).code in {"no_json", *STOPPED}


class LeftError(BaseException):
    """An end of a run as Streamlit ends it whose visitor left, or changed something."""


def test_a_run_that_streamlit_ends_waits_no_longer(made, demo, monkeypatch):
    def leave():
        raise LeftError

    with monkeypatch.context() as patch:
        patch.setattr("ui.engine.job_owner.session_id", lambda: "who leaves")
        patch.setattr("ui.engine.job_owner.interruption", lambda: leave)
        with pytest.raises(LeftError):
            checkpoint.needed(made(hostile.growing(30)))
    assert checkpoint.plan(Checkpoint(demo, "", 3)).layer == 3


def test_messages_name_no_folder_of_the_server(made, models, tmp_path):
    def gone(folder):
        next(folder.glob("*2-of*.safetensors")).unlink()

    for loaded in (
        made(gone),
        Checkpoint(str(tmp_path / "x"), "", 0, TEXT),
        Checkpoint(str(models / "absent"), "", 0, TEXT),
        Checkpoint("models/absent", "", 0, TEXT),
        replace(made(lambda _: None), activations="none.safetensors"),
    ):
        typed = repr(loaded.location)[:120]  # as much of it as a message quotes
        said = str(refusal(replace(loaded, layer=3))).replace(typed, "", 1)
        assert str(models) not in said
        assert str(ROOT) not in said


def test_a_config_of_megabytes_crosses_without_what_it_lists(models, demo):
    folder = models / "listed"
    folder.mkdir()
    config = json.loads((Path(demo) / "config.json").read_text("utf-8"))
    own = {"quantization_config": listed() | {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}}
    (folder / "config.json").write_text(json.dumps(config | own), "utf-8")
    found = given.config_of(str(folder))
    assert found.pop("quantization_config").keys() == {"quant_method", "kv_cache_scheme"}
    assert found == config


@pytest.fixture
def hub(demo, empty_cache, monkeypatch):
    """A Hub on this machine, on a server whose owner has a token."""
    with serving(Path(demo)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", "hf_owner")
        yield hub
    POOL.close()


def test_no_token_goes_to_the_hub_unless_the_owner_lists_the_repository(hub, monkeypatch):
    monkeypatch.setenv("MLA_TOKEN_REPOSITORIES", "who/listed")
    for name, token in (("who/other", None), ("who/listed", "Bearer hf_owner")):
        before = len(hub.tokens)
        loaded = Checkpoint(name, "", 0, TEXT)
        checkpoint.plan(loaded)
        checkpoint.inputs(loaded)
        assert {sent for _, sent in hub.tokens[before:]} == {token}


def test_a_repository_lies_in_the_apps_own_folder(hub, empty_cache):
    checkpoint.plan(Checkpoint("who/model", "", 1))
    kept = [path.relative_to(empty_cache) for path in empty_cache.rglob("*") if path.is_file()]
    assert kept
    assert {path.parts[:2] for path in kept} == {("assets", "mla-explorer")}


@pytest.mark.parametrize(
    ("allowed", "name", "code"),
    [
        ("none", "who/model", "no_repositories"),
        ("who/listed", "who/model", "repository_not_listed"),
        ("who/listed", "who/Listed", "repository_not_listed"),
    ],
)
def test_what_the_owner_does_not_allow_is_never_asked_for(hub, monkeypatch, allowed, name, code):
    monkeypatch.setenv("MLA_REPOSITORIES", allowed)
    assert refusal(Checkpoint(name, "", 0, TEXT)).code == code
    assert refusal(Checkpoint(name, "", 0, TEXT), checkpoint.plan).code == code
    assert not hub.asked


def test_a_listed_repository_is_read(hub, monkeypatch):
    monkeypatch.setenv("MLA_REPOSITORIES", "who/listed")
    assert checkpoint.plan(Checkpoint("who/listed", "", 0)).n_layers == 4


def test_a_layer_beyond_the_budget_is_refused_before_its_first_byte(hub, monkeypatch):
    loaded = Checkpoint("who/model", "", 0, TEXT)
    n_bytes = checkpoint.plan(loaded).n_bytes
    before = hub.shard_bytes - hub.header_bytes
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str((n_bytes - 1) / 2**30))
    with pytest.raises(ValueError, match="memory budget"):
        checkpoint._fetch(loaded)
    assert hub.shard_bytes - hub.header_bytes == before


def test_the_owners_secrets_stay_with_the_server(monkeypatch):
    monkeypatch.setenv("MY_SECRET", "x")
    monkeypatch.setenv("HF_TOKEN", "hf_owner")
    passed = checkpoint.place(Checkpoint("who/model", "", 0)).environment
    assert not {"MY_SECRET", "HF_TOKEN"} & set(passed)
    assert passed["HF_TOKEN_PATH"] == os.devnull


def test_a_worker_knows_no_streamlit():
    code = "import sys, ui.engine.workers.worker; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


@pytest.mark.parametrize("key", PRESETS)
def test_a_configuration_crosses_unchanged(key):
    config = PRESETS[key].config
    sent = json.loads(json.dumps(messages.encoded(config, [])))
    assert messages.decoded(sent, []) == config


def test_a_value_of_another_type_does_not_cross():
    with pytest.raises(TypeError, match="does not cross"):
        messages.encoded({"device": torch.device("cpu")}, [])
