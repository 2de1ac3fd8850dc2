"""The kernel on a CUDA device, at real sizes, against float64: FlashMLA's cases and bounds."""

import pytest
import torch

from mla_engine.kernels import absorbed_attention, by_torch, why_not
from tests.kernels.samples import assert_close, case

pytestmark = pytest.mark.gpu
DTYPES = [torch.bfloat16, torch.float16]
MIXED = (4641, 0, 1, 1730, 1696, 20)


def assert_kernel(one, dtype, keys_a_part=None):
    one = one.to(dtype, "cuda")
    assert why_not(*one.asked[:3]) is None
    answer = absorbed_attention(*one.asked, keys_a_part)
    assert answer[0].dtype == dtype
    assert_close(answer, by_torch.attend(*one.to(torch.float64, "cuda").asked))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("queries", [1, 2, 4])
@pytest.mark.parametrize("heads", [1, 3, 9, 16, 32, 63, 126, 128])
def test_heads_and_query_tokens_in_any_number(heads, queries, dtype):
    assert_kernel(case(heads, MIXED, queries, c=512, r=64), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("c", "r"), [(256, 32), (512, 0)])
def test_other_widths(c, r, dtype):
    assert_kernel(case(64, MIXED, c=c, r=r), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("heads", [9, 126])
@pytest.mark.parametrize("page_keys", [16, 64])
def test_pages(page_keys, heads, dtype):
    assert_kernel(case(heads, MIXED, 2, c=512, r=64).paged(page_keys), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("heads", [9, 32, 126])
@pytest.mark.parametrize("page_keys", [None, 64])
def test_chosen_keys(page_keys, heads, dtype):
    one = case(heads, (0, 40, 4096, 9000), 2, c=512, r=64).sparse(2048)
    assert_kernel(one.paged(page_keys) if page_keys else one, dtype)


@pytest.mark.parametrize("keys_a_part", [64, 1024, 10**6])
def test_parts_of_any_size(keys_a_part):
    assert_kernel(case(16, (32768, 5), c=512, r=64), torch.bfloat16, keys_a_part)


def test_many_sequences():
    assert_kernel(case(16, [1100 + 7 * i for i in range(128)], c=512, r=64), torch.bfloat16)


def test_a_dtype_that_it_cannot_take_runs_in_torch_there():
    one = case(3, (40, 0), c=512, r=64).to(torch.float32, "cuda")
    assert "dtype torch.float32" in why_not(*one.asked[:3])
    assert_close(absorbed_attention(*one.asked), by_torch.attend(*one.to(torch.float64).asked))
