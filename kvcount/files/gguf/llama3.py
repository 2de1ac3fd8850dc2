"""The rotation of Llama 3 beyond its first context, which GGUF stores pair by pair.

`rope_freqs.weight` divides the frequency of each pair. llama.cpp makes it of four numbers, of which
three are the same in every Llama 3.1, 3.2 and 3.3; the fourth is the largest divisor.
"""

from math import pi
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.lazy import LazyModule

np = LazyModule("numpy")

LOW, HIGH, CONTEXT = 1.0, 4.0, 8192  # turns within the first context, and its tokens
EQUAL = 1e-4


def scaling(divisors: "np.ndarray", config: dict[str, Any], file: str) -> dict[str, Any]:
    """Return config.json's rope_scaling for the divisors of all pairs.

    Raises:
        CheckpointError: they are none of Llama 3.
    """
    width, factor = config["head_dim"], float(divisors.max())
    if len(divisors) * 2 == width:
        turns = CONTEXT / (2 * pi) * config["rope_theta"] ** (-np.arange(0, width, 2) / width)
        near = np.clip((turns - LOW) / (HIGH - LOW), 0, 1)
        if factor > 1 and np.allclose(divisors, 1 / ((1 - near) / factor + near), rtol=EQUAL):
            found = {"rope_type": "llama3", "factor": factor}
            found |= {"low_freq_factor": LOW, "high_freq_factor": HIGH}
            return {"rope_scaling": found | {"original_max_position_embeddings": CONTEXT}}
    raise CheckpointError("gguf_value", file=file, key="rope_freqs.weight", value=divisors.tolist())
