"""A long text's map, pooled and in part, against the whole map of one call."""

import pytest
import torch

from mla_engine import GroupedConfig, IndexedConfig, LatentConfig, RopeConfig, mechanisms
from mla_engine.budget import PeakBytes
from mla_engine.studies import long_text

CONFIGS = (
    LatentConfig(d_model=24, n_heads=3, d_head=8, d_latent_kv=12, d_rope=4, d_latent_q=10),
    GroupedConfig(d_model=24, n_heads=4, n_kv_heads=2, d_head=8, sliding_window=100),
    GroupedConfig(d_model=24, n_heads=3, n_kv_heads=3, d_head=8, rope=RopeConfig(theta=500.0)),
    IndexedConfig(
        d_model=24, n_heads=3, d_head=8, d_latent_kv=12, d_rope=4, d_latent_q=10,
        n_index_heads=4, d_index=8, index_topk=50,
    ),
)  # fmt: skip


def read(config, tokens, head=1):
    """The layer, what enters it, its map and how far it was told to have come."""
    layer = mechanisms.of(config).layer(config, heads=[head], dtype=torch.float64)
    h = torch.randn(1, tokens, config.d_model, generator=torch.manual_seed(3)).double()
    told = []

    def hidden(a, b):
        return h[:, a:b]

    return layer, h, hidden, long_text.long_map(layer, hidden, tokens, told.append), told


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
@pytest.mark.parametrize("tokens", [1, 255, 256, 700, 1025])
def test_pools_the_whole_map(config, tokens):
    layer, h, _, found, told = read(config, tokens)
    whole = layer(h).attention[0, 0]
    block = found.block
    (wanted,) = torch.nn.functional.max_pool2d(whole[None], block, ceil_mode=True)
    torch.testing.assert_close(found.largest.to(wanted), wanted, rtol=0, atol=1e-12)
    assert max(found.largest.shape) <= long_text.SIDE
    assert block * found.largest.shape[0] >= tokens > block * (found.largest.shape[0] - 1)
    assert told[-1] == found.tokens == tokens
    assert told == sorted(set(told))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
@pytest.mark.parametrize(("first", "last"), [(0, 3), (130, 190), (690, 700)])
def test_any_rows_are_those_of_the_whole_map(config, first, last):
    layer, h, hidden, found, _ = read(config, 700)
    whole = layer(h).attention[0, 0]
    kept = {name: buffer.clone() for name, buffer in found.cache.buffers.items()}
    part = long_text.rows(layer, hidden, found, first, last)
    torch.testing.assert_close(part, whole[first:last, :last], rtol=0, atol=1e-12)
    assert found.tokens == 700
    for name, buffer in found.cache.buffers.items():
        assert torch.equal(buffer, kept[name])


def test_memory_grows_with_the_text_and_not_with_its_square():
    peaks = []
    for tokens in (2048, 4096, 8192):
        layer = mechanisms.of(CONFIGS[0]).layer(CONFIGS[0], heads=[0])
        with PeakBytes() as meter:
            long_text.long_map(layer, lambda a, b: torch.ones(1, b - a, CONFIGS[0].d_model), tokens)
        peaks.append(meter.peak)
    first, second = peaks[1] - peaks[0], peaks[2] - peaks[1]
    assert second == pytest.approx(2 * first, rel=0.05)


def test_a_layer_of_more_heads_is_refused():
    layer = mechanisms.of(CONFIGS[0]).layer(CONFIGS[0])
    with pytest.raises(ValueError, match="3 heads"):
        long_text.long_map(layer, lambda a, b: torch.ones(1, b - a, 24), 10)
