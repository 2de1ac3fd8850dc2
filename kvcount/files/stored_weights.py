"""The weights that a folder or a repository stores: how many, in how many bytes, of which types.

A folder's safetensors headers say all three, and so does a GGUF file's own. Of a repository's parts
the index says the bytes alone, and config.json the type where they have one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from kvcount.files.config_json import parse_json
from kvcount.files.errors import CheckpointError
from kvcount.files.folder import Files, LocalFiles
from kvcount.files.gguf.files import GgufFiles
from kvcount.files.safetensors_header import INDEX, MOST_INDEX_BYTES, SINGLE, read_header

BITS = {"F64": 64, "F32": 32, "BF16": 16, "F16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "I8": 8}
OF_CONFIG = {"float32": 4, "bfloat16": 2, "float16": 2}  # bytes of a number
SCALES = ("scale", "scales", "scale_inv", "scale_2", "absmax")  # ends of names
FEW = 50  # a type with less than a part in so many of the numbers is no peak's


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Weights in files.

    Args:
        n_bytes: of all of them, their scales among them.
        parameters: their number, None where numbers are packed or nothing tells.
        routed: of them, those of experts; None likewise.
        bits: of the narrowest that are more than a few.
    """

    n_bytes: int
    parameters: int | None = None
    routed: int | None = None
    bits: int | None = None


def stored(files: Files, config: Mapping[str, Any]) -> Stored | None:
    """Return the weights beside a config.json; None where there are none in files that are read.

    Raises:
        CheckpointError: an index or a file that is damaged, named.
    """
    if isinstance(files, GgufFiles):
        return _of_blocks(files)
    paired = _paired(config)
    if SINGLE in files.names():
        return _of_tensors(_tensors(files, SINGLE), paired)
    if (text := files.small_file(INDEX, MOST_INDEX_BYTES)) is None:
        return None
    index = parse_json(text, INDEX)
    places, metadata = index.get("weight_map"), index.get("metadata")
    names = sorted({str(file) for file in places.values()}) if isinstance(places, Mapping) else []
    if isinstance(files, LocalFiles) and names and set(names) <= {*files.names()}:
        return _of_tensors((one for name in names for one in _tensors(files, name)), paired)
    total = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    if not isinstance(total, int) or isinstance(total, bool) or total < 1:
        return None
    each = OF_CONFIG.get(str(config.get("dtype") or config.get("torch_dtype")))
    if each is None or config.get("quantization_config"):
        return Stored(n_bytes=total)
    return Stored(n_bytes=total, parameters=total // each, bits=8 * each)


def _tensors(files: Files, file: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield name, type, numbers and bytes of each tensor by the header of a file."""
    header = read_header(files, file, files.size(file))
    rows = parse_json(header, f"{file} (header)")
    for name, row in rows.items():
        if name == "__metadata__":
            continue
        try:
            start, stop = row["data_offsets"]
            yield name, row["dtype"], prod(row["shape"]), stop - start
        except (TypeError, KeyError, ValueError) as error:
            raise CheckpointError("entry_lacks", where=f"{file}: tensor {name!r:.120}") from error


def _paired(config: Mapping[str, Any]) -> bool:
    """Tell if experts are stored in 4 bits, two in a byte of type I8, as DeepSeek-V4's are."""
    quantised = config.get("quantization_config")
    places = (config, quantised if isinstance(quantised, Mapping) else {})
    return any(place.get("expert_dtype") == "fp4" for place in places)


def _of_tensors(tensors: Iterator[tuple[str, str, int, int]], paired: bool) -> Stored:
    """Add up tensors; scales have bytes and are no parameters."""
    n_bytes, of_bits, routed, packed = 0, Counter(), 0, 0
    for name, dtype, numbers, size in tensors:
        n_bytes += size
        if name.endswith(SCALES):
            continue
        if dtype not in BITS:
            packed += size
            continue
        bits = BITS[dtype]
        if paired and dtype == "I8" and ".experts." in name:
            numbers, bits = 2 * numbers, 4
        of_bits[bits] += numbers
        routed += numbers if ".experts." in name else 0
    total = of_bits.total()
    if packed * FEW > n_bytes or not total:
        return Stored(n_bytes=n_bytes)
    return Stored(n_bytes=n_bytes, parameters=total, routed=routed, bits=_narrowest(of_bits))


def _of_blocks(files: GgufFiles) -> Stored:
    """Add up tensors of GGUF, whose numbers lie in blocks with their factors: 4.5 bits are 4."""
    n_bytes, of_bits = 0, Counter()
    for one in files.tensors.values():
        n_bytes += one.n_bytes
        of_bits[8 * one.type.n_bytes // one.type.numbers] += prod(one.shape)
    return Stored(n_bytes=n_bytes, parameters=of_bits.total(), bits=_narrowest(of_bits))


def _narrowest(of_bits: Counter[int]) -> int:
    """Return the fewest bits that more than a few of the numbers have."""
    return min(bits for bits, n in of_bits.items() if n * FEW >= of_bits.total())
