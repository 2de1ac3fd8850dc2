"""A small map as an image: what is in the matrix is in its pixels."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from mla_engine.figures import pixels


def image(address: str) -> np.ndarray:
    """The image as a browser shows it: red, green, blue and how solid, a cell each."""
    kind, _, content = address.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))).convert("RGBA")).astype(int)


def test_rows_go_downwards_and_hidden_cells_are_clear():
    shown = image(pixels(np.array([[0.1, np.nan, np.nan], [0.9, 0.5, np.nan]]), signed=False))
    assert shown.shape == (2, 3, 4)
    assert (shown[..., 3] == [[255, 0, 0], [255, 255, 0]]).all()


def test_a_larger_share_is_darker_on_one_scale():
    shares = np.linspace(0, 1, 40)[None]
    light = image(pixels(shares, signed=False))[0, :, :3].sum(1)
    assert (np.diff(light) < 0).all()
    low = image(pixels(np.array([[0.1, 0.2]]), signed=False))
    assert low[0, 1, :3].sum() > 1.5 * light[-1], "the scale ends at 1, not at the largest share"


def test_signs_have_colours_of_their_own():
    (negative, nothing, positive) = image(pixels(np.array([[-2.0, 0.0, 2.0]]), signed=True))[0]
    assert negative[2] > negative[0]
    assert positive[0] > positive[2]
    assert np.ptp(nothing[:3]) < 5


@pytest.mark.parametrize("signed", [True, False])
def test_a_matrix_of_zeros_is_drawn(signed):
    assert image(pixels(np.zeros((2, 2)), signed=signed)).shape == (2, 2, 4)


def test_too_many_columns_show_the_largest_of_several():
    values = np.zeros((1, 100))
    values[0, 57] = -1.0
    shown = image(pixels(values, signed=True, columns=10))
    assert shown.shape == (1, 10, 4)
    blue = shown[0, :, 2] - shown[0, :, 0]
    assert blue.argmax() == 5
