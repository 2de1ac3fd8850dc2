"""Every form as one graph of torch.compile, and exported, gives what it gives uncompiled."""

from dataclasses import fields, replace

import pytest
import torch

from mla_engine import budget
from tests.engine.indexed_samples import DSA
from tests.engine.samples import hidden
from tests.engine.test_decode import MLA, WAYS
from tests.engine.test_longrope import SCALING
from tests.engine.test_selection import build

FORMS = {
    "expanded": (MLA, "forward"),
    "absorbed": (MLA, "forward_absorbed"),
    "indexed": (DSA, "forward"),
    "indexed, absorbed": (DSA, "forward_absorbed"),
    "LongRoPE, a limit": (
        replace(MLA, rope=replace(MLA.rope, scaling=SCALING), position_limit=99), "forward",
    ),
} | {
    name: (way.config, "forward") for name, way in WAYS.items() if name.startswith("grouped")
}  # fmt: skip
INDEXER = {"W_IQ", "W_IK", "W_IW", "k_I_norm", "b_IK"}
forms = pytest.mark.parametrize(("config", "form"), FORMS.values(), ids=FORMS)
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
stricts = pytest.mark.parametrize("strict", [False, True], ids=["traced", "strict"])
# A cache that is written in place asks more of what compiles it than one that grows anew.
compilers = pytest.mark.parametrize(
    ("capacity", "backend"), [(None, "eager"), (9, "aot_eager")], ids=["growing", "reserved"]
)
exports = pytest.mark.parametrize(
    ("capacity", "strict"), [(None, True), (9, False)], ids=["growing, strict", "reserved, traced"]
)


class Call(torch.nn.Module):
    """A call of a layer as a module, which is what torch exports."""

    def __init__(self, layer, call):
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, *args):
        return self.call(self.layer, *args)


def in_one_graph(call, backend="aot_eager"):
    torch._dynamo.reset()
    return torch.compile(call, fullgraph=True, backend=backend)


def assert_same(trace, wanted):
    close = {"rtol": 1e-12, "atol": 1e-12, "equal_nan": True}
    assert type(trace) is type(wanted)
    for field in fields(wanted):
        one, other = getattr(trace, field.name), getattr(wanted, field.name)
        assert (one is None) == (other is None), field.name
        if other is not None:
            torch.testing.assert_close(one, other, msg=field.name, **close)


@pytest.fixture(autouse=True)
def unmeasured(request, monkeypatch):
    """What is compiled or exported estimates nothing: that would be traced, too."""
    run = budget.course

    def course(call):
        assert not torch.compiler.is_compiling()
        return run(call)

    monkeypatch.setattr(budget, "course", course)


@compilers
@ways
def test_a_step_is_one_graph(way, capacity, backend):
    layer, h = way.layer(), hidden(2, 7, 10)
    step = in_one_graph(lambda h, cache: way.step(layer, h, cache), backend)
    trace, cache = step(h[:, :6], way.empty(capacity=capacity))
    wanted, held = way.step(layer, h[:, :6], way.empty(capacity=capacity))
    assert_same(trace, wanted)
    last, longer = step(h[:, 6:], cache)
    assert_same(last, way.step(layer, h[:, 6:], held)[0])
    assert (longer.length, longer.reserved_nbytes > longer.nbytes) == (7, capacity is not None)


@forms
def test_a_forward_call_is_one_graph_and_so_are_its_gradients(config, form):
    layer = build(config).requires_grad_(True)
    call, weights = getattr(layer, form), dict(layer.named_parameters())
    h, positions = hidden(2, 6, 10).requires_grad_(True), torch.arange(30, 36)
    trace, wanted = in_one_graph(call)(h, positions=positions), call(h, positions=positions)
    assert_same(trace, wanted)

    def gradients(u):  # 0 of what only chooses
        leaves = (h, *weights.values())
        return torch.autograd.grad(u.square().sum(), leaves, materialize_grads=True)

    compiled, plain = gradients(trace.u), gradients(wanted.u)
    for name, one, other in zip(("h", *weights), compiled, plain, strict=True):
        assert bool(other.any()) == (name not in INDEXER), name
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10, msg=name)


@stricts
@forms
def test_a_forward_call_is_exported(config, form, strict):
    layer, h = build(config), hidden(2, 6, 10)
    call = getattr(type(layer), form)
    exported = torch.export.export(Call(layer, call), (h,), strict=strict)
    other = hidden(2, 6, 10, seed=8)
    assert_same(exported.module()(other), call(layer, other))


@exports
@ways
def test_a_step_is_exported(way, capacity, strict):
    layer, h = way.layer(), hidden(2, 7, 10)
    _, cache = way.step(layer, h[:, :6], way.empty(capacity=capacity))
    call = Call(layer, way.step)
    exported = torch.export.export(call, (h[:, 6:], cache), strict=strict)
    trace, longer = exported.module()(h[:, 6:], cache)
    assert_same(trace, way.step(layer, h[:, 6:], cache)[0])
    assert (type(longer), longer.length, longer.config) == (way.cache, 7, way.config)
