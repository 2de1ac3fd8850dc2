"""Says of every model type of a release of transformers whether its cache is counted.

    pip install --no-deps --target build/next transformers==5.24.0
    python benchmarks/uncounted.py --release build/next          every type of it
    python benchmarks/uncounted.py --release build/next --new    those that the installed one lacks

A type's class gives its own config.json, which is counted or refused; of what is refused the reason
stands beside the name. Audio, image and encoder types have no cache and are refused too.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT = "refused", "no config.json"
TYPES = """
import json, logging, sys
logging.disable()
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES
found = {}
for name in CONFIG_MAPPING_NAMES:
    try:
        found[name] = json.loads(CONFIG_MAPPING[name]().to_json_string(use_diff=False))
    except Exception as error:  # a class that cannot be built from its defaults
        found[name] = str(error)
print(json.dumps(found))
"""


def types(release: Path | None) -> dict[str, dict | str]:
    """The config.json of each type by its class, or why there is none."""
    path = [str(release)] if release else []
    code = f"import sys; sys.path[:0] = {path!r}{TYPES}"
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(made.stdout.splitlines()[-1])


def said(config: dict | str) -> str:
    """Bytes that a token adds in bf16, or the reason of a refusal."""
    if isinstance(config, str):
        return f"no config.json: {' '.join(config.split())[:120]}"
    try:
        placing = Placing(model=read(config), storage=storage("bf16"))
    except RefusedError as error:
        return f"refused: {error}"[:200]
    return f"{float(placing.token_bytes()):,.0f} bytes per token"


def main() -> None:
    """Print a line for each type, and how many are counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", type=Path, help="the folder that it is installed in")
    parser.add_argument("--new", action="store_true", help="those that the installed one lacks")
    given = parser.parse_args()
    known = set(types(None)) if given.new else set()
    lines = {name: said(one) for name, one in types(given.release).items() if name not in known}
    for name, line in sorted(lines.items(), key=lambda one: (one[1].startswith(NOT), one[0])):
        print(f"{name:<32} {line}")
    refused = sum(line.startswith(NOT) for line in lines.values())
    print(f"{len(lines) - refused} of {len(lines)} are counted")


sys.path.insert(0, str(ROOT))
from kvcount import Placing, RefusedError, read, storage  # noqa: E402 - found by the path

if __name__ == "__main__":
    main()
