"""Gradients of a decoded text are those of the text run at once, whatever the cache reserved."""

import pytest
import torch

from tests.engine.kinds import WAYS, only_chooses, ways
from tests.engine.samples import hidden

pytestmark = pytest.mark.usefixtures("unmeasured")
IN_ROWS = {name: way for name, way in WAYS.items() if way.in_rows}
in_rows = pytest.mark.parametrize("way", IN_ROWS.values(), ids=IN_ROWS)
TOKENS = 6


def gradients(layer, h, run):
    layer.zero_grad()
    run(layer, h).square().sum().backward()
    return {"h": h.grad} | {name: weight.grad for name, weight in layer.named_parameters()}


def decoded(way, cache):
    """u of all tokens, some at once and then one by one."""

    def run(layer, h):
        held, parts = cache, []
        for rows in (slice(0, 3), slice(3, 4), slice(4, 5), slice(5, 6)):
            trace, held = way.step(layer, h[:, rows], held)
            parts.append(trace.u)
        return torch.cat(parts, dim=1)

    return run


def trained(way):
    return way.layer().requires_grad_(True), hidden(2, TOKENS, 10).requires_grad_(True)


@pytest.mark.parametrize("capacity", [None, TOKENS, 16], ids=["growing", "just enough", "room"])
@ways
def test_gradients_flow_through_what_is_cached(way, capacity):
    wanted = gradients(*trained(way), lambda layer, h: layer(h).u)
    found = gradients(*trained(way), decoded(way, way.empty(capacity)))
    assert found.keys() == wanted.keys()
    for name, gradient in found.items():
        if only_chooses(name):
            assert gradient is wanted[name] is None
            continue
        assert gradient.abs().max() > 0, name
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-10, atol=1e-10, msg=name)


@ways
def test_what_gradients_need_is_not_overwritten_by_a_step_without(way):
    layer, h = trained(way)
    _, stem = way.step(layer, h[:, :3], way.empty(16))
    trace, held = way.step(layer, h[:, 3:4], stem)
    with torch.no_grad():
        way.step(layer, h[:, 4:], held)
    trace.u.sum().backward()
    assert h.grad[:, :3].abs().max() > 0


@in_rows
def test_a_reserve_is_copied_for_gradients_alone(way):
    layer, h = trained(way)
    empty = way.empty(16)
    assert way.step(layer, h[:, :3], empty)[1].storage is not empty.storage
    with torch.no_grad():
        assert way.step(layer, h[:, :3], empty)[1].storage is empty.storage
    assert way.step(way.layer(), hidden(2, 3, 10), empty.rewind(0))[1].storage is empty.storage
