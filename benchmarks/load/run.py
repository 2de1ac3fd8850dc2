"""Loads servers of its own as a class would, and prints a table of each case.

    python benchmarks/load/run.py mixed --visitors 100 --seconds 300      mixed pages
    python benchmarks/load/run.py arriving --visitors 300 --processes 3   a class opens a link
    python benchmarks/load/run.py same_picture --visitors 300  the same heavy picture for all
    python benchmarks/load/run.py killed --visitors 60         kill -9 of one of three processes
    python benchmarks/load/run.py slow                         beside silent and deaf connections
    python benchmarks/load/run.py leak --seconds 3600          what a long class leaves behind
    python benchmarks/load/run.py following --visitors 300     a class follows its lecturer
    python benchmarks/load/run.py answering --visitors 300     and answers one question
    python benchmarks/load/run.py hurrying --visitors 50       a class through 500 quick steps
    python benchmarks/load/run.py crowding --visitors 300      10,000 joins from one address before

Everything is on this machine: servers, clients, and the browsers among them. A visitor stays with
its process, as a cookie of a proxy would have it.
"""

import argparse
import inspect
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.load import classes, faults, leak, room, same_picture
from benchmarks.measuring import report

CASES = {
    "mixed": classes.mixed,
    "arriving": classes.arriving,
    "same_picture": same_picture.same_picture,
    "killed": faults.killed,
    "slow": faults.slow,
    "leak": leak.leak,
    "following": room.following,
    "hurrying": room.hurrying,
    "crowding": room.crowding,
    "answering": room.answering,
}


def main() -> None:
    """Run those named, one after another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="all by default")
    parser.add_argument("--visitors", type=int)
    parser.add_argument("--seconds", type=float, help="that they act")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--pause", type=float, help="seconds between a visitor's actions")
    parser.add_argument("--steps", type=int, help="of the lecturer")
    parser.add_argument("--browsers", type=int, help="of the visitors, that are real ones")
    parser.add_argument("--bare", type=int, choices=(0, 1), help="0: without the bare page")
    given = vars(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers end too
    for name in given["cases"] or CASES:
        measure = CASES[name]
        known = inspect.signature(measure).parameters
        options = {k: v for k, v in given.items() if k in known and v is not None}
        defaults = {k: one.default for k, one in known.items()}
        if given["processes"] and "processes" in known:
            name = f"{name}_{given['processes']}"
        rows = []
        for row in measure(**options):
            print(row, flush=True)  # the table comes with the last
            rows.append(row)
        report(f"load_{name}", rows, **defaults | options)


if __name__ == "__main__":
    main()
