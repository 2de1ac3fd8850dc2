"""The data flow: layers by depth, arrows that cross no box, cached tensors marked."""

import itertools
from typing import NamedTuple

import pytest

from mla_engine.figures import COLOURS, FlowNode, data_flow
from mla_engine.figures.flow import BOX_HEIGHT, BOX_WIDTH, CACHED_MARK, LAYER_HEIGHT
from mla_engine.figures.layout import arrange

MLA = {
    "h": (),
    "c_Q_pre": ("h",),
    "c_Q": ("c_Q_pre",),
    "q_C": ("c_Q",),
    "q_R_pre": ("c_Q",),
    "q_R": ("q_R_pre",),
    "c_KV_pre": ("h",),
    "c_KV": ("c_KV_pre",),
    "k_C": ("c_KV",),
    "v_C": ("c_KV",),
    "k_R_pre": ("h",),
    "k_R": ("k_R_pre",),
    "scores_C": ("q_C", "k_C"),
    "scores_R": ("q_R", "k_R"),
    "attention": ("scores_C", "scores_R"),
    "o": ("attention", "v_C"),
    "u": ("o",),
}
MHA = {
    "h": (),
    "q": ("h",),
    "k": ("h",),
    "v": ("h",),
    "scores": ("q", "k"),
    "attention": ("scores",),
    "o": ("attention", "v"),
    "u": ("o",),
}
GRAPHS = {"MLA": MLA, "MHA": MHA}


class Box(NamedTuple):
    x0: float
    x1: float
    y0: float
    y1: float


def edges(graph):
    return [(a, b) for b, inputs in graph.items() for a in inputs]


def flow(graph):
    nodes = [FlowNode(c, c, "4×8", "latent", cached=c in ("c_KV", "k_R", "k")) for c in graph]
    return data_flow(nodes, edges(graph))


def segments(fig):
    xs, ys = fig.data[0].x, fig.data[0].y
    for i in range(len(xs) - 1):
        if xs[i] is not None and xs[i + 1] is not None:
            yield (xs[i], ys[i]), (xs[i + 1], ys[i + 1])


def inside(point, box):
    x, y = point
    return box.x0 + 1e-9 < x < box.x1 - 1e-9 and box.y0 + 1e-9 < y < box.y1 - 1e-9


@pytest.mark.parametrize("name", GRAPHS)
def test_no_arrow_runs_through_a_box(name):
    fig = flow(GRAPHS[name])
    boxes = [Box(box.x0, box.x1, box.y0, box.y1) for box in fig.layout.shapes]
    for (x0, y0), (x1, y1) in segments(fig):
        for k in range(101):
            point = x0 + (x1 - x0) * k / 100, y0 + (y1 - y0) * k / 100
            assert not any(inside(point, box) for box in boxes)


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_do_not_overlap_and_lie_inside(name):
    layout = arrange(list(GRAPHS[name]), edges(GRAPHS[name]))
    places = sorted(layout.places.values(), key=lambda place: (place[1], place[0]))
    for (x0, d0), (x1, d1) in itertools.pairwise(places):
        assert d0 != d1 or x1 - x0 >= 1 - 1e-9
    assert all(0.5 - 1e-9 <= x <= layout.width - 0.5 + 1e-9 for x, _ in places)
    assert layout.width <= 4.5, "four boxes side by side are what a phone can show"


def test_every_box_lies_below_what_it_reads():
    layout = arrange(list(MLA), edges(MLA))
    assert all(layout.places[a][1] < layout.places[b][1] for a, b in edges(MLA))
    assert layout.places["h"][1] == 0
    assert layout.places["u"][1] == layout.depth - 1 == 8


def test_each_arrow_starts_at_its_source_and_ends_at_its_reader():
    fig = flow(MHA)
    layout = arrange(list(MHA), edges(MHA))
    ends = []
    for (a, b), start in zip(layout.routes, _starts(fig), strict=True):
        (x0, y0), (x1, y1) = start
        assert y0 == layout.places[a][1] + BOX_HEIGHT / 2
        assert x0 == layout.places[a][0]
        tip = y1 + fig.data[0].marker.size[1] / 2 / LAYER_HEIGHT  # the head is drawn around y1
        assert tip == pytest.approx(layout.places[b][1] - BOX_HEIGHT / 2, abs=1e-12)
        assert abs(x1 - layout.places[b][0]) <= BOX_WIDTH / 2
        ends.append((a, b))
    assert ends == edges(MHA)
    assert sum(size > 0 for size in fig.data[0].marker.size) == len(ends)


def _starts(fig):
    path = []
    for x, y in zip(fig.data[0].x, fig.data[0].y, strict=True):
        if x is None:
            yield path[0], path[-1]
            path = []
        else:
            path.append((x, y))


def test_boxes_show_symbol_shape_role_and_what_is_cached():
    nodes = [
        FlowNode("h", "h", "4×8", "input"),
        FlowNode("c", "c<sup>KV</sup>", "4×2", "latent", True),
    ]
    fig = data_flow(nodes, [("h", "c")], words={"cached": "已缓存"})
    assert fig.data[1].text[1] == f"<b>{CACHED_MARK}c<sup>KV</sup></b><br>4×2"
    assert fig.data[1].text[0] == "<b>h</b><br>4×8"
    assert fig.layout.shapes[1].line.color == COLOURS["latent"]
    assert fig.layout.shapes[1].line.width > fig.layout.shapes[0].line.width
    assert fig.data[2].text[0].endswith("已缓存")


def test_an_edge_that_runs_backwards_is_refused():
    with pytest.raises(ValueError, match="edge q -> h"):
        arrange(["h", "q"], [("q", "h")])
    with pytest.raises(ValueError, match="edge x -> q"):
        arrange(["h", "q"], [("x", "q")])
