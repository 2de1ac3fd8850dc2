"""The parts of the logits' variance against numpy, row by row and head by head."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mla_engine import GroupedConfig, GroupedQueryAttention, MultiHeadLatentAttention
from mla_engine.claims.layers import NORMED
from mla_engine.studies.logit_shares import logit_shares, table
from tests.engine.samples import hidden, randomized, refused


def traces(config=NORMED, tokens=7, **given):
    mla = randomized(MultiHeadLatentAttention(config, seed=2, dtype=torch.float64))
    h = hidden(2, tokens, config.d_model)
    return mla(h, **given), mla.forward_absorbed(h, **given)


def by_loops(trace, head):
    """var(C), var(R), cov(C, R) with every visible row centred by itself."""
    pairs = []
    for batch in range(trace.scores_C.shape[0]):
        for row, seen in enumerate(trace.mask.numpy()):
            parts = [trace.scores_C, trace.scores_R]
            rows = [part[batch, head, row].numpy()[seen] for part in parts]
            pairs += list(zip(*(values - values.mean() for values in rows), strict=True))
    C, R = np.array(pairs).T
    return (C * C).mean(), (R * R).mean(), (C * R).mean()


@pytest.mark.parametrize("given", [{}, {"queries": slice(3, 6), "heads": [1, 0]}])
@pytest.mark.parametrize("form", [0, 1], ids=["expanded", "absorbed"])
def test_equals_a_loop_over_rows(form, given):
    trace = traces(**given)[form]
    found = logit_shares(trace)
    for head in range(trace.scores_C.shape[1]):
        got = (found.variance_content, found.variance_position, found.covariance)
        assert [float(x[head]) for x in got] == pytest.approx(by_loops(trace, head), rel=1e-10)
    torch.testing.assert_close(
        found.content + found.position + found.shared, torch.ones(len(found.content)).double()
    )
    assert found.variance.dtype == torch.float64


def test_the_balance_leaves_the_covariance_out():
    trace = traces()[0]
    shares = []
    for head in range(trace.scores_C.shape[1]):
        content, position, _ = by_loops(trace, head)
        shares.append(position / (content + position))
    assert logit_shares(trace).balance.numpy() == pytest.approx(np.array(shares), rel=1e-10)
    opposed = replace(trace, scores_C=-2 * trace.scores_R)  # content 4, position 1, covariance -2
    found = logit_shares(opposed)
    torch.testing.assert_close(found.balance, torch.full_like(found.balance, 0.2))
    torch.testing.assert_close(found.position, torch.ones_like(found.position))


def test_a_layer_without_rotary_dimensions_is_content_alone():
    found = logit_shares(traces(replace(NORMED, d_rope=0, rope=None))[0])
    assert (found.content == 1).all()
    assert (found.position == 0).all()
    assert (found.balance == 0).all()


def test_a_table_names_layers_and_heads():
    first, second = (logit_shares(trace) for trace in traces())
    rows = table({4: first, 9: second})
    heads = len(first.content)
    assert [(row.layer, row.head) for row in rows] == [(n, h) for n in (4, 9) for h in range(heads)]
    assert rows[1].position == float(first.position[1])
    assert rows[heads].content == float(second.content[0])
    assert all(row.content + row.position + row.shared == pytest.approx(1) for row in rows)


def test_refuses_what_has_no_two_parts_or_no_second_key():
    config = GroupedConfig(d_model=8, n_heads=2, n_kv_heads=1, d_head=4)
    grouped = GroupedQueryAttention(config)(hidden(1, 3, 8, dtype=torch.float32))
    with refused("trace", "LatentTrace"):
        logit_shares(grouped)
    with refused("two keys", "2 tokens"):
        logit_shares(traces(tokens=1)[0])
