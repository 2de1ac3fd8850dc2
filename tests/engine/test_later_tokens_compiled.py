"""A later token that is NaN or Inf, in graphs of torch.compile and torch.export."""

import pytest
import torch

from tests.engine.kinds import GQA, MLA, PLAIN_MLA, WINDOW, layer_of, ways_of
from tests.engine.test_compiled import Call, assert_same, in_one_graph
from tests.engine.test_later_tokens import BAD, broken, forms

DENSE = ways_of({"MLA": MLA, "MLA, plain": PLAIN_MLA, "GQA": GQA, "MQA, window": WINDOW})


@forms
def test_one_graph_gives_the_same_and_of_whole_numbers_has_no_product_more(config, form):
    call = getattr(layer_of(config), form)
    graph = in_one_graph(call)
    for value in (0.5, *BAD):
        assert_same(graph(broken(value)), call(broken(value)))
    whole, nan = broken(0.5), broken(torch.nan)
    assert products(graph, whole) == products(call, whole) < products(graph, nan)


@forms
def test_an_exported_graph_gives_the_same(config, form):
    layer = layer_of(config)
    call = getattr(type(layer), form)
    exported = torch.export.export(Call(layer, call), (broken(0.5),)).module()
    for value in (0.5, *BAD):
        assert_same(exported(broken(value)), call(layer, broken(value)))


@pytest.mark.parametrize("way", DENSE.values(), ids=DENSE)
def test_a_step_in_one_graph_gives_the_same(way):
    layer = way.layer()
    _, held = way.step(layer, broken(0.5)[:, :2], way.empty())
    step = in_one_graph(lambda h, cache: way.step(layer, h, cache))
    for value in (0.5, *BAD):
        h = broken(value)[:, 2:]
        assert_same(step(h, held)[0], way.step(layer, h, held)[0])


def products(call, h):
    """Matrix products that the call makes."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        call(h)
    return sum(one.count for one in seen.key_averages() if one.key in ("aten::bmm", "aten::mm"))
