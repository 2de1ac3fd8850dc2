"""Attacks a server of its own as strangers would, and prints a table.

python benchmarks/attacks/run.py                       all of them; takes hours
python benchmarks/attacks/run.py urls --count 500      drawn links
python benchmarks/attacks/run.py messages              raw messages of the protocol
python benchmarks/attacks/run.py neighbour             what a second visitor waits meanwhile
python benchmarks/attacks/run.py fuzz                  files that are nearly right
"""

import argparse
import inspect
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.attacks import fuzz, messages, neighbour, urls

ATTACKS = {
    "urls": urls.measure,
    "messages": messages.measure,
    "neighbour": neighbour.measure,
    "fuzz": fuzz.measure,
}


def main() -> int:
    """Run those named, and print the table; 1 if something does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", choices=[*ATTACKS, []], help="all by default")
    parser.add_argument("--count", type=int, help="of links, messages or files")
    parser.add_argument("--attack", choices=neighbour.ATTACKS, help="of the neighbour")
    parser.add_argument("--seed", type=int, help="of what is drawn")
    parser.add_argument("--patience", type=float, help="seconds that a run may take")
    parser.add_argument("--visitors", type=int, help="at a time")
    parser.add_argument("--rest", type=float, help="seconds until what is kept has run out")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends too
    held = [_held(name, vars(given)) for name in given.attacks or ATTACKS]
    return int(not all(held))


def _held(name: str, given: dict[str, object]) -> bool:
    """Whether all rows of one attack hold; they are printed as they come."""
    known = inspect.signature(ATTACKS[name]).parameters
    options = {k: v for k, v in given.items() if k in known and v is not None}
    held = True
    for row in ATTACKS[name](**options):
        print(row, flush=True)
        held = held and row.holds is not False
    return held


if __name__ == "__main__":
    sys.exit(main())
