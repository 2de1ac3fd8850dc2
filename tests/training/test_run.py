"""A run: what it does is the same whether it is stopped or not, and what it leaves can be read."""

import json
from dataclasses import replace

import pytest
import torch

from mla_engine.language_model import LanguageModel, load_model
from mla_engine.language_model.study import read
from tests import study_rows
from training import run as running
from training.plan import CACHES, STAIRCASE, VARIANTS, Run, model_config, runs
from training.report import Folders, chosen, keep, keep_plan
from training.run import loss, rate, resumed, texts_of, train

SHORT = 60


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TEXTS", 4)
    monkeypatch.setattr(running, "MEASURED", 1)
    monkeypatch.setattr(running, "INTERVAL", 20)


def weights(model: LanguageModel) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in model.state_dict().items()}


@pytest.mark.usefixtures("quick")
def test_a_run_that_was_stopped_ends_bit_for_bit_as_one_that_was_not(tmp_path):
    one = Run(VARIANTS["mla"], 0)
    whole, progress = train(one, tmp_path / "whole", SHORT)

    class Stopped(Exception):  # noqa: N818
        pass

    def stop(reached: object) -> None:
        if reached.step == 40:
            raise Stopped

    with pytest.raises(Stopped):
        train(one, tmp_path / "parts", SHORT, stop)
    assert resumed(tmp_path / "parts").step == 40, "at most one interval is lost"
    parts, again = train(one, tmp_path / "parts", SHORT)
    assert again.step == progress.step == SHORT
    assert again.curve == progress.curve
    for name, weight in weights(whole).items():
        assert torch.equal(weights(parts)[name], weight), name


@pytest.mark.usefixtures("quick")
def test_the_loss_falls_and_snapshots_hold_the_weights(tmp_path):
    one = Run(VARIANTS["mla"], 0)
    model, progress = train(one, tmp_path, SHORT)
    losses = [point["loss"] for point in progress.curve if point["loss"]]
    assert losses == sorted(losses, reverse=True)
    last, card = load_model(tmp_path / "00060.safetensors")
    assert card == {"step": 60, "loss": losses[-1]}
    for name, weight in last.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name].half().float())


@pytest.mark.usefixtures("quick")
def test_a_finished_run_leaves_its_row_weights_and_snapshots(tmp_path):
    one, folders = Run(VARIANTS["mla"], 0), Folders(tmp_path / "going", tmp_path / "assets")
    model, progress = train(one, folders.progress / one.name, 20)
    keep(one, model, progress, folders, 2.0)
    row = json.loads(folders.row(one).read_text("utf-8"))
    assert (row["variant"], row["seed"], row["cached"], row["steps"]) == ("mla", 0, 32, 20)
    assert row["torch"] == torch.__version__
    assert [point["step"] for point in row["curve"]] == [0, 20]
    shipped, card = load_model(folders.assets / "mla.safetensors")
    assert shipped.config == model.config
    assert card["accuracy"] == {
        task: {str(load): share for load, share in loads.items()}
        for task, loads in row["accuracy"].items()
    }
    steps = sorted(path.stem for path in (folders.assets / "snapshots" / "mla").iterdir())
    assert steps == ["00000", "00020"]


@pytest.mark.usefixtures("quick")
def test_the_app_reads_what_training_leaves(tmp_path):
    one, folders = Run(VARIANTS["mqa"], 1), Folders(tmp_path / "going", tmp_path / "assets")
    model, progress = train(one, folders.progress / one.name, 20)
    keep_plan(folders)
    keep(one, model, progress, folders, 2.0)
    written = json.loads(folders.row(one).read_text("utf-8"))
    study = read(folders.assets)
    assert not study.refused
    assert set(written) == set(study_rows.row("mqa", 1)), "as the tests of the study make rows"
    (row,) = study.rows
    assert (row.variant, row.seed, row.cached, row.steps) == ("mqa", 1, 32, 20)
    assert row.accuracy["recall"][24] == written["accuracy"]["recall"]["24"]
    assert [[one.first, one.answers, one.share] for one in row.by_distance] == written[
        "by_distance"
    ]
    left = study.not_run()
    assert left["mqa"] == (0, 2, 3, 4)
    assert sum(map(len, left.values())) == len(runs()) - 1


