"""The lines in which vLLM, SGLang and llama.cpp say how large their cache is, out of a log.

A GiB of vLLM and a GB of SGLang (its `GB` is 1024 ** 3) are 2 ** 30 bytes. What is not understood
is handed back by line; of a log with several starts the first is read.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kvcount.dtypes import type_name
from kvcount.reading.keys import UncountedError

GIB = 2**30
MIB = 2**20
MOST_LETTERS = 2**20  # of a log
MOST_UNREAD, MOST_LINE = 8, 160
MOST_POOLS = 8  # of one llama.cpp
N = r"(\d[\d,]{0,18})"
OF_OPTION = r"(\d[\d,]{0,18}(?:\.\d{1,6})?[kKmM]?)(?![\w.])"  # as people write it
UNITS = {"": 1, "k": 1000, "K": 1024, "m": 10**6, "M": 2**20}
SIZE = r"(-?\d{1,9}(?:\.\d{1,9})?)"
IS = r"['\"]?\s*[=:]\s*['\"]?"  # between a name and its value: key=1, 'key': 1
ENGINES = VLLM, SGLANG, LLAMA = "vllm", "sglang", "llama.cpp"


@dataclass(frozen=True)
class Memory:
    """Bytes, and by how much the digits that were written can be off."""

    n_bytes: Fraction
    off_by: Fraction = Fraction(0)

    def __add__(self, other: "Memory") -> "Memory":
        return Memory(self.n_bytes + other.n_bytes, self.off_by + other.off_by)


@dataclass(frozen=True)
class Pool:
    """One of llama.cpp's caches: cells are tokens."""

    cells: int
    layers: int
    memory: Memory


