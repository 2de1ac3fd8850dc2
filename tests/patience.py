"""How long a test waits for what must come: it matters only where something is broken."""

SECONDS = 300  # a cold server and its first page took 100 at a load of 16 on two cores
MILLISECONDS = 1000 * SECONDS
