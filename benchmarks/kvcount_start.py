"""Times the command `kvcount` from launch to answer, next to a Python that does nothing.

    python benchmarks/kvcount_start.py --visits 15

Prints the median and the maximum of each, in milliseconds: a stored model, a config.json, one that
is refused, a plan, a published log, the list of models.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
REFUSED = 2  # the status of a refusal
LLAMA = {
    "model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "hidden_size": 4096,
}  # fmt: skip
LOG = "GPU KV cache size: 715,072 tokens\nAvailable KV cache memory: 46.80 GiB\n"


def runs(folder: Path) -> dict[str, list[str]]:
    """Return the runs to time: name -> arguments of Python."""
    (folder / "config.json").write_text(json.dumps(LLAMA), "utf-8")
    (folder / "refused.json").write_text(json.dumps(LLAMA | {"num_hidden_layers": 10**6}), "utf-8")
    (folder / "engine.log").write_text(LOG, "utf-8")
    of_command = {
        "a stored model": ["cache", "deepseek-v3"],
        "a config.json": ["cache", str(folder / "config.json")],
        "a million layers": ["cache", str(folder / "refused.json")],
        "a plan": ["plan", "deepseek-v3", "--gpus", "8"],
        "a log": ["explain", "kimi-k2-thinking", "--log", str(folder / "engine.log")],
        "the list": ["models"],
    }
    command = {name: ["-m", "kvcount", *given] for name, given in of_command.items()}
    return {"python alone": ["-c", "pass"]} | command


def seconds(arguments: list[str]) -> float:
    """Start it and wait for its end."""
    begun = time.perf_counter()
    ended = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)
    taken = time.perf_counter() - begun
    assert ended.returncode in (0, REFUSED), ended.stderr.decode()
    return taken


def main() -> None:
    """Time them in turn, after one warm-up round."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--visits", type=int, default=15)
    visits = parser.parse_args().visits
    with tempfile.TemporaryDirectory() as folder:
        named = runs(Path(folder))
        taken = {name: [] for name in named}
        for visit in range(visits + 1):
            for name, arguments in named.items():
                one = seconds(arguments)
                if visit:
                    taken[name].append(one)
    for name, all_seconds in taken.items():
        print(f"{name:<18} {1000 * median(all_seconds):5.0f}  {1000 * max(all_seconds):5.0f}")


if __name__ == "__main__":
    main()
