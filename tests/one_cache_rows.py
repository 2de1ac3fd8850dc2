"""Write a measurement of a real model as `make measure-real` does, from a few losses."""

import json
from pathlib import Path

KINDS = ("novels", "documentation")
LOSSES = {  # (way, cached, fitted to) -> losses of the pieces of each kind
    ("whole", 384, ()): ((3.4, 3.2, 3.3), (2.6, 2.8, 2.7)),
    ("averaged", 128, ()): ((9.6, 9.9, 9.3), (9.0, 9.2, 9.1)),
    ("latent", 192, KINDS): ((3.5, 3.3, 3.4), (2.7, 2.9, 2.8)),
    ("latent", 128, KINDS): ((3.8, 3.5, 3.6), (3.0, 3.2, 3.2)),
    ("latent", 128, ("novels",)): ((3.6, 3.4, 3.4), (4.0, 4.3, 4.1)),
    ("latent", 128, ("documentation",)): ((4.6, 4.4, 4.7), (2.9, 3.0, 3.1)),
    ("weights", 128, ()): ((6.6, 6.4, 6.5), (6.0, 6.2, 6.1)),
    ("absorbable", 128, KINDS): ((4.0, 3.8, 3.8), (3.3, 3.4, 3.5)),
}
WRITTEN = {"whole": " Paris.\nIt is *large*.", "averaged": " the the"}
ABOUT = {"model": "a model", "texts": {}, "piece": 512, "calibrated": 12, "prompt": "The sea"}
ABOUT |= {"versions": {"torch": "1.2", "python": "3.4"}, "date": "2026-01-02"}


def rows(losses=LOSSES):
    """The rows of the file, and one of a weighing that was only tried."""
    found = {}
    for (way, cached, fitted), of_kinds in losses.items():
        found["-".join((way, str(cached), *fitted))] = {
            "way": way,
            "cached": cached,
            "fitted_to": list(fitted),
            "weighing": "even" if fitted else "",
            "loss": dict(zip(KINDS, map(list, of_kinds), strict=True)),
            "written": WRITTEN.get(way, f" {way} {cached}"),
        }
    tried = found["latent-128-novels-documentation"] | {"weighing": "read", "written": " tried"}
    return found | {"tried": tried}


def write(file: Path, **changed: object) -> Path:
    """The file, with other values of some names."""
    file.write_text(json.dumps(ABOUT | {"points": rows()} | changed), "utf-8")
    return file
