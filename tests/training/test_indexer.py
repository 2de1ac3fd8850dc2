"""The indexers that a trained model gets: the loss is a KL divergence, and nothing else learns."""

import math

import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from mla_engine.language_model import LanguageModel, load_model
from mla_engine.language_model.sparse import ALL
from training import command, indexer
from training.plan import DSA, MLA, VARIANTS, model_config
from training.report import Folders, ship
from training.run import texts_of

FEW = 6
INDEXERS = {"W_IQ", "W_IK", "W_IW", "k_I_norm", "b_IK"}


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> LanguageModel:
    monkeypatch.setattr("training.run.TEXTS", 4)
    return LanguageModel(model_config(VARIANTS["mla"]), seed=3).requires_grad_(False)


def test_the_sizes_are_those_of_mla_with_a_small_indexer():
    for name, value in vars(MLA).items():
        assert getattr(DSA, name) == value, name
    assert (DSA.n_index_heads, DSA.d_index, DSA.index_topk) == (2, 16, 4)


def test_the_loss_is_the_divergence_from_the_heads_attention(dense):
    trace = indexer.with_indexers(dense)(texts_of(1, 1).tokens[:2])
    total = 0.0
    for block in trace.blocks:
        attention, index = block.attention.attention.double(), block.attention.index.double()
        each = []
        for text in range(len(index)):
            for query in range(index.shape[1]):
                seen = slice(query + 1)
                wanted = Categorical(probs=attention[text, :, query, seen].sum(0))
                found = Categorical(logits=index[text, query, seen])
                each.append(kl_divergence(wanted, found).item())
        total += sum(each) / len(each)
    assert indexer.loss(trace).item() == pytest.approx(total, rel=1e-5)


def test_only_the_indexers_learn_and_they_come_closer(dense):
    losses = []
    made = indexer.warmed_up(dense, 2 * FEW, lambda step, loss: losses.append((step, loss)))
    assert losses == []
    before = dense.state_dict()
    for name, weight in made.state_dict().items():
        last = name.rpartition(".")[2]
        assert (last in INDEXERS) == (name not in before), name
        if name in before:
            assert torch.equal(weight, before[name]), name
    tokens = texts_of(5, 5).tokens
    first = indexer.with_indexers(dense)
    first_loss = indexer.loss(first(tokens)).item()
    first.load_state_dict(made.state_dict())
    assert indexer.loss(first(tokens)).item() < 0.9 * first_loss
    assert made.config.attention == DSA
    assert not any(weight.requires_grad for weight in made.parameters())


def test_the_loss_is_told_now_and_then(dense, monkeypatch):
    monkeypatch.setattr(indexer, "INTERVAL", 2)
    told = []
    indexer.warmed_up(dense, 5, lambda step, loss: told.append((step, math.isfinite(loss))))
    assert told == [(2, True), (4, True)]


def test_the_command_gives_the_model_its_indexers_once(dense, tmp_path, monkeypatch):
    monkeypatch.setattr("training.report.TEXTS", 2)
    monkeypatch.setattr("mla_engine.language_model.sparse.KEYS", (4,))
    monkeypatch.setattr("mla_engine.language_model.sparse.ASKED", 1)
    folders = Folders(tmp_path / "going", tmp_path / "assets")
    assert "mla comes first" in command.indexed(folders, FEW)
    ship(dense, {"variant": "mla"}, folders)
    assert command.indexed(folders, FEW) == f"dsa: {FEW} steps"
    made, card = load_model(folders.assets / "dsa.safetensors")
    assert made.config.attention == DSA
    assert (card["variant"], card["seed"], card["steps"], card["cached"]) == ("dsa", 0, FEW, 48)
    assert card["learned"] == 2 * (2 * 16 * 64 + 16 * 64 + 2 * 64 + 16 + 16)
    assert card["parameters"] == sum(weight.numel() for weight in made.parameters())
    assert list(card["answers"]["indexer"]) == ["4", str(ALL)]
    right, _by_task, left_out = card["answers"]["latest"]["4"]
    assert 0 <= right <= 1
    assert len(left_out) == len(made.blocks)
    file = folders.assets / "dsa.safetensors"
    written = file.read_bytes()
    assert command.indexed(folders, FEW) == "dsa is done"
    assert file.read_bytes() == written
