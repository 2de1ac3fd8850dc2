"""The kernel, in Triton's interpreter, against the torch form in float64."""

from dataclasses import replace

import pytest
import torch

from mla_engine.kernels import by_torch
from tests.kernels.samples import assert_close, case

HALF, SINGLE = torch.float16, torch.float32
MIXED = (37, 0, 1, 70)  # an empty sequence, one of a single key, a tail of a tile


def truth(one):
    return by_torch.attend(*one.to(torch.float64).asked)


def assert_kernel(interpreter, one, dtype, keys_a_part=None):
    one = one.to(dtype)
    answer = interpreter(*one.asked, keys_a_part)
    assert answer[0].dtype == dtype
    assert_close(answer, truth(one))


@pytest.mark.parametrize("dtype", [HALF, SINGLE], ids=["half", "single"])
@pytest.mark.parametrize("heads", [1, 3, 9, 63])
def test_heads_in_any_number_over_uneven_sequences(interpreter, heads, dtype):
    assert_kernel(interpreter, case(heads, MIXED), dtype)


def test_126_heads(interpreter):
    assert_kernel(interpreter, case(126, (0, 37)), HALF)


@pytest.mark.parametrize("dtype", [HALF, SINGLE], ids=["half", "single"])
@pytest.mark.parametrize("keys_a_part", [1, 16, 32, 48, 1000])
def test_parts_of_any_size_add_up(interpreter, keys_a_part, dtype):
    assert_kernel(interpreter, case(3, MIXED, queries=2), dtype, keys_a_part)


@pytest.mark.parametrize("keys_a_part", [16, None], ids=["parts", "whole"])
@pytest.mark.parametrize("queries", [2, 5])
def test_a_query_does_not_see_the_tokens_after_it(interpreter, queries, keys_a_part):
    """A sequence may be shorter than its query tokens: the first of them see nothing."""
    assert_kernel(interpreter, case(9, (40, 0, 3, 17), queries=queries), SINGLE, keys_a_part)


@pytest.mark.parametrize("dtype", [HALF, SINGLE], ids=["half", "single"])
@pytest.mark.parametrize("page_keys", [1, 7, 16, 64])
def test_pages_hold_the_same_keys(interpreter, page_keys, dtype):
    one = case(3, MIXED, queries=2)
    assert_close(truth(one.paged(page_keys)), truth(one))
    assert_kernel(interpreter, one.paged(page_keys), dtype, keys_a_part=32)


@pytest.mark.parametrize("dtype", [HALF, SINGLE], ids=["half", "single"])
@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("page_keys", [None, 8])
def test_chosen_keys_alone_are_read(interpreter, page_keys, queries, dtype):
    one = case(9, MIXED, queries=queries).sparse(24)
    one = one.paged(page_keys) if page_keys else one
    assert_kernel(interpreter, one, dtype, keys_a_part=16)
    assert_kernel(interpreter, one, dtype)


def test_no_key_chosen_is_no_key_seen(interpreter):
    one = case(3, (20, 4), queries=2).sparse(8).to(SINGLE)
    one.chosen.fill_(-1)
    o, lse = interpreter(*one.asked)
    assert not o.any()
    assert bool((lse == torch.inf).all())


@pytest.mark.parametrize("keys_a_part", [16, 1000], ids=["parts", "whole"])
def test_a_broken_latent_shows_in_o_and_in_the_logarithm(interpreter, keys_a_part):
    """It shows in its own sequence only; torch's own logsumexp says which."""
    one = case(3, (20, 37, 0), queries=2).to(SINGLE)
    one.c_KV[1, 18, 5] = torch.nan
    broken = torch.tensor([False, True, False])
    assert torch.equal(truth(one)[1].isnan().all(-1).all(-1), broken)
    for answer, true in zip(interpreter(*one.asked, keys_a_part), truth(one), strict=True):
        assert torch.equal(answer.isnan().flatten(1).any(-1), broken)
        assert torch.equal(answer.isnan(), true.isnan())
        assert torch.equal(answer.isinf(), true.isinf())


def test_a_key_that_is_not_chosen_changes_nothing(interpreter):
    one = case(3, (20, 9)).to(SINGLE)
    one.k_R.nan_to_num_(0.5)
    chosen = torch.tensor([[[4, 0, -1, 13, 13]], [[8, 2, 40, -7, 3]]], dtype=torch.int32)
    one = replace(one, chosen=chosen)
    before = interpreter(*one.asked)
    hidden = torch.ones(one.c_KV.shape[:2], dtype=torch.bool)
    hidden[0, [4, 0, 13]], hidden[1, [8, 2, 3]] = False, False
    one.c_KV[hidden], one.k_R[hidden] = torch.nan, torch.nan
    after = interpreter(*one.asked)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(("c", "r"), [(512, 64), (256, 32), (64, 0)])
def test_published_widths(interpreter, c, r):
    assert_kernel(interpreter, case(3, (33, 5), queries=2, c=c, r=r), HALF)


def test_latent_and_rotary_key_may_be_views_of_one_tensor(interpreter):
    one = case(3, MIXED).to(SINGLE)
    both = torch.cat((one.c_KV, one.k_R), dim=-1)
    views = replace(one, c_KV=both[..., :32], k_R=both[..., 32:])
    assert_close(interpreter(*views.asked), truth(one))
