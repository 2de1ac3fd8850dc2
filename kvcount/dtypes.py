"""The types in which a cache is stored: bytes of a row, with the scales that go with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from kvcount import checks
from kvcount.files.config_json import BESIDE, entry
from kvcount.parts import Part
from kvcount.reading.keys import UncountedError, language_model


@dataclass(frozen=True)
class StoredType:
    """A way to store numbers.

    Args:
        bits: of a number.
        block: numbers that share a scale, 0 where no scale is in the cache.
        scale_bytes: of a scale; the scales of a row fill a multiple of `padded` bytes.
    """

    bits: int
    block: int = 0
    scale_bytes: int = 0
    padded: int = 1

    @property
    def bits_with_scales(self) -> Fraction:
        """The bits of a number and of its part of a scale."""
        return self.bits + Fraction(8 * self.scale_bytes, self.block or 1)

    def row_bytes(self, numbers: int) -> Fraction:
        """Return the bytes of a row with its scales."""
        scales = -(-numbers // self.block) * self.scale_bytes if self.block else 0
        return Fraction(numbers * self.bits, 8) + -(-scales // self.padded) * self.padded


TYPES: Mapping[str, StoredType] = {
    "fp32": StoredType(32),
    "bf16": StoredType(16),
    "fp16": StoredType(16),
    "fp8": StoredType(8),
    "int8": StoredType(8),
    "fp4": StoredType(4),
    "int4": StoredType(4),
    "fp8_128": StoredType(8, 128, 4),  # a float32 scale for 128 numbers
    "fp8_64": StoredType(8, 64, 1, padded=8),  # a power of two for 64 numbers
    "mxfp8": StoredType(8, 32, 1),
    "mxfp4": StoredType(4, 32, 1),
    "nvfp4": StoredType(4, 16, 1),
    # llama.cpp's blocks of 32 numbers: a 16-bit scale, in those that end in 1 a 16-bit minimum, too
    "q8_0": StoredType(8, 32, 2),
    "q5_1": StoredType(5, 32, 4),
    "q5_0": StoredType(5, 32, 2),
    "q4_1": StoredType(4, 32, 4),
    "q4_0": StoredType(4, 32, 2),
    "iq4_nl": StoredType(4, 32, 2),
}
SAME = {  # what engines and libraries call them
    "float32": "fp32", "f32": "fp32", "float": "fp32",
    "bfloat16": "bf16", "float16": "fp16", "f16": "fp16", "half": "fp16",
    "fp8_e4m3": "fp8", "fp8_e4m3fn": "fp8", "fp8_e5m2": "fp8", "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8", "e4m3": "fp8", "e5m2": "fp8", "fp8_ds_mla": "fp8",
    "k": "key", "keys": "key", "v": "value", "values": "value",
}  # fmt: skip
PARTS = ("key", "value", "latent", "rope", "index", "entry", "buffer", "conv", "state", "window")
LEAST = {"state": "fp32", "conv": "bf16", "buffer": "bf16"}  # whatever the cache is stored in
# What "fp8" means where attention reads chosen rows. DeepSeek-V3.2, 656 bytes: 512 of fp8, 4
# float32 scales, 64 rotated numbers in bf16 (FlashMLA); index keys of 128 have a scale.
# DeepSeek-V4, 584: 448 of fp8, 7 scales of a byte, one of padding, 64 in bf16 (vllm #56893).
OF_FP8 = {
    ("indexed", "latent"): "fp8_128",
    ("indexed", "rope"): "bf16",
    ("indexed", "index"): "fp8_128",
    ("shared_choice", "latent"): "fp8_128",
    ("shared_choice", "rope"): "bf16",
    **{(kind, "entry"): "fp8_64" for kind in ("csa", "hca", "window")},
    **{(kind, "rope"): "bf16" for kind in ("csa", "hca", "window")},
    ("csa", "index"): "fp8_128",
}


@dataclass(frozen=True)
class Storage:
    """The type of each part of a cache.

    Args:
        usual: of all parts that grow or have a window.
        of_part: name of a part -> its type, where it has another; "window" is every part of one.
        said: where a model's files say so.

    Raises:
        RefusedError: a type that no cache has, or a part that there is not.
    """

    usual: str = "bf16"
    of_part: Mapping[str, str] = field(default_factory=dict)
    said: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in self.of_part:
            checks.choice("kv", name, PARTS)
        for name in (self.usual, *self.of_part.values()):
            checks.choice("kv", name, TYPES)

    def name(self, kind: str, part: Part) -> str:
        """Return the type that a part of a layer of this kind is stored in."""
        window = self.of_part.get("window") if part.growth == "window" else None
        own = window or self.of_part.get(part.name)
        if own is None and part.name in LEAST:
            return max(LEAST[part.name], self.usual, key=lambda name: TYPES[name].bits)
        return own or (OF_FP8.get((kind, part.name)) if self.usual == "fp8" else None) or self.usual

    @property
    def narrowest(self) -> int:
        """The bits of its narrowest numbers."""
        return min(TYPES[name].bits for name in (self.usual, *self.of_part.values()))

    def row_bytes(self, kind: str, part: Part, ranks: int = 1) -> Fraction:
        """Return the bytes of a row, on the fullest of `ranks` GPUs that split the heads."""
        return TYPES[self.name(kind, part)].row_bytes(part.rank_numbers(ranks))


SCHEME = "kv_cache_scheme of its config.json"
SCHEMES = {"float 8": "fp8", "int 8": "int8"}
ALGORITHMS = {"FP8": "fp8", "INT8": "int8", "NVFP4": "nvfp4"}  # as ModelOpt writes them


def stored_by(config: Mapping[str, Any]) -> Storage:
    """Return the types of a config.json: its kv_cache_scheme's, where it is quantised with one.

    What ModelOpt has written beside it comes first. Scales of a tensor or a head are not in the
    cache; what stays out of it, states, keeps its type.

    Raises:
        UncountedError: a scheme of other numbers than those of 8 bits, an unknown algorithm.
    """
    beside = config.get(BESIDE) or {}
    if (named := entry(beside, "quantization.kv_cache_quant_algo")) is not None:
        checks.choice(f"kv_cache_quant_algo of {BESIDE}", named, ALGORITHMS)
        return Storage(ALGORITHMS[named], said=BESIDE)
    said = (part.get("quantization_config") for part in (config, language_model(config)))
    schemes = (one.get("kv_cache_scheme") for one in said if isinstance(one, Mapping))
    scheme = next((one for one in schemes if one is not None), None)
    if scheme is None:
        return Storage()
    told = scheme if isinstance(scheme, Mapping) else {}
    kind = SCHEMES.get(f"{told.get('type')} {told.get('num_bits')}")
    if kind is None:
        raise UncountedError("unknown_scheme", given=scheme)
    return Storage(kind, said=SCHEME)


def written(text: str, published: Storage) -> str:
    """Return what `--kv` said, or what "published" means where nothing is."""
    if text != "published" or published.of_part:
        return text
    usual = published.usual
    return f"{usual} ({published.said or 'no other type is published for it'})"


def type_name(text: str) -> str:
    """Return our name of a type or a part, as people and engines write it: FP8, fp8_e4m3, keys."""
    name = text.strip().lower()
    return SAME.get(name, name)


def storage(text: str, published: Storage | None = None) -> Storage:
    """Read `--kv`: one type ("fp8"), or some parts' ("key=q8_0,value=q4_0"), or both.

    Args:
        text: of the command or a page.
        published: what a model's publisher stores it in, where `text` is "published".

    Raises:
        RefusedError: as Storage.
    """
    if text == "published":
        return published or Storage()
    given = [[type_name(name) for name in word.split("=", 1)] for word in text.split(",")]
    usual = [words[0] for words in given if len(words) == 1]
    own = dict(words for words in given if len(words) == 2)
    checks.choice("kv", text, (text,) if len(usual) < 2 else TYPES)
    return Storage(*usual, of_part=own)
