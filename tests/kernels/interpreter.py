"""Triton's interpreter in a process of its own, as it is chosen when Triton is imported."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

from mla_engine.kernels import absorbed_attention, why_not

ROOT = Path(__file__).parents[2]


class Interpreter:
    """Runs `absorbed_attention` by the kernel, on the CPU."""

    def __init__(self):
        environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error::RuntimeWarning", "-m", __name__],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, *asked):
        """Return what the kernel returns; raise an error that it raises."""
        pickle.dump(asked, self._process.stdin)
        self._process.stdin.flush()
        answer = pickle.load(self._process.stdout)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def answer(q_C, q_R, keys, *more):
    try:
        assert why_not(q_C, q_R, keys) is None
        return absorbed_attention(q_C, q_R, keys, *more)
    except Exception as error:
        return error


if __name__ == "__main__":
    while True:
        try:
            asked = pickle.load(sys.stdin.buffer)
        except EOFError:
            break
        pickle.dump(answer(*asked), sys.stdout.buffer)
        sys.stdout.buffer.flush()
