"""Absorbed attention as serving engines run it: no trace, the cache is read once, a GPU's code.

`decode` has the kernels, in Triton (requirements-gpu.txt); `by_torch` the same in torch, which runs
where they cannot and which they are tested against; `plan` how the work is cut up.
"""

from mla_engine.kernels.attention import absorbed_attention, cut_of, why_not
from mla_engine.kernels.keys import Keys

__all__ = ["Keys", "absorbed_attention", "cut_of", "why_not"]