def test_the_plan_that_the_app_has_is_this_one(tmp_path):
    keep_plan(Folders(assets=tmp_path))
    assert (tmp_path / "plan.json").read_bytes() == (Folders.assets / "plan.json").read_bytes()
    cached = [VARIANTS[code].cached for code in CACHES]
    assert cached == sorted(cached, reverse=True)


def test_loss_counts_what_is_determined_and_a_twentieth_of_the_rest():
    model, texts = LanguageModel(model_config(VARIANTS["mqa"])), texts_of(seed=1, step=2)
    logits = model.logits(texts.tokens)[:, :-1].log_softmax(-1)
    total = weight = 0.0
    for row in range(len(texts.tokens)):
        for place in range(texts.tokens.shape[1] - 1):
            share = 1.0 if texts.determined[row, place + 1] else 0.05
            total -= share * logits[row, place, texts.tokens[row, place + 1]].item()
            weight += share
    assert loss(model, texts).item() == pytest.approx(total / weight, rel=1e-5)


def test_steps_have_texts_of_their_own_and_the_same_ones_again():
    assert torch.equal(texts_of(3, 9).tokens, texts_of(3, 9).tokens)
    assert not torch.equal(texts_of(3, 9).tokens, texts_of(3, 10).tokens)
    assert not torch.equal(texts_of(3, 9).tokens, texts_of(4, 9).tokens)


def test_the_rate_rises_to_its_height_and_falls_to_a_twentieth():
    rates = [rate(step, 1000) for step in range(1001)]
    assert rates[0] == pytest.approx(0.01, rel=0.01)
    assert max(rates) == pytest.approx(1, abs=0.03)
    assert rates[1000] == pytest.approx(0.05)
    assert rates[100:] == sorted(rates[100:], reverse=True)


def test_every_run_has_its_name_and_first_seeds_come_first():
    assert len({run.name for run in runs()}) == sum(one.seeds for one in VARIANTS.values())
    assert [run.seed for run in runs()] == sorted(run.seed for run in runs())


def test_a_step_of_the_staircase_changes_one_thing():
    mha, still, latent, rotary, queries = (VARIANTS[code].attention for code in STAIRCASE)
    assert replace(mha, rope=None) == still
    assert latent.d_rope == 0
    assert (latent.n_heads, latent.d_head) == (still.n_heads, still.d_head)
    assert replace(latent, d_latent_kv=24, d_rope=8) == rotary
    assert replace(rotary, d_latent_q=32) == queries


def test_snapshots_are_dense_where_the_loss_falls():
    losses = [None, *(4.0 for _ in range(20)), 3.0, 2.0, 1.0, *(0.5 for _ in range(20))]
    curve = [{"step": 50 * place, "loss": loss} for place, loss in enumerate(losses)]
    steps = chosen(curve, 18)
    assert steps[0] == 0
    assert steps[-1] == curve[-1]["step"]
    assert {50 * place for place in range(21, 25)} <= set(steps)
    assert 12 <= len(steps) <= 18


@pytest.mark.usefixtures("quick")
def test_a_beginning_that_finds_no_recall_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FIRST_STEPS", 20)
    monkeypatch.setattr(running, "FOUND", 0.0)
    monkeypatch.setattr(running, "ATTEMPTS", 3)
    seen = []
    one = Run(VARIANTS["mqa"], 0)
    model, progress = train(one, tmp_path, 40, lambda at: seen.append((at.attempt, at.step)))
    assert seen == [(0, 0), (0, 20), (1, 0), (1, 20), (2, 0), (2, 20), (2, 40)]
    assert progress.attempt == 2
    assert [point["step"] for point in progress.curve] == [0, 20, 40]
    first, last = running.begun(one, 0), running.begun(one, 2)
    assert not torch.equal(first.W_E, last.W_E)
    assert (model.W_E - last.W_E).abs().max() < (model.W_E - first.W_E).abs().max()


@pytest.mark.parametrize(
    ("step", "losses", "first"),
    [(0, [], True), (100, [3.0, 1.7], True), (150, [3.0, 1.7, 0.6], False),
     (200, [3.0, 0.6, 1.9], False), (running.FIRST_STEPS, [3.0, 1.7], False)],
)  # fmt: skip
def test_recall_comes_alone_until_it_is_found(step, losses, first):
    curve = [{"step": 0, "loss": None}, *({"step": 50, "loss": loss} for loss in losses)]
    assert running.looks_for_recall(running.Progress(step=step, curve=curve)) == first