@dataclass(frozen=True, kw_only=True)
class Logged:
    """An engine's own account of its cache; None where a log does not say.

    Args:
        engine: VLLM, SGLANG or LLAMA.
        memory: of the cache on one GPU; of vLLM what was free for it, the least of all ranks.
        tokens, blocks, block_size: that fit, and tokens of a block or a page.
        window_tokens: that fit into SGLang's pool of windows.
        needed, needed_tokens: what vLLM says that one sequence of so many tokens needs.
        concurrency: sequences of `length` tokens that fit.
        tensor, data, pipeline, context: ranks of each parallelism; attention_data: whether groups
            of `data` ranks split attention's `tensor` ranks among them, as in SGLang.
        kv: type of the cache; "auto" is the model's own.
        batched: most tokens of a step.
        caching: whether prefixes are kept; speculative: the method that drafts tokens.
        alike: whether windows are kept as full attention is.
        chosen_rows: whether it names the FP8 layout of kernels that read chosen rows (fp8_ds_mla).
        fraction: share of a GPU's memory that the engine may take; model: as the log names it.
        unread: lines that speak of the cache and were not understood or not used, the first few.
    """

    engine: str | None = None
    memory: Memory | None = None
    tokens: int | None = None
    blocks: int | None = None
    block_size: int | None = None
    window_tokens: int | None = None
    needed: Memory | None = None
    needed_tokens: int | None = None
    concurrency: float | None = None
    length: int | None = None
    tensor: int | None = None
    data: int | None = None
    pipeline: int | None = None
    context: int | None = None
    attention_data: bool = False
    kv: str | None = None
    batched: int | None = None
    caching: bool = False
    speculative: str | None = None
    alike: bool = False
    chosen_rows: bool = False
    fraction: float | None = None
    model: str | None = None
    unread: tuple[str, ...] = ()

    @property
    def said(self) -> dict[str, Any]:
        """The values that a log says, by name."""
        return {
            name: value
            for name, value in vars(self).items()
            if value not in (None, False) and name != "unread"
        }

    @property
    def ranks(self) -> int:
        """GPUs over which the heads of a sequence are split."""
        tensor = self.tensor or 1
        return max(1, tensor // (self.data or 1)) if self.attention_data else tensor


def whole(text: str) -> int:
    """Return a number as engines write it: 715072 or 715,072, in an option 32k (1,000) or 32K."""
    number, unit = re.fullmatch(r"([\d,]+(?:\.\d+)?)([kKmM]?)", text).groups()
    return int(Fraction(number.replace(",", "")) * UNITS[unit])


def gib(text: str, unit: int = GIB) -> Memory:
    """Return a size in GiB, off by half of its last digit."""
    digits = len(text.partition(".")[2])
    return Memory(Fraction(text) * unit, Fraction(unit, 2 * 10**digits))


def mib(text: str) -> Memory:
    """Return a size in MiB likewise."""
    return gib(text, MIB)


def _kv(text: str) -> str:
    return type_name(text.removeprefix("torch."))


def _yes(_text: str) -> bool:
    return True


Reads = tuple[str, re.Pattern[str], Callable[[str], Any]]


def _reads(field: str, pattern: str, read: Callable[[str], Any], flags: int = 0) -> Reads:
    return field, re.compile(pattern, flags), read


def _option(field: str, names: str, value: str, read: Callable[[str], Any]) -> Reads:
    """Return how an option is read, in a command, in a dict or as key=value."""
    either = rf"(?:--?(?:{names})[\s=]+['\"]?|(?:{names}){IS})"
    return _reads(field, rf"(?<![\w-]){either}{value}", read, re.IGNORECASE)


SIZES: tuple[Reads, ...] = (  # one group each
    _reads("memory", rf"Available KV cache memory: {SIZE} ?GiB", gib),
    _reads("memory", rf"reserved for KV Cache is {SIZE} ?GiB", gib),
    _reads("memory", rf"available KV cache memory \({SIZE} ?GiB\)", gib),
    _reads("memory", rf"\bkv_cache_size={SIZE} ?GiB", gib),
    _reads("tokens", rf"GPU KV cache size: {N} tokens", whole),
    _reads("blocks", rf"(?:GPU|cuda) blocks: {N}", whole),
    _reads("length", rf"Maximum concurrency for {N} tokens per request", whole),
    _reads("concurrency", rf"tokens per request: {SIZE}x", float),
    _reads("block_size", rf"Setting attention block size to {N} tokens", whole),
    _reads("context", rf"GPU KV cache size by the d?cp_world_size {N}", whole),
    _reads("needed_tokens", rf"max seq len \({N}\), \(?{SIZE} GiB KV cache is needed", whole),
    _reads("needed", rf"{SIZE} GiB KV cache is needed", gib),
    _reads("window_tokens", rf"swa_layer_tokens={N}", whole),
    _reads("kv", r"[Uu]sing KV cache dtype: ([\w.]+)", _kv),
    _reads("chosen_rows", r"(fp8_ds_mla)", _yes),
    _reads("alike", r"(disabled for this hybrid model|Turning off hybrid kv cache manager)", _yes),
    _reads("alike", rf"(disable[_-]hybrid[_-]kv[_-]cache[_-]manager{IS}True)", _yes),
    _option("tensor", "tensor[_-]parallel(?:[_-]size)?|tp(?:[_-]size)?", OF_OPTION, whole),
    _option("data", "data[_-]parallel[_-]size|dp(?:[_-]size)?", OF_OPTION, whole),
    _option("pipeline", "pipeline[_-]parallel[_-]size|pp(?:[_-]size)?", OF_OPTION, whole),
    _option("context", "decode[_-]context[_-]parallel[_-]size|dcp", OF_OPTION, whole),
    _reads("attention_data", rf"(--enable-dp-attention|enable_dp_attention{IS}True)", _yes),
    _option("block_size", "block[_-]size|page[_-]size", OF_OPTION, whole),
    _option("length", "max[_-]model[_-]len|context[_-]length", OF_OPTION, whole),
    _option("batched", "max[_-]num[_-]batched[_-]tokens", OF_OPTION, whole),
    _option("kv", "kv[_-]cache[_-]dtype", r"([a-z]\w+)", _kv),
    _reads("caching", rf"(--enable-prefix-caching|enable_prefix_caching{IS}True)", _yes),
    _option("speculative", "method|speculative[_-]algorithm", r"([A-Za-z]\w+)", str.lower),
    _option("fraction", "gpu[_-]memory[_-]utilization|mem[_-]fraction[_-]static", SIZE, float),
    _option("model", "model(?:[_-]path|_tag)?", r"([\w./~-]{1,120})", str),
    _reads("model", r"vllm serve ([\w./~-]{1,120})", str),
)
POOL = re.compile(
    r"KV Cache is allocated\.(?: dtype: (?P<kv>[\w.]+),)? #tokens: (?P<tokens>\d{1,15}),"
    rf" (?:KV size: {SIZE} ?GB|K size: {SIZE} ?GB, V size: {SIZE} ?GB)"
)
POOLS = re.compile(
    rf"SWAKVPool mem usage: {SIZE} ?GB,"
    r" swa size: (?P<swa>\d{1,15}), full size: (?P<full>\d{1,15})"
)
TYPED = r"(?:c\^KV|K) \((?P<kv>\w+)\)(?:: +[\d.]+ MiB, V \((?P<value>\w+)\): +(?P<second>[\d.]+))?"
SELF = re.compile(rf"KV self size\s*=\s*{SIZE} ?MiB(?:, {TYPED})?")
CELLS = re.compile(
    rf"size\s*=\s*{SIZE} ?MiB \(\s*(?P<cells>\d{{1,15}}) cells,"
    rf"(?:\s*(?P<layers>\d{{1,6}}) layers,)?.*?(?:{TYPED}|$)"
)
CONTEXT = re.compile(r"llama\w*:\s+(?:n_ctx|kv_size)\s*=\s*(\d{1,15})")
TOTAL = re.compile(r"max_total_num_tokens=(\d{1,15})")
SPEAKS = re.compile(r"kv.?cache(?! usage)|gpu blocks|mamba|max_total_num|swakvpool", re.I)
COUNTED = re.compile(r"padding layers, may waste|KV buffer size")  # what is counted here, too
HINTS = re.compile(  # one of these is in every line that says something
    r"kv|cach|block|token|parallel|model|method|algorithm|fraction|utili|length|serve|size"
    r"|\b(?:tp|dp|pp|dcp)\b",
    re.IGNORECASE,
)
OF_VLLM = re.compile(r"GiB|GPU blocks|kv_cache_utils|vllm", re.I)
OF_LLAMA = re.compile(r"KV self size|llama_\w+:")
OF_SGLANG = re.compile(r"KV Cache is allocated|SWAKVPool|max_total_num_tokens|sglang|mem.fraction")


def parse(text: str) -> Logged:
    """Read a log, or the lines of one that were pasted.

    Raises:
        UncountedError: one of more than 2**20 characters.
    """
    if len(text) > MOST_LETTERS:
        raise UncountedError("long_log", most=MOST_LETTERS)
    found: dict[str, Any] = {}
    unread: dict[str, None] = {}
    for line in filter(HINTS.search, text.splitlines()):
        if not _take(line, found) and SPEAKS.search(line) and not COUNTED.search(line):
            unread[line.strip()[:MOST_LINE]] = None
    if found and "engine" not in found:
        engines = {LLAMA: OF_LLAMA, SGLANG: OF_SGLANG, VLLM: OF_VLLM}
        found["engine"] = next((name for name, sign in engines.items() if sign.search(text)), None)
    if pools := found.pop("pools", None):
        found |= _of_pools(pools.values())
    return Logged(**found, unread=tuple(unread)[:MOST_UNREAD])


def _take(line: str, found: dict[str, Any]) -> bool:
    """Keep what a line says, the first of each value; tell if it says what was not yet known."""
    new = dict(_of_line(line))
    if pool := new.pop("pool", None):
        return _take_pool(pool, new, found)
    started = "tokens" in found or "blocks" in found
    memory, known = new.get("memory"), found.get("memory")
    if memory and known and new.get("engine") is None and not started:  # another rank
        new["memory"] = found["memory"] = min(known, memory, key=lambda one: one.n_bytes)
    if new.pop("whole_pool", False):
        found.update(new)
    if "concurrency" in new and "concurrency" not in found and "length" in new:
        found["length"] = new["length"]  # whatever an option says
    for name, value in new.items():
        found.setdefault(name, value)
    return any(found[name] == value for name, value in new.items())


def _take_pool(pool: Pool, new: dict[str, Any], found: dict[str, Any]) -> bool:
    """Keep one of llama.cpp's caches: it has another one for layers with a window."""
    pools: dict[tuple[int, int], Pool] = found.setdefault("pools", {})
    if (pool.cells, pool.layers) in pools or len(pools) == MOST_POOLS:
        return False
    pools[pool.cells, pool.layers] = pool
    for name, value in new.items():
        found.setdefault(name, value)
    return True


def _of_pools(pools: Iterable[Pool]) -> dict[str, Any]:
    """Return the size of all of llama.cpp's caches, and the tokens of the longest and shortest."""
    cells = [pool.cells for pool in pools]
    found = {
        "memory": sum((pool.memory for pool in pools), Memory(Fraction(0))),
        "tokens": max(cells),
    }
    return found | ({"window_tokens": min(cells)} if len(cells) > 1 else {})


def _of_line(line: str) -> Iterator[tuple[str, Any]]:
    """Yield what a line says, by name; of a name that it has twice the first."""
    if pool := POOL.search(line):
        sizes = [gib(size) for size in pool.groups()[2:] if size]
        yield from {"engine": SGLANG, "tokens": int(pool["tokens"])}.items()
        yield "memory", sizes[0] if len(sizes) == 1 else sizes[0] + sizes[1]
        if pool["kv"]:
            yield "kv", _kv(pool["kv"])
    if pools := POOLS.search(line):
        yield from {"engine": SGLANG, "whole_pool": True, "memory": gib(pools[1])}.items()
        yield from {"tokens": int(pools["full"]), "window_tokens": int(pools["swa"])}.items()
    yield from _of_llama(line)
    if total := TOTAL.search(line):
        yield from {"engine": SGLANG, "tokens": int(total[1])}.items()
    taken = set()
    for field, pattern, read in SIZES:
        if field not in taken and (match := pattern.search(line)):
            value = read(match[1])
            if value != 0:  # a size of no tokens or ranks says nothing
                taken.add(field)
                yield field, value


def _of_llama(line: str) -> Iterator[tuple[str, Any]]:
    """Yield what a line of llama.cpp says: the size of its cache, its type, its tokens."""
    if "llama_memory_recurrent" in line:  # states, which are no tokens
        yield "engine", LLAMA
    elif own := SELF.search(line) or CELLS.search(line):
        cells = int(own.groupdict().get("cells", 0))
        if not float(own[1]):
            return  # of no layer
        yield "engine", LLAMA
        layers = int(own.groupdict().get("layers") or 0)
        yield ("pool", Pool(cells, layers, mib(own[1]))) if cells else ("memory", mib(own[1]))
        if own["kv"]:
            yield "kv", _of_pair(own["kv"], own["value"] if float(own["second"] or 0) else None)
    if context := CONTEXT.search(line):
        yield from {"engine": LLAMA, "tokens": int(context[1])}.items()


def _of_pair(key: str, value: str | None) -> str:
    """Return the type of keys and values, or both types where they differ."""
    key, value = _kv(key), _kv(value or key)
    return key if key == value else f"key={key},value={value}"


def with_flags(log: Logged, flags: dict[str, Any]) -> Logged:
    """Return a log with what was given beside it, which goes before what it says."""
    return replace(log, **{name: value for name, value in flags.items() if value is not None})
