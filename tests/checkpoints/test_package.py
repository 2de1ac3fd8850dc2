"""The names of the package: all there, and nothing heavy imported before it is needed."""

import subprocess
import sys
from pathlib import Path

from mla_engine import checkpoints

HEAVY = ("huggingface_hub", "safetensors", "tokenizers", "transformers")


def test_every_public_name_is_there():
    for name in checkpoints.__all__:
        assert callable(getattr(checkpoints, name)), name


def test_a_folder_is_read_without_the_heavy_packages(sharded_folder):
    code = (
        "import sys; from mla_engine.checkpoints import open_checkpoint; "
        f"print(len(open_checkpoint({str(sharded_folder)!r}).read(['embed'])['embed'])); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    command, root = [sys.executable, "-c", code], Path(__file__).parents[2]
    assert subprocess.check_output(command, text=True, cwd=root) == "300\n[]\n"
