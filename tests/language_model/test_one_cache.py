"""A measurement of a real model, against the formulas of a textbook in numpy."""

import numpy as np
import pytest

from mla_engine.language_model.one_cache import OneCache
from tests.engine.samples import refused
from tests.one_cache_rows import KINDS, LOSSES, rows, write


@pytest.fixture
def found(tmp_path):
    return OneCache.read(write(tmp_path / "one_cache.json"))


def ends(samples):
    """exp of the mean of the samples' means, and of two standard errors to either side."""
    means = [np.mean(sample) for sample in samples]
    error = np.sqrt(sum(np.var(s, ddof=1) / len(s) for s in samples)) / len(samples)
    return np.exp(np.mean(means) + np.array([0, -2, 2]) * error)


@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[1:], KINDS])
def test_perplexity_is_of_the_mean_loss_with_two_standard_errors(found, kinds):
    for (way, cached, fitted), losses in LOSSES.items():
        spread = found.row(way, cached, fitted).perplexity(kinds)
        samples = [losses[KINDS.index(kind)] for kind in kinds]
        np.testing.assert_allclose([spread.mean, spread.least, spread.most], ends(samples))


def test_two_rows_are_compared_piece_by_piece(found):
    one, other = found.row("latent", 128), found.row("whole", 384)
    times = one.times(other, KINDS)
    pairs = zip(LOSSES["latent", 128, KINDS], LOSSES["whole", 384, ()], strict=True)
    wanted = ends([np.subtract(*pair) for pair in pairs])
    np.testing.assert_allclose([times.mean, times.least, times.most], wanted)
    apart = one.perplexity(KINDS).most / other.perplexity(KINDS).least
    assert times.most < apart, "the same pieces are hard for both"


def test_a_line_holds_what_was_fitted_to_all_kinds_and_no_weighing_that_was_tried(found):
    assert found.sizes == [128, 192, 384]
    assert list(found.line("latent")) == [128, 192]
    assert found.row("latent", 128).written == " latent 128"
    assert found.row("absorbable", 192) is None
    assert found.weighing == "even"
    assert found.pieces == 3


@pytest.mark.parametrize(
    "changed",
    [{"points": {"a": {"way": "latent"}}}, {"points": []}, {"points": {"a": [1]}}],
    ids=["a row without a loss", "no rows", "a list"],
)
def test_a_damaged_file_is_refused(tmp_path, changed):
    with refused("is damaged"):
        OneCache.read(write(tmp_path / "one_cache.json", **changed))


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    file = write(tmp_path / "one_cache.json")
    file.write_text(file.read_text("utf-8")[:500], "utf-8")
    with refused("delete it and run make measure-real"):
        OneCache.read(file)


def test_nothing_measured_is_said(tmp_path):
    with refused("nothing was measured"):
        OneCache.read(tmp_path / "one_cache.json")
    begun = {name: row | {"loss": {kind: [3.0] for kind in KINDS}} for name, row in rows().items()}
    with refused("nothing was measured"):
        OneCache.read(write(tmp_path / "one_cache.json", points=begun))
