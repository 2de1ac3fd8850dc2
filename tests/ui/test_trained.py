"""Trained models are listed, read once, and read again when their file is written again."""

import os
from pathlib import Path

import pytest
import torch

from mla_engine.checkpoints import CheckpointError
from mla_engine.language_model import save_model
from tests.ui.trained_models import CACHED, model, write
from ui.engine import shared_cache
from ui.sources import trained


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("ui.sources.trained.FOLDER", tmp_path)
    shared_cache.clear()
    return tmp_path


def test_those_are_listed_that_there_are(folder):
    assert trained.present() == ()
    write(folder, "mla", "mha")
    assert trained.present() == ("mha", "mla")


@pytest.mark.parametrize("code", list(CACHED))
def test_one_is_read_as_it_was_written(folder, code):
    write(folder, code)
    found, made = trained.load(code), model(code)
    assert (found.code, found.card, found.cached) == (code, {"variant": code}, CACHED[code])
    assert found.config == made.config
    for name, weight in made.state_dict().items():
        assert torch.equal(found.model.state_dict()[name], weight)
    assert trained.load(code) is found, "read once"


def test_a_file_that_is_written_again_is_read_again(folder):
    write(folder, "mla")
    first = trained.load("mla")
    before = trained.run(first, (1, 2, 3)).logits
    file = folder / "mla.safetensors"
    save_model(model("mla", seed=8), file, {})
    os.utime(file, ns=(0, first.key[2] + 1))
    second = trained.load("mla")
    assert torch.equal(second.model.W_E, model("mla", seed=8).W_E)
    assert not torch.equal(trained.run(second, (1, 2, 3)).logits, before)


def test_a_run_is_kept_by_its_text(folder):
    write(folder, "gqa")
    found = trained.load("gqa")
    assert trained.run(found, (1, 2)) is trained.run(found, (1, 2))
    assert trained.run(found, (1, 2, 3)).tokens.tolist() == [[1, 2, 3]]


def test_several_texts_run_together_give_what_each_gives_alone(folder):
    write(folder, "mla", "mha")
    texts = [("mla", (1, 2, 3)), ("mha", (4, 5, 6)), ("mla", (6, 5, 4)), ("mla", (7, 8))]
    keys = [(trained.load(code).key, tokens) for code, tokens in texts]
    for (code, tokens), trace in zip(texts, trained._run.batch(keys), strict=True):
        alone = trained.run(trained.load(code), tokens)
        assert trace.tokens.tolist() == [list(tokens)]
        for block, own in zip(trace.blocks, alone.blocks, strict=True):
            assert block.attention.steps == own.attention.steps
            for step in own.attention.steps:
                found = getattr(block.attention, step)
                torch.testing.assert_close(found, getattr(own.attention, step))
        torch.testing.assert_close(trace.logits, alone.logits)


def test_one_that_is_not_there_is_refused_with_the_command(folder):
    with pytest.raises(CheckpointError, match=r"mla\.safetensors is not among.*make train"):
        trained.load("mla")


def test_a_damaged_one_is_refused_by_its_name(folder):
    (folder / "mla.safetensors").write_bytes(b"{" * 100)
    with pytest.raises(CheckpointError, match=r"mla\.safetensors"):
        trained.load("mla")
