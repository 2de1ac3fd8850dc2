"""Absorbed decode on a GPU: our kernel beside torch's ways and others' kernels, in one run.

    python benchmarks/gpu.py                 every size and side, some minutes
    python benchmarks/gpu.py --heads 16 128 --batch 128 --context 4096
    python benchmarks/gpu.py --dry           tiny sizes on the CPU, in Triton's interpreter

First the machine: what a copy within its memory moves and what a square product does in a second.
What a side gives is compared with float64 before it is timed. A time is the median by the device's
own events over ROUNDS calls, on copies of the inputs that together are beyond its L2 cache; a short
sleep on the device before each lets the calls queue up, so that no time of the host is in it.
Written to benchmarks/results/gpu_<device>.json with the date.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
if "--dry" in sys.argv:
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported

import torch  # noqa: E402 - after the interpreter was chosen

from benchmarks import gpu_sides as sides  # noqa: E402

ROUNDS = 30
SLEEP_CYCLES = 1_000_000  # about half a millisecond: longer than the host takes to queue a call
ROTATED_BYTES = 2**28  # five times the L2 cache of an H200
MOST_COPIES = 16
COPIED_BYTES, SIDE = 2**31, 8192
MOST_BYTES = 2**35  # of the caches of a case
RESULTS = ROOT / "benchmarks" / "results"
UNEVEN = (4641, 45118, 1730, 1696)


def parsed(argv: list[str] | None = None) -> argparse.Namespace:
    """The sizes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--heads", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--context", type=int, nargs="+", default=[1024, 4096, 32768, 131072])
    parser.add_argument("--sides", nargs="+", default=list(sides.SIDES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args(argv)


def seconds(runs: list[Callable], device: str, rounds: int) -> list[float]:
    """The time of each of `rounds` calls, which go around `runs`."""
    for run in runs:
        run()
    if device == "cpu":
        return [_by_clock(runs[i % len(runs)]) for i in range(rounds)]
    taken = []
    for i in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(SLEEP_CYCLES)
        start.record()
        runs[i % len(runs)]()
        end.record()
        taken.append((start, end))
    torch.cuda.synchronize()
    return [start.elapsed_time(end) / 1e3 for start, end in taken]


def _by_clock(run: Callable) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def machine(device: str, dry: bool) -> dict[str, object]:
    """The device by name, with the rates that it reaches now."""
    size, side = (2**20, 64) if dry else (COPIED_BYTES, SIDE)
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    copied = torch.empty_like(source)
    copy = statistics.median(seconds([lambda: copied.copy_(source)], device, ROUNDS))
    left = torch.randn(side, side, device=device).to(torch.bfloat16)
    product = statistics.median(seconds([lambda: left @ left], device, ROUNDS))
    return {
        "device": "cpu" if device == "cpu" else torch.cuda.get_device_name(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "torch": torch.__version__,
        "triton": sides.triton_version(),
        "copy_bytes_per_second": 2 * size / copy,
        "product_flops_per_second": 2 * side**3 / product,
    }


def row(case: sides.Case, name: str, of: dict[str, object]) -> dict[str, object]:
    """One side of a case: its time and rates, or why it has none."""
    said = {"side": name} | case.about()
    device = case.device
    copies = max(1, min(MOST_COPIES, ROTATED_BYTES // case.cache_bytes)) if device != "cpu" else 2
    try:
        runs = [sides.SIDES[name](case.inputs(seed)) for seed in range(copies)]
        said["apart"] = None if name in sides.TIMED_ALONE else case.apart(runs[0]())
        taken = seconds(runs, device, ROUNDS if device != "cpu" else 3)
    except (sides.AbsentError, RuntimeError, ImportError, TypeError, ValueError) as error:
        return said | {"refused": f"{type(error).__name__}: {error}"[:200]}
    median = statistics.median(taken)
    flops, moved = case.flops / median, case.bytes_moved / median
    said |= {"ms": 1e3 * median, "flops_per_second": flops, "bytes_per_second": moved}
    said |= {"of_product": flops / of["product_flops_per_second"]}
    return said | {"of_copy": moved / of["copy_bytes_per_second"]}


def cases(asked: argparse.Namespace, device: str) -> list[sides.Case]:
    """Every size that fits, the uneven lengths, and chosen keys beside all of them."""
    if asked.dry:
        small = {"heads": 3, "c": 32, "r": 16, "dtype": torch.float16, "device": device}
        return [sides.Case(lengths=(40, 7), **small), sides.Case(lengths=(40,), topk=16, **small)]
    every = [
        sides.Case(heads=h, lengths=(s,) * b, device=device)
        for h in asked.heads
        for b in asked.batch
        for s in asked.context
    ]
    every += [sides.Case(heads=h, lengths=UNEVEN, device=device) for h in asked.heads]
    long = {"heads": max(asked.heads), "lengths": (32768,) * 32, "device": device}
    every += [sides.Case(topk=topk, **long) for topk in (None, 2048)]
    return [case for case in every if case.cache_bytes <= MOST_BYTES]


def line(said: dict[str, object]) -> str:
    """A row of the README's table."""
    size = f"| {said['heads']} | {said['batch']} x {said['context']} | {said['side']} |"
    if "refused" in said:
        return f"{size} {said['refused']} | | | |"
    rates = f"{said['bytes_per_second'] / 1e9:,.0f} | {said['flops_per_second'] / 1e12:,.0f}"
    return f"{size} {said['ms']:.3f} | {rates} | {said['of_copy']:.2f} |"


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the figures; 1 where there is no GPU."""
    asked = parsed(argv)
    if not (asked.dry or torch.cuda.is_available()):
        print("There is no CUDA device here: benchmarks/gpu.py measures one (--dry tries it out)")
        return 1
    device = "cpu" if asked.dry else "cuda"
    of = machine(device, asked.dry)
    print(json.dumps(of, indent=1))
    print("| heads | sequences | side | ms | GB/s | TFLOP/s | of the copy |\n|" + 7 * "---|")
    rows = []
    for case in cases(asked, device):
        for name in asked.sides:
            rows.append(row(case, name, of))
            print(line(rows[-1]), flush=True)
    name = re.sub(r"\W+", "_", str(of["device"])).strip("_").lower()
    asked.out.mkdir(parents=True, exist_ok=True)
    written = json.dumps({"about": of, "rows": rows}, indent=1)
    (asked.out / f"gpu_{name}.json").write_text(written + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
