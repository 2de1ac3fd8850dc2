"""Attacks a server of its own as strangers would, and prints what it comes to.

python benchmarks/attacks/run.py                       all of them; takes hours
python benchmarks/attacks/run.py urls --count 500      drawn links
python benchmarks/attacks/run.py messages              raw messages of the protocol
python benchmarks/attacks/run.py neighbour             what a second visitor waits meanwhile
python benchmarks/attacks/run.py fuzz                  files that are nearly right
"""

import argparse
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.attacks import messages, urls

ATTACKS = {"urls": urls.measure, "messages": messages.measure}


def main() -> int:
    """Run those named, and print the table; 1 if something does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", choices=[*ATTACKS, []], help="all by default")
    parser.add_argument("--count", type=int, help="of links, messages or files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patience", type=float, help="seconds that a run may take")
    parser.add_argument("--visitors", type=int, help="at a time")
    parser.add_argument("--rest", type=float, help="seconds until what is kept has run out")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends too
    options = {k: v for k, v in vars(given).items() if k != "attacks" and v is not None}
    rows = [row for name in given.attacks or ATTACKS for row in ATTACKS[name](**options)]
    print(*rows, sep="\n")
    return int(any(row.holds is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
