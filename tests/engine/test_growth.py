"""The memory of a window of queries grows as the context does; a trace holds what it returns."""

import pytest
import torch

from mla_engine import PRESETS, LatentCache, MultiHeadLatentAttention, budget
from tests.engine.samples import counted

LITE = PRESETS["deepseek-v2-lite"].config
WINDOW = 256
FORMS = ["forward", "forward_absorbed"]


def taken(form, tokens):
    """FLOPs and peak bytes of one head's last queries, with the latents given, on meta."""
    layer = MultiHeadLatentAttention(LITE, heads=[0], device="meta")
    h = torch.empty(1, tokens, LITE.d_model, device="meta")
    latents = LatentCache.empty(LITE, device="meta", capacity=tokens).with_zeros(tokens)
    rows = slice(tokens - WINDOW, tokens)
    run = lambda: getattr(layer, form)(h, queries=rows, latents=latents)  # noqa: E731
    return counted(run), budget.peak_bytes(run)


@pytest.mark.parametrize("form", FORMS)
def test_a_window_of_queries_grows_linearly_with_the_context(form):
    contexts = [4096, 8192, 16_384, 32_768]
    flops, peaks = zip(*(taken(form, tokens) for tokens in contexts), strict=True)
    for grown in (flops, peaks):
        each = [(grown[i + 1] - grown[i]) / contexts[i] for i in range(3)]
        assert each[0] == each[1] == each[2] > 0
    assert peaks[-1] < budget.GIB


@pytest.mark.parametrize("form", FORMS)
def test_a_traced_run_holds_little_beside_what_it_returns(form):
    layer = MultiHeadLatentAttention(LITE, device="meta")
    h, kept = torch.empty(1, 512, LITE.d_model, device="meta"), []
    peak = budget.peak_bytes(lambda: kept.append(getattr(layer, form)(h)))
    trace = kept[0]
    tensors = [getattr(trace, name) for name in (*trace.steps, "mask") if name != "h"]
    returned = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    assert peak <= 1.2 * returned
