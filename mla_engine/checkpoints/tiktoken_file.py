"""Read Kimi's tokenizer from its data: ranks of byte strings, special tokens, and one pattern.

A text is cut by the pattern, and in each piece the neighbours whose joint string has the lowest
rank are joined until none is left. The pattern stands in the repositories' tokenization_kimi.py,
which is not run, and is the same in all of them.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.lazy import LazyModule

tokenizers = LazyModule("tokenizers")

FILE, CONFIG = "tiktoken.model", "tokenizer_config.json"
MOST_RANKS, MOST_BYTES = 1_000_000, 512  # Kimi has 163,584 strings
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
BEFORE, ENDING = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERN = "|".join(
    (
        r"[\p{Han}]+",
        f"{BEFORE}{UPPER}*{LOWER}+{ENDING}",
        f"{BEFORE}{UPPER}+{LOWER}*{ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) (\d{1,7})")


def is_kimi(config: Mapping[str, Any]) -> bool:
    """Return whether tokenizer_config.json names Kimi's own tokenizer, whose pattern is known."""
    auto = config.get("auto_map")
    return isinstance(auto, Mapping) and "tokenization_kimi." in str(auto.get("AutoTokenizer"))


def tokenizer(
    data: bytes, config: Mapping[str, Any], letters: Mapping[int, str]
) -> "tokenizers.Tokenizer":
    """Return the tokenizer of a tiktoken.model.

    Args:
        data: of the file, "base64 rank" a line.
        config: tokenizer_config.json, whose added_tokens_decoder has the special tokens.
        letters: the character of each byte in a byte-level vocabulary.

    Raises:
        CheckpointError: a line that is none, a rank that is missing or there twice, a byte without
            one, special tokens that are none.
    """
    ranks = _ranks(data)
    written = {string: "".join(map(letters.__getitem__, string)) for string in ranks}
    special = _special(config, len(ranks))
    vocabulary = {written[string]: rank for string, rank in ranks.items()}
    if clash := vocabulary.keys() & special:
        raise CheckpointError("special_token", file=CONFIG, token=min(clash))
    merges = [
        (written[string[:at]], written[string[at:]])
        for string in sorted(ranks, key=ranks.__getitem__)
        for at in range(1, len(string))
        if string[:at] in ranks and string[at:] in ranks
    ]
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocabulary | special, merges, ignore_merges=True)
    )
    parts = tokenizers.pre_tokenizers
    cut = parts.Split(tokenizers.Regex(PATTERN), behavior="isolated")
    in_bytes = parts.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = parts.Sequence([cut, in_bytes])
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens([tokenizers.AddedToken(name, normalized=False) for name in special])
    return made


def _ranks(data: bytes) -> dict[bytes, int]:
    """Return string -> rank, in which every rank is there once, and every byte has one."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        found = LINE.fullmatch(line)
        try:
            string = b64decode(found[1], validate=True) if found else b""
        except ValueError:
            string = b""
        if not string or len(string) > MOST_BYTES or string in ranks or number > MOST_RANKS:
            raise CheckpointError("tiktoken_line", file=FILE, number=number)
        ranks[string] = int(found[2])
    if sorted(ranks.values()) != list(range(len(ranks))):
        raise CheckpointError("tiktoken_ranks", file=FILE, count=len(ranks))
    if any(bytes([byte]) not in ranks for byte in range(256)):
        raise CheckpointError("tiktoken_bytes", file=FILE)
    return ranks


def _special(config: Mapping[str, Any], n_ranks: int) -> dict[str, int]:
    """Return special token -> number, those of added_tokens_decoder, which follow the ranks."""
    added = config.get("added_tokens_decoder") or {}
    found: dict[str, int] = {}
    for number, token in added.items() if isinstance(added, Mapping) else [("", None)]:
        name = token.get("content") if isinstance(token, Mapping) else None
        known = isinstance(name, str) and name and name not in found
        if not known or not re.fullmatch(r"\d{1,7}", number) or int(number) < n_ranks:
            raise CheckpointError("special_token", file=CONFIG, token=name or number)
        found[name] = int(number)
    return found
