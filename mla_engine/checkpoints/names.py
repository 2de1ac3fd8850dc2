"""Names that a checkpoint goes by. Needs no torch."""

import re

REPOSITORY = re.compile(r"[\w-][\w.-]{0,95}/[\w.-]{1,96}", re.ASCII)
CONFIG = "config.json"
MOST_CONFIG_BYTES = 2_000_000  # published ones have some thousand
