"""The caches of several GPUs: the bytes of caches that layers of only their heads fill."""

from itertools import pairwise

import pytest
import torch

from kvcount import Layer, Model, Storage
from mla_engine import GroupedConfig, LatentConfig, costs, mechanisms
from mla_engine.costs import Serving, rank_cache_elements
from tests.engine.kinds import DSA, GLM, KDA, OF_DELTA, OF_POOLED
from tests.engine.samples import hidden

pytestmark = pytest.mark.usefixtures("unmeasured")

GQA = GroupedConfig(d_model=10, n_heads=6, n_kv_heads=3, d_head=4)
MLA = LatentConfig(d_model=10, n_heads=6, d_head=4, d_latent_kv=5, d_rope=2)
CONFIGS = {
    "GQA": GQA,
    "MLA": MLA,
    "DSA": DSA,
    "pooled index": GLM,
    **OF_POOLED,
    **OF_DELTA,
}
WIDTHS = {torch.float32: "fp32", torch.bfloat16: "bf16"}


def shares(heads: int, ranks: int) -> list[range]:
    """Neighbouring heads, the first ranks one more where they do not come out even."""
    each, more = divmod(heads, ranks)
    ends = [rank * each + min(rank, more) for rank in range(ranks + 1)]
    return [range(*pair) for pair in pairwise(ends)]


def filled(config, heads: range, tokens: int, dtype: torch.dtype) -> int:
    """Bytes of the cache of a layer that has only these heads, after so many steps."""
    mechanism = mechanisms.of(config)
    layer = mechanism.layer(config, seed=2, heads=heads, dtype=dtype)
    cache = layer.empty_cache(mechanism.caches[0])
    for n in range(tokens):
        _, cache = layer.decode(hidden(1, 1, config.d_model, n, dtype), cache)
    assert cache.length == tokens
    return sum(tensor[:, : _used(cache, tensor)].nbytes for tensor in cache.buffers.values())


def _used(cache, tensor) -> int:
    return cache.length if cache.grows_evenly and not cache.fixed else tensor.shape[1]


def alone(config, caches: int, ranks: int, usual: str = "bf16") -> Serving:
    """A model of such layers without its weights; what waits is stored as all else."""
    storage = Storage(usual, of_part={"conv": usual, "buffer": usual})
    model = costs.model(((config, caches),))
    return Serving(model=model, total_parameters=0, gpu_bytes=1e9, ranks=ranks, storage=storage)


@pytest.mark.parametrize("dtype", WIDTHS, ids=str)
@pytest.mark.parametrize("tokens", [0, 1, 4, 11])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_fullest_gpu_holds_what_the_caches_of_its_heads_hold(config, tokens, dtype):
    for ranks in range(1, config.n_heads + 1):
        held = [filled(config, heads, tokens, dtype) for heads in shares(config.n_heads, ranks)]
        assert alone(config, 3, ranks, WIDTHS[dtype]).held_bytes(tokens, batch=2) == 6 * max(held)


@pytest.mark.parametrize("config", OF_POOLED.values(), ids=OF_POOLED)
def test_one_vector_for_all_heads_is_whole_on_every_gpu(config):
    one, four = (alone(config, 1, ranks) for ranks in (1, 4))
    assert four.held_bytes(23) == one.held_bytes(23) > 0
    assert four.token_bytes == one.token_bytes


def test_states_go_with_their_heads():
    one, three = (alone(KDA, 1, ranks) for ranks in (1, 3))
    assert 3 * three.held_bytes(23) == one.held_bytes(23) > 0
    assert rank_cache_elements(KDA, 3) == 0


def test_a_cache_that_is_empty_leaves_room_for_any_number_of_sequences():
    nothing = Model(model_type=None, layers=(Layer("none"),), max_context=None, n_heads=1)
    on = Serving(model=nothing, total_parameters=0, gpu_bytes=1.0)
    assert on.held_bytes(100) == 0
    assert on.largest_batch(100) == on.longest_context() == 2**50
