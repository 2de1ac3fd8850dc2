"""Work is cut up: every key once, every multiprocessor busy, nothing beyond a chip's memory."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mla_engine.kernels import plan

H200 = {"slots": 132, "shared": 232448}  # multiprocessors, bytes a program may have
WIDTHS = [(512 + 64), (256 + 32)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("looked_up", [False, True])
@pytest.mark.parametrize(("rows", "wanted"), [(1, 16), (16, 16), (17, 32), (32, 32), (33, 64)])
def test_rows_are_as_many_as_the_heads_fill(rows, wanted, looked_up, width):
    tile = plan.tile(rows, width, 2, H200["shared"], looked_up=looked_up)
    assert tile.rows == wanted
    assert tile.shared_bytes(width, 2) <= H200["shared"]
    assert tile.resident * tile.shared_bytes(width, 2) <= 228 * 1024


@pytest.mark.parametrize(("chip", "shared"), [("A100", 166912), ("L4", 101376), ("T4", 65536)])
def test_a_smaller_chip_gets_a_smaller_tile(chip, shared):
    tile = plan.tile(128, 576, 2, shared, looked_up=False)
    assert tile.rows < 64
    assert tile.shared_bytes(576, 2) <= shared


def test_a_chip_that_no_tile_fits_gets_none():
    assert plan.tile(128, 576, 2, 32768, looked_up=False) is None


def parts(length, keys_a_part, keys):
    """Return what the kernel makes of a cut: how many parts, and the keys of the largest."""
    count = max(1, math.ceil(length / keys_a_part))
    return count, math.ceil(math.ceil(length / count) / keys) * keys


@given(
    lengths=st.lists(st.integers(0, 50_000), min_size=1, max_size=20),
    blocks=st.integers(1, 8),
    keys=st.sampled_from([16, 32, 64]),
)
def test_the_parts_of_a_sequence_hold_all_its_keys(lengths, blocks, keys):
    cut = plan.keys_a_part(lengths, blocks, 132, keys)
    assert cut % keys == 0
    for length in lengths:
        count, size = parts(length, cut, keys)
        assert count * size >= length
        assert size <= cut


def work(lengths, cut, blocks, keys):
    """(programs, tiles of the largest)."""
    cuts = [parts(length, cut, keys) for length in lengths]
    return sum(count for count, _ in cuts) * blocks, max(size for _, size in cuts) // keys


def test_one_long_sequence_keeps_every_multiprocessor_busy():
    cut = plan.keys_a_part([32768], blocks=1, slots=264, keys=32)
    programs, tiles = work([32768], cut, 1, 32)
    assert 132 <= programs <= 264
    assert tiles * 264 <= 2.1 * 32768 / 32


def test_many_sequences_are_not_cut_where_that_gains_nothing():
    assert plan.keys_a_part([1024] * 264, blocks=1, slots=264, keys=32) >= 1024


def test_no_wave_is_left_almost_empty():
    """128 sequences in 264 slots: two parts each fill one wave, three would begin a second."""
    cut = plan.keys_a_part([4096] * 128, blocks=1, slots=264, keys=32)
    assert work([4096] * 128, cut, 1, 32) == (256, 64)


def test_a_long_sequence_beside_short_ones_does_not_wait_alone():
    lengths = [4641, 45118, 1730, 1696]
    cut = plan.keys_a_part(lengths, blocks=2, slots=132, keys=64)
    programs, tiles = work(lengths, cut, 2, 64)
    ideal = 2 * sum(math.ceil(length / 64) for length in lengths) / 132
    assert tiles * math.ceil(programs / 132) < 1.6 * ideal
