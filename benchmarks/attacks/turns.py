"""How long a page's largest setting holds the queue, and how long a second visitor waits for it.

    python benchmarks/attacks/turns.py

Of every page: seconds of all its turns, the longest piece within which nobody else can go first,
and how long another visitor waits who asks all the while for one small piece of work. Take it on a
machine that has nothing else to do.
"""

import sys
import threading
import time
from pathlib import Path

import torch
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from ui.engine import queue  # noqa: E402 - found by the path

V3 = {"preset": "deepseek-v3"}
LARGE = {"d_model": "16384", "n_heads": "128", "d_head": "512", "d_value": "512"}
LATENTS = {"d_latent_kv": "2048", "d_latent_q": "4096", "d_rope": "256"}
CASES = (  # the largest that is not refused
    ("attention_maps", V3 | {"map_generated": "1024", "map_run": "128"}),
    ("attention_maps", LARGE | LATENTS | {"variant": "mla"}),
    ("rope", LARGE | LATENTS | {"rope_topic": "merged"}),
    ("absorption", V3),
    ("compression", V3 | {"cmp_heads": "4", "cmp_weights": "spectrum"}),
    ("compression", {"d_model": "512", "n_heads": "128", "d_head": "128", "cmp_heads": "64"}),
    ("kv_cache", {}),
    ("decode", V3 | {"dec_heads": "8", "dec_prompt": "64"}),
    ("compute", {"cost_gpu": "this"}),
    ("compare", LARGE | LATENTS | {"vs_view": "maps"}),
    ("claims", {}),
    ("quiz", {"quiz_count": "31"}),
)


class Watched(queue.Queue):
    """A queue that notes how long every piece took."""

    def __init__(self) -> None:
        super().__init__(queue.MOST_WAITING, queue.LIMIT_SECONDS)
        self.pieces: list[float] = []

    def _end(self, ticket: object) -> None:
        if ticket.began is not None and ticket.visitor != threading.main_thread().ident:
            self.pieces.append(time.monotonic() - ticket.began)
        super()._end(ticket)


def run(page: str, link: dict[str, str]) -> None:
    """Open a page from its link, and let another visitor wait beside it."""
    line = Watched()
    queue._queue = lambda: line
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    at.query_params.update(link)
    at.switch_page(f"pages/{page}.py")
    opening = threading.Thread(target=at.run)
    opening.start()
    waits = []
    while opening.is_alive():
        asked = time.monotonic()
        with line.turn():
            waits.append(time.monotonic() - asked)
        time.sleep(0.05)
    refused = " refused" if at.error else ""
    longest, total = max(line.pieces, default=0), sum(line.pieces)
    print(f"{page:15} {total:8.2f} {longest:8.2f} {max(waits):8.2f}{refused}", flush=True)


def main() -> None:
    """All cases, one line each."""
    torch.set_num_threads(1)
    queue.warm_up()
    print(f"{'page':15} {'all s':>8} {'piece s':>8} {'wait s':>8}")
    for page, link in CASES:
        run(page, link)


if __name__ == "__main__":
    main()
