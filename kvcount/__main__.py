"""`python -m kvcount` is the command `kvcount`."""

import sys

from kvcount.command import main

if __name__ == "__main__":
    sys.exit(main())
