"""The seconds that a test waits for a state: they matter only where something is broken."""

import os

# Beside much else (benchmarks/busy.py says so), a cold server and its first page took 100 seconds.
SECONDS = 300 if os.environ.get("MLA_BUSY") else 60
MILLISECONDS = 1000 * SECONDS
