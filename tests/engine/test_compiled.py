"""Every form as one graph of torch.compile, and exported, gives what it gives uncompiled."""

from dataclasses import fields, replace

import pytest
import torch

from mla_engine import budget
from tests.engine.kinds import DSA, GQA, MLA, WAYS, WINDOW, layer_of, ways
from tests.engine.samples import hidden
from tests.engine.test_longrope import SCALING

FORMS = {
    "expanded": (MLA, "forward"),
    "absorbed": (MLA, "forward_absorbed"),
    "indexed": (DSA, "forward"),
    "indexed, absorbed": (DSA, "forward_absorbed"),
    "LongRoPE, a limit": (
        replace(MLA, rope=replace(MLA.rope, scaling=SCALING), position_limit=99), "forward",
    ),
    "GQA": (GQA, "forward"),
    "MQA, window": (WINDOW, "forward"),
}  # fmt: skip
INDEXER = {"W_IQ", "W_IK", "W_IW", "k_I_norm", "b_IK"}
forms = pytest.mark.parametrize(("config", "form"), FORMS.values(), ids=FORMS)
stricts = pytest.mark.parametrize("strict", [False, True], ids=["traced", "strict"])
# A cache that is written in place asks more of what compiles it than one that is made longer.
IN_PLACE = ("MLA, absorbed, latent", "MLA, expanded, kv", "MQA, window, expanded, kv")
IN_PLACE += ("DSA, absorbed, indexed", "CSA, pooled, pooled", "GLM, absorbed, pooled_index")
IN_PLACE += ("KDA, recurrent, delta",)
steps = pytest.mark.parametrize(
    ("way", "capacity", "backend"),
    [(way, None, "eager") for way in WAYS.values()]
    + [(WAYS[name], 14, "aot_eager") for name in IN_PLACE],
    ids=[*WAYS, *(f"{name}, reserved" for name in IN_PLACE)],
)
exports = pytest.mark.parametrize(
    ("capacity", "strict"), [(None, True), (14, False)], ids=["growing, strict", "reserved, traced"]
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
    """Refuse estimates: in what is compiled or exported they would be traced, too."""
    run = budget.course

    def course(call):
        assert not torch.compiler.is_compiling()
        return run(call)

    monkeypatch.setattr(budget, "course", course)


@steps
def test_a_step_is_one_graph(way, capacity, backend):
    layer, h = way.layer(), hidden(2, 12, 10)
    step = in_one_graph(lambda h, cache: way.step(layer, h, cache), backend)
    trace, cache = step(h[:, :11], way.empty(capacity))
    wanted, held = way.step(layer, h[:, :11], way.empty(capacity))
    assert_same(trace, wanted)
    last, longer = step(h[:, 11:], cache)
    assert_same(last, way.step(layer, h[:, 11:], held)[0])
    room = capacity is not None and way.in_rows
    assert (longer.length, longer.reserved_nbytes > longer.nbytes) == (12, room)


@forms
def test_a_forward_call_is_one_graph_and_so_are_its_gradients(config, form):
    layer = layer_of(config).requires_grad_(True)
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
    layer, h = layer_of(config), hidden(2, 6, 10)
    call = getattr(type(layer), form)
    exported = torch.export.export(Call(layer, call), (h,), strict=strict)
    other = hidden(2, 6, 10, seed=8)
    assert_same(exported.module()(other), call(layer, other))


@exports
@ways
def test_a_step_is_exported(way, capacity, strict):
    layer, h = way.layer(), hidden(2, 12, 10)
    _, cache = way.step(layer, h[:, :11], way.empty(capacity))
    call = Call(layer, way.step)
    exported = torch.export.export(call, (h[:, 11:], cache), strict=strict)
    trace, longer = exported.module()(h[:, 11:], cache)
    assert_same(trace, way.step(layer, h[:, 11:], cache)[0])
    assert (type(longer), longer.length, longer.config) == (way.cache, 12, way.config)
