"""`python -m mla_engine` is the command `mla`."""

import sys

from mla_engine.command import main

if __name__ == "__main__":
    sys.exit(main())
