"""Write rows of a study as `make train` does, and the plan beside them."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

LOADS = {
    "recall": (4, 8, 16, 24),
    "copy": (4, 8, 12, 16),
    "back": (1, 2, 3, 4),
    "agreement": (0, 1, 2, 4),
    "brackets": (2, 4, 6, 8),
}
CACHED = {"mha": 128, "gqa": 64, "mla_64": 64, "mqa": 32, "mla": 32, "mla_16": 16}
CACHED |= {"mla_nope": 32, "mha_partial": 128, "mha_nope": 128, "mla_queries": 32}
CACHES = ("mha", "gqa", "mla_64", "mqa", "mla", "mla_16")
STAIRCASE = ("mha", "mha_nope", "mla_nope", "mla", "mla_queries")
PLANNED = 3
Share = Callable[[str, int, str, int], float]


def mean(variant: str, seed: int, task: str | None = None) -> float:
    """Return the mean share of right answers over the loads of a task, or over all tasks."""
    if task is None:
        return fmean(mean(variant, seed, one) for one in LOADS)
    return fmean(share(variant, seed, task, load) for load in LOADS[task])


def share(variant: str, seed: int, task: str, load: int) -> float:
    """Different for every cell; furthest apart at recall 16, where MQA loses most."""
    place = LOADS[task].index(load)
    lost = {"mha": 1, "gqa": 3, "mla_64": 2, "mqa": 9, "mla": 4, "mla_16": 8}.get(variant, 5)
    weight = (1, 2, 6, 3)[place] + (task == "recall")
    return 0.99 - 0.01 * lost * weight - 0.002 * seed**2 - 0.001 * place


def row(variant: str, seed: int, shares: Share = share) -> dict:
    lost = list(CACHED).index(variant)
    curve = [
        {"step": step, "loss": None if step == 0 else 4 - step / 50 + 0.1 * lost + 0.02 * seed}
        for step in range(0, 101 + 50 * seed, 50)
    ]
    return {
        "variant": variant,
        "seed": seed,
        "cached": CACHED[variant],
        "parameters": 88_000 + CACHED[variant],
        "steps": curve[-1]["step"],
        "attempts": 1 + seed * (variant == "mla_16"),
        "finished": False,
        "accuracy": {
            task: {str(load): shares(variant, seed, task, load) for load in loads}
            for task, loads in LOADS.items()
        },
        "texts": 200,
        "command": "make train",
        "seconds": 12.5,
        "threads": 1,
        "torch": "2.13.0",
        "python": "3.12.14",
        "date": f"2026-11-2{seed}",
        "curve": curve,
        "by_distance": [
            [first, 40, 0.95 - 0.01 * lost - 0.002 * first - 0.001 * seed] for first in (0, 8, 24)
        ],
    }


def plan() -> dict:
    variants = {code: {"cached": n, "seeds": PLANNED} for code, n in CACHED.items()}
    return {"variants": variants, "caches": CACHES, "staircase": STAIRCASE}


def write(folder: Path, rows: list[dict], planned: dict | None = None) -> Path:
    """Write a plan and these rows into a folder and return it."""
    (folder / "study").mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(planned or plan()), "utf-8")
    for one in rows:
        file = folder / "study" / f"{one['variant']}-{one['seed']}.json"
        file.write_text(json.dumps(one) + "\n", "utf-8")
    return folder


def rows(shares: Share = share, seeds: int = PLANNED, but: tuple[str, ...] = ()) -> list[dict]:
    """Return so many seeds of every variant but some."""
    return [row(code, seed, shares) for code in CACHED if code not in but for seed in range(seeds)]
