"""The types in which GGUF stores numbers: rounded ones lie in blocks with factors of their own.

As ggml-quants.c of llama.cpp has them. A block of Q4_1 is a factor d and a smallest number m, both
float16, and 32 numbers q of 4 bits that stand for d q + m. In K types 256 numbers share d, and have
8 or 16 smaller factors among them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcount.lazy import LazyModule

np = LazyModule("numpy")

HALVES = (0, 4)  # of a byte with two numbers of 4 bits
QUARTERS = (0, 2, 4, 6)
BITS = tuple(range(8))


@dataclass(frozen=True)
class Blocks:
    """One type: how many numbers make a block of how many bytes.

    `decode` turns blocks [n, n_bytes] into float32 [n, numbers]; None where the stored numbers are
    those of `dtype` themselves.
    """

    name: str
    numbers: int
    n_bytes: int
    decode: "Callable[[np.ndarray], np.ndarray] | None"
    dtype: str = "F32"  # after decoding, as safetensors calls it

    def numbers_of(self, data: "np.ndarray") -> "np.ndarray":
        """Return whole blocks, given as uint8 of any shape, as the bytes of their numbers."""
        if self.decode is None:
            return data.reshape(-1)
        with np.errstate(all="ignore"):  # a broken factor is told by the weight that it spoils
            decoded = self.decode(data.reshape(-1, self.n_bytes))
        return np.ascontiguousarray(decoded, "<f4").reshape(-1).view(np.uint8)

    def floats_of(self, data: "np.ndarray") -> "np.ndarray":
        """Return the numbers of whole blocks, given as uint8 of any shape, as float32."""
        numbers = self.numbers_of(np.ascontiguousarray(data))
        if self.dtype == "BF16":  # the upper half of a float32
            return (numbers.view("<u2").astype("<u4") << 16).view("<f4")
        return numbers.view({"F32": "<f4", "F16": "<f2"}[self.dtype]).astype(np.float32)


def _factor(blocks: "np.ndarray", at: int) -> "np.ndarray":
    return blocks[:, at : at + 2].copy().view("<f2").astype(np.float32)


def _pairs(data: "np.ndarray", width: int) -> "np.ndarray":
    """Unpack numbers of 4 bits: of each `width` bytes the lower halves come first."""
    parts = data.reshape(len(data), -1, 1, width) >> np.array(HALVES, np.uint8)[:, None] & 15
    return parts.reshape(len(data), -1)


def _with_fifth_bit(data: "np.ndarray") -> "np.ndarray":
    """Unpack 32 numbers of 5 bits: four bytes of highest bits, and 16 of pairs."""
    high = np.unpackbits(data[:, :4], axis=1, bitorder="little")
    return _pairs(data[:, 4:], 16) | high << np.uint8(4)


def _signed(data: "np.ndarray", middle: int) -> "np.ndarray":
    return data.astype(np.float32) - np.float32(middle)


def _q4_0(blocks: "np.ndarray") -> "np.ndarray":
    return _factor(blocks, 0) * _signed(_pairs(blocks[:, 2:], 16), 8)


def _q4_1(blocks: "np.ndarray") -> "np.ndarray":
    return _factor(blocks, 0) * _pairs(blocks[:, 4:], 16) + _factor(blocks, 2)


def _q5_0(blocks: "np.ndarray") -> "np.ndarray":
    return _factor(blocks, 0) * _signed(_with_fifth_bit(blocks[:, 2:]), 16)


def _q5_1(blocks: "np.ndarray") -> "np.ndarray":
    return _factor(blocks, 0) * _with_fifth_bit(blocks[:, 4:]) + _factor(blocks, 2)


def _q8_0(blocks: "np.ndarray") -> "np.ndarray":
    return _factor(blocks, 0) * blocks[:, 2:].view(np.int8)


def _scaled(blocks: "np.ndarray", numbers: "np.ndarray") -> "np.ndarray":
    """Return d q - m of 8 groups, whose factors of 6 bits lie in 12 bytes behind both float16."""
    low, middle, high = np.split(blocks[:, 4:16], 3, axis=1)
    scales = np.concatenate((low & 63, high & 15 | low >> 2 & 48), axis=1)
    least = np.concatenate((middle & 63, high >> 4 | middle >> 2 & 48), axis=1)
    d, m = _factor(blocks, 0) * scales, _factor(blocks, 2) * least
    groups = numbers.reshape(len(blocks), 8, 32)
    return (d[..., None] * groups - m[..., None]).reshape(len(blocks), 256)


def _q4_k(blocks: "np.ndarray") -> "np.ndarray":
    return _scaled(blocks, _pairs(blocks[:, 16:], 32))


def _q5_k(blocks: "np.ndarray") -> "np.ndarray":
    high = blocks[:, 16:48].reshape(-1, 1, 32) >> np.array(BITS, np.uint8)[:, None] & 1
    return _scaled(blocks, _pairs(blocks[:, 48:], 32) | high.reshape(-1, 256) << np.uint8(4))


def _q6_k(blocks: "np.ndarray") -> "np.ndarray":
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> np.array(QUARTERS, np.uint8)[:, None] & 3
    numbers = _signed(_pairs(blocks[:, :128], 64) | high.reshape(-1, 256) << np.uint8(4), 32)
    d = _factor(blocks, 208) * blocks[:, 192:208].view(np.int8)
    return (d[..., None] * numbers.reshape(-1, 16, 16)).reshape(-1, 256)


TYPES = {  # by their numbers in ggml.h
    0: Blocks("F32", 1, 4, None),
    1: Blocks("F16", 1, 2, None, "F16"),
    2: Blocks("Q4_0", 32, 18, _q4_0),
    3: Blocks("Q4_1", 32, 20, _q4_1),
    6: Blocks("Q5_0", 32, 22, _q5_0),
    7: Blocks("Q5_1", 32, 24, _q5_1),
    8: Blocks("Q8_0", 32, 34, _q8_0),
    12: Blocks("Q4_K", 256, 144, _q4_k),
    13: Blocks("Q5_K", 256, 176, _q5_k),
    14: Blocks("Q6_K", 256, 210, _q6_k),
    30: Blocks("BF16", 1, 2, None, "BF16"),
}
OTHERS = {  # which are named where they are refused
    10: "Q2_K", 11: "Q3_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL",
    21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4",
}  # fmt: skip
