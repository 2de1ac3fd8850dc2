"""All figures have in common: a height, letters for the last row, one set of colours."""

from collections.abc import Iterator

import numpy as np
import plotly.io as pio
import pytest

from mla_engine.figures import (
    FlowNode,
    attention_map,
    cache_growth,
    crossing,
    data_flow,
    head_tiles,
    roofline,
    score_map,
    symbol_html,
    tensor_map,
)

ROLES = ("query", "key", "value", "latent", "rope", "output", "input", "score", "weight")


def figures():
    square, words = np.eye(4, dtype=np.float32), list("abcd")
    nodes = [FlowNode("h", "h", "4×8", "input"), FlowNode("q", "q", "4×2", "query", cached=True)]
    yield "attention_map", attention_map(square, words, words, cell=(1, 1))
    yield "score_map", score_map(square, words, words)
    yield "tensor_map", tensor_map(square, axes=("t", "d"), name="h")
    yield "head_tiles", head_tiles(np.stack([square, square]), [0, 1], chosen=0)
    yield "data_flow", data_flow(nodes, [("h", "q")])
    one = {"MLA": np.array([1, 2])}
    yield "cache_growth", cache_growth([1, 2], one, points={"MLA": ([1], [1])})
    yield "roofline", roofline((1e12, 1e9), {"MLA": (1, 1e9)}, ridge="r")
    two = {"a": [1, 2], "b": [2, 2]}
    yield "crossing", crossing([1, 2], two, titles=("x", "y"), cross=(2, 2))


FIGURES = dict(figures())


def sizes(part: object, name: str = "") -> Iterator[int]:
    """Every font size in a figure's plain data."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "size" and "font" in name:
                yield value
            yield from sizes(value, key)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from sizes(value, name)


@pytest.mark.parametrize("name", FIGURES)
def test_height_is_fixed_letters_are_large_and_paper_is_left_to_the_page(name):
    fig = FIGURES[name]
    assert fig.layout.height >= 150
    found = list(sizes(fig.to_plotly_json()["layout"]))
    assert found
    assert min(found) >= 16
    assert fig.layout.paper_bgcolor == fig.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert fig.layout.font.color is None, "the page knows whether it is light or dark"
    assert fig.layout.template == pio.templates["mla"]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("h", "h"),
        ("W_DKV", "W<sup>DKV</sup>"),
        ("k_R_pre", "k<sup>R</sup><sub>pre</sub>"),
        ("q_C_absorbed", "q<sup>C</sup><sub>absorbed</sub>"),
        ("o_latent", "o<sub>latent</sub>"),
        ("scores_C", "scores<sup>C</sup>"),
    ],
)
def test_symbols_read_as_in_the_paper(code, shown):
    assert symbol_html(code) == shown
