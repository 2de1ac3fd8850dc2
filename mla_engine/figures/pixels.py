"""A small map as an image of a pixel a cell, which a page stretches to the size that it needs.

Where a dozen maps stand in one picture, a chart for each would cost the browser a second.
"""

import struct
import zlib
from base64 import b64encode

import numpy as np
from plotly.colors import sample_colorscale, unlabel_rgb

from mla_engine.figures.axes import bins
from mla_engine.figures.cells import pool
from mla_engine.figures.theme import PROBABILITY, SIGNED

SHADES = 255  # of a colour scale; the colour after them is none


def _palette(scale: list) -> bytes:
    shades = sample_colorscale(scale, [place / (SHADES - 1) for place in range(SHADES)])
    return bytes(round(part) for shade in shades for part in unlabel_rgb(shade))


SIGNED_SHADES, PROBABILITY_SHADES = map(_palette, (SIGNED, PROBABILITY))


def pixels(values: np.ndarray, *, signed: bool, columns: int | None = None) -> str:
    """Return a matrix as the address of a PNG; cells that are not finite are clear.

    Args:
        values: rows downwards, as on a map.
        signed: from the largest magnitude below 0 to that above; otherwise from 0 to 1.
        columns: at most; a cell then shows the largest magnitude of several.
    """
    spans = bins(values.shape[1], columns or values.shape[1])
    cells = pool(values, [(row, row) for row in range(len(values))], spans)
    most = float(np.nanmax(np.abs(cells), initial=0)) or 1.0
    share = (cells / most + 1) / 2 if signed else cells
    places = np.nan_to_num(np.clip(share, 0, 1) * (SHADES - 1)).round().astype(np.uint8)
    shades = SIGNED_SHADES if signed else PROBABILITY_SHADES
    return _png(np.where(np.isfinite(cells), places, SHADES), shades)


def _png(places: np.ndarray, palette: bytes) -> str:
    """Return an image of a byte a pixel, that names one of the shades."""
    height, width = places.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = places
    parts = (
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", palette + bytes(3)),
        _chunk(b"tRNS", bytes([255] * SHADES + [0])),
        _chunk(b"IDAT", zlib.compress(rows.tobytes())),
        _chunk(b"IEND", b""),
    )
    file = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return f"data:image/png;base64,{b64encode(file).decode()}"


def _chunk(name: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + check
