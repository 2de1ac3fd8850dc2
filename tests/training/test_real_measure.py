"""Measurements of a real model, against transformers; a run that was stopped goes on."""

import json

import pytest
import torch

from mla_engine.language_model.one_cache import OneCache
from mla_engine.language_model.real import load_real
from tests.checkpoints.models import built
from tests.checkpoints.texts import IDS, add_tokenizer
from training.real import command
from training.real.fit import Fits
from training.real.measure import WRITTEN, losses, written
from training.real.plan import KINDS, Point, points

PIECES = torch.tensor([IDS, IDS[::-1]])
ABOUT = {"model": "one", "piece": 512}


@pytest.fixture(scope="module")
def theirs():
    return built("llama").eval()


@pytest.fixture(scope="module")
def ours(theirs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    theirs.save_pretrained(folder)
    return load_real(add_tokenizer(folder))


@torch.no_grad()
def their_losses(theirs, tokens):
    """By transformers' own loop: a text with its labels, one at a time."""
    return [float(theirs(one[None], labels=one[None]).loss) for one in tokens]


def test_losses_are_those_of_transformers_own_loop(ours, theirs):
    assert losses(ours, PIECES) == pytest.approx(their_losses(theirs, PIECES), rel=1e-5)


@torch.no_grad()
def test_what_is_written_is_what_transformers_writes(ours, theirs):
    prompt = ours.config.text(IDS[:4])
    tokens = torch.tensor([IDS[:4]])
    for _ in range(WRITTEN):
        likeliest = theirs(tokens, use_cache=False).logits[:, -1].argmax(-1)
        tokens = torch.cat((tokens, likeliest[:, None]), 1)
    assert written(ours, prompt) == ours.config.text(tokens[0, 4:].tolist())


def test_every_point_is_another_and_caches_what_it_says(ours):
    assert len({point.name for point in points()}) == len(points())
    assert points()[0].way == "whole"
    assert Fits(ours).made(points()[0]) is ours


def test_each_way_makes_a_model_of_its_cache(ours, tmp_path, monkeypatch):
    monkeypatch.setattr("training.real.fit.pieces", lambda *_: PIECES)
    monkeypatch.setattr("training.real.fit.ROTARY", ours.config.attention.d_head)
    fits = Fits(ours, tmp_path)
    made = fits.made(Point("absorbable", ours.config.attention.d_head + 3, KINDS, "even"))
    config = made.config.attention
    assert (config.d_latent_kv, config.d_rope) == (3, ours.config.attention.d_head)
    one, other = (
        fits.made(Point("latent", 4, (kind,), "even")).blocks[0].attention for kind in KINDS
    )
    torch.testing.assert_close(one.W_K, other.W_K)
    assert torch.linalg.matrix_rank(torch.cat((one.W_K.flatten(0, 1), one.W_V.flatten(0, 1)))) == 4
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"moments-{kind}-12.safetensors" for kind in sorted(KINDS)
    ]


def row(point, count):
    loss = {kind: [3.0 + number for number in range(count)] for kind in KINDS}
    own = {"way": point.way, "cached": point.cached, "fitted_to": [*point.fitted_to]}
    return own | {"weighing": point.weighing, "loss": loss, "written": " and"}


def test_a_run_that_was_stopped_goes_on_with_what_its_file_has(tmp_path):
    file, done = tmp_path / "one_cache.json", points()[:3]
    command.keep(ABOUT, {point.name: row(point, 4) for point in reversed(done)}, file)
    rows = command.kept(ABOUT, file)
    assert [command.found(rows, point) for point in points()[:4]] == [4, 4, 4, 0]
    assert rows == {point.name: row(point, 4) for point in done}
    assert [one.cached for one in OneCache.read(file).rows] == [point.cached for point in done]
    assert command.kept(ABOUT | {"model": "another"}, file) == {}
    assert json.loads(file.read_text("utf-8"))["versions"]["torch"] == torch.__version__


def test_a_point_goes_on_with_the_pieces_that_are_missing(monkeypatch, ours):
    asked = []
    monkeypatch.setattr(command, "fits", lambda: Fits(ours))
    monkeypatch.setattr(command, "pieces", lambda _model, _part, _kind, n: list(range(n)))
    monkeypatch.setattr(command, "losses", lambda _model, n: asked.append(n) or [9.0 for _ in n])
    monkeypatch.setattr(command, "written", lambda _model: "")
    point = points()[0]
    name, found = command.measure(point, 6, row(point, 4))
    assert name == "whole-384"
    assert asked == [[4, 5], [4, 5]]
    assert found["loss"] == {kind: [3.0, 4.0, 5.0, 6.0, 9.0, 9.0] for kind in KINDS}


def test_without_the_model_it_says_so_and_measures_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "facts", dict)
    monkeypatch.setattr(command, "MODEL", tmp_path / "none")
    with pytest.raises(SystemExit, match="Nothing is measured: "):
        command.main([])
