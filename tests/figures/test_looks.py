"""The looks of variants: seen by all on any ground, and taken for no tensor's.

How colours look to those who lack a kind of cone is simulated with the matrices of Machado,
Oliveira and Fernandes (2009); distances are CIEDE2000. Both are from the publications.
"""

import re
from itertools import combinations
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt
from pathlib import Path

import numpy as np
import pytest
from plotly.colors import hex_to_rgb

from mla_engine.figures import COLOURS, VARIANTS
from mla_engine.figures.cells import relative_luminance
from mla_engine.figures.looks import OTHERS, SUCCESSORS, faded, look
from mla_engine.figures.theme import MASKED, PROBABILITY

SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
APART = 15  # CIEDE2000; about 2 is just seen side by side
GROUNDS = {"light": "#FFFFFF", "dark": "#171614", "lecture": "#000000"}
CSS = Path(__file__).parents[2] / "assets" / "style.css"


def lab(colour: str, cones: np.ndarray = SEEN["all cones"]) -> tuple[float, float, float]:
    """CIELAB of a colour as these cones see it."""
    channels = np.array(hex_to_rgb(colour)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ np.clip(cones @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def ciede2000(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Return the difference of colours by Sharma, Wu and Dalal (2005), equations 2 to 22."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (hypot(a1, b1) + hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = (degrees(atan2(b, a)) % 360 if a or b else 0.0 for a, b in ((a1, b1), (a2, b2)))
    turn, around = h2 - h1, h1 + h2
    if not c1 * c2:
        turn = 0.0
    elif abs(turn) > 180:
        turn += 360 if turn < 0 else -360
        around = (around + (360 if around < 360 else -360)) / 2
    else:
        around /= 2
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hues = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    t = 1 + sum(by * cos(radians(n * around + at)) for by, n, at in hues)
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / sqrt(20 + (lightness - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    bend = 2 * sqrt(chroma**7 / (chroma**7 + 25**7))
    r_t = -sin(radians(60 * exp(-(((around - 275) / 25) ** 2)))) * bend
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / s_c
    d_h = 2 * sqrt(c1 * c2) * sin(radians(turn / 2)) / s_h
    return sqrt(d_l**2 + d_c**2 + d_h**2 + r_t * d_c * d_h)


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_distances_are_those_of_the_publication(one, other, distance):
    assert ciede2000(one, other) == pytest.approx(distance, abs=1e-4)


@pytest.mark.parametrize("eyes", SEEN)
def test_variants_are_told_apart_by_all(eyes):
    colours = {code: lab(its.colour, SEEN[eyes]) for code, its in VARIANTS.items()}
    for one, other in combinations(colours, 2):
        assert ciede2000(colours[one], colours[other]) > APART, (eyes, one, other)


@pytest.mark.parametrize("eyes", SEEN)
def test_what_came_later_is_told_apart_by_its_mark_too(eyes):
    every = VARIANTS | SUCCESSORS
    colours = {code: lab(its.colour, SEEN[eyes]) for code, its in every.items()}
    for code, other in combinations(colours, 2):
        if {code, other} & SUCCESSORS.keys():
            assert ciede2000(colours[code], colours[other]) > 10, (eyes, code, other)
    for part in ("dash", "mark"):
        assert len({getattr(its, part) for its in (*every.values(), OTHERS[-1])}) == len(every) + 1


def test_no_variant_is_taken_for_a_tensor_or_for_anything_else():
    for code, its in (VARIANTS | SUCCESSORS).items():
        for other in (*COLOURS.values(), *(other.colour for other in OTHERS)):
            assert ciede2000(lab(its.colour), lab(other)) > 12, (code, other)


def test_colour_is_never_the_only_sign():
    for part in ("colour", "dash", "mark"):
        assert len({getattr(its, part) for its in VARIANTS.values()}) == len(VARIANTS)
    assert len({(its.colour, its.dash) for its in OTHERS}) == len(OTHERS)
    assert look("a mechanism of tomorrow") in OTHERS


def contrast(one: str, other: str) -> float:
    low, high = sorted(relative_luminance("rgb" + str(hex_to_rgb(c))) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("role", [*VARIANTS, *SUCCESSORS, *range(len(OTHERS))])
def test_lines_and_bars_stand_out_on_every_ground(role):
    for ground in GROUNDS.values():
        assert contrast(look(role).colour, ground) > 3


@pytest.mark.parametrize("role", [*VARIANTS, *SUCCESSORS, *COLOURS, *range(len(OTHERS))])
def test_bars_that_are_not_chosen_are_seen_too(role):
    for ground in GROUNDS.values():
        assert contrast(faded(look(role).colour), ground) > 3


def test_names_at_lines_can_be_read_on_every_ground():
    words = re.findall(r"(--[\w-]+): light-dark\((#\w+), (#\w+)\);", CSS.read_text("utf-8"))
    inks = {name: (light, dark) for name, light, dark in words}
    roles = [*VARIANTS, *SUCCESSORS, *COLOURS, *range(len(OTHERS))]
    for name in {look(role).words for role in roles}:
        light, dark = inks[name]
        assert contrast(light, GROUNDS["light"]) > 4.5, name
        assert min(contrast(dark, GROUNDS[g]) for g in ("dark", "lecture")) > 4.5, name


def test_no_shade_of_a_probability_meets_what_masked_cells_show():
    """Their ground and the lines of the hatching; and the shades grow dark evenly, in one hue."""
    shades = [lab(colour) for _, colour in PROBABILITY]
    for ground in (*GROUNDS.values(), MASKED):
        assert min(ciede2000(shade, lab(ground)) for shade in shades) > 6, ground
    lightness = [shade[0] for shade in shades]
    steps = -np.diff(lightness)
    assert steps.min() > 0.75 * steps.max()
    hues = [degrees(atan2(b, a)) % 360 for _, a, b in shades]
    assert max(hues) - min(hues) < 45
    assert [place for place, _ in PROBABILITY] == pytest.approx(np.linspace(0, 1, 9))
