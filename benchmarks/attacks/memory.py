"""What visitors leave behind in a server's memory, while they are there and when they have gone.

    python benchmarks/attacks/memory.py                 all cases, a server each
    python benchmarks/attacks/memory.py decode maps     some of them
    python benchmarks/attacks/memory.py --links 300     fewer links
    python benchmarks/attacks/memory.py --seconds 600   with the time to live of the app

Of every case: the resident memory at the start, at its peak, when all sessions are closed, and when
their time and that of the caches is over, beside what it may then be: the start, the budget of the
caches, and 300 MB.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.attacks.rows import MIB, peak  # noqa: E402 - found by the path
from mla_engine import PRESETS  # noqa: E402
from tests.attacks.client import Session, StuckError  # noqa: E402
from tests.attacks.server import App, running  # noqa: E402

ROOM_BYTES = 300 * 10**6
LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 900  # with one visit, on a busy machine
COLUMNS = ("start", "peak", "closed", "over", "allowed", "seconds")
AFTERWARDS_SECONDS = 15  # for the last round of tidying, beyond both times to live


def decode(app: App, _links: int) -> None:
    """Three visits, each with weights of its own."""
    for seed in range(1, 4):
        with Session(app.url, patience=PATIENCE_SECONDS) as session:
            session.open("decode", f"preset=deepseek-v3&dec_heads=48&seed={seed}")


def maps(app: App, _links: int) -> None:
    """Twelve visitors who stay, each with as many heads as a link can ask for."""
    with ExitStack() as staying:
        for seed in range(12):
            session = staying.enter_context(Session(app.url, patience=PATIENCE_SECONDS))
            session.open("attention_maps", f"preset=deepseek-v3&map_run=128&seed={seed}")


def links(app: App, count: int) -> None:
    """Links at random, a visitor each."""
    drawn = random.Random(9)
    for done in range(count):
        page = drawn.choice(list(PAGES))
        chosen = {name: drawn.choice(values) for name, values in (SHARED | PAGES[page]).items()}
        try:
            with Session(app.url, patience=PATIENCE_SECONDS) as session:
                session.open(page, urlencode(chosen))
        except StuckError as error:
            print(f"  link {done}: {error!s:.80}", flush=True)


SHARED = {"preset": ["small", *PRESETS], "seed": range(10_000), "variant": ["mla", "gqa", "mha"]}
PAGES = {
    "attention_maps": {"map_run": [0, 4, 128], "map_generated": [0, 64, 512], "map_head": range(8)},
    "absorption": {"ab_head": range(16), "ab_matrix": ["W_QK", "W_VO"]},
    "rope": {"rope_topic": ["turning", "merged", "pairing", "scale"], "rope_head": range(16)},
    "compare": {"vs_view": ["maps", "costs"], "vs_left": list(PRESETS), "vs_head": range(16)},
    "decode": {"dec_heads": [0, 2, 8, 48], "dec_prompt": [8, 64], "dec_step": range(1, 33)},
    "compression": {"cmp_heads": [4, 8], "cmp_weights": ["random", "spectrum"]},
    "quiz": {"quiz_seed": range(1000)},
    "kv_cache": {},
}
CASES: dict[str, Callable[[App, int], None]] = {"decode": decode, "maps": maps, "links": links}


def measured(case: str, seconds: float, budget_gib: float, count: int) -> None:
    """Play one case on a server of its own, and print what it held."""
    environment = {"MLA_CACHE_SECONDS": str(seconds), "MLA_CACHE_BUDGET_GIB": str(budget_gib)}
    options = ("--server.disconnectedSessionTTL", str(int(seconds)))
    with running(environment, options=options) as app:
        with Session(
            app.url, patience=PATIENCE_SECONDS
        ) as session:  # what the first visitor of any page loads
            session.open()
            session.open("attention_maps", "preset=small")
        start, began = app.resident_bytes(), time.monotonic()
        with peak(app.resident_bytes, LOOK_SECONDS) as most:
            CASES[case](app, count)
            taken = time.monotonic() - began
        closed = app.resident_bytes()
        time.sleep(2 * seconds + AFTERWARDS_SECONDS)
        after = app.resident_bytes()
    allowed = start + budget_gib * 2**30 + ROOM_BYTES
    figures = (start, *most, closed, after, allowed)
    print(
        f"{case:8}", *(f"{figure / MIB:9,.0f}" for figure in figures), f"{taken:9.0f}", flush=True
    )


def main() -> None:
    """Play what the command line asks for."""
    asked = argparse.ArgumentParser()
    asked.add_argument("cases", nargs="*", default=list(CASES))
    asked.add_argument("--links", type=int, default=3000)
    asked.add_argument("--seconds", type=float, default=20.0)
    asked.add_argument("--budget", type=float, default=1.0, help="of the caches, GiB")
    given = asked.parse_args()
    print(
        "MiB     ", *(f"{name:>9}" for name in ("start", "peak", "closed", "over", "allowed", "s"))
    )
    for case in given.cases:
        measured(case, given.seconds, given.budget, given.links)


if __name__ == "__main__":
    main()
