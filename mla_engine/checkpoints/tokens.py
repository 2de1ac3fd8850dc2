"""Cut a text into tokens by the model's own tokenizer.json.

A tokenizer needs no code of its repository: tokenizer.json holds the vocabulary and every rule, and
of Kimi, which has none, the rules are known. Repositories that bring only a sentencepiece model or
Python code are refused. Which tokens stand before and after a text is what tokenizer.json says, as
transformers 5 has it; keys of tokenizer_config.json such as add_bos_token change nothing there.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kvcount.drawn import drawn, number
from kvcount.files.config_json import parse_json
from kvcount.files.errors import CheckpointError
from kvcount.files.other_kinds import MARK, check_kind
from kvcount.lazy import LazyModule
from kvcount.refusals import Phrase
from mla_engine.checkpoints import tiktoken_file
from mla_engine.checkpoints.checkpoint import Checkpoint, open_checkpoint

tokenizers = LazyModule("tokenizers")

MOST_CHARACTERS = 20_000
MOST_TOKENS = 4_096
SPACE, NEWLINE, TAB = "␣", "↵", "⇥"  # what is invisible, drawn
_IN_BYTES = re.compile("<0x((?:[0-9A-F]{2})+)>")
_PART = re.compile(r"(.+) \d+/(\d+)", re.DOTALL)  # a piece of a text has no space of its own
_VISIBLE = str.maketrans({" ": SPACE, "▁": SPACE, "\n": NEWLINE, "\t": TAB})


@dataclass(frozen=True)
class Tokens:
    """A text's tokens: their ids, how to draw each, and the characters of the text it covers."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]  # (0, 0) for a special token that the text has not
    special: tuple[bool, ...]  # added by the tokenizer, such as a beginning-of-text token


def tokenize(source: str | Path | Checkpoint, text: str, *, revision: str | None = None) -> Tokens:
    """Return the tokens of `text`, with the special ones that the model's tokenizer adds.

    Spaces, new lines and tabs are drawn as signs. Pieces that are only parts of a character are
    drawn as that character and which of its pieces they are, as in 龘 1/3.

    Raises:
        CheckpointError: an empty text, one over the limits, or no tokenizer.json that can be read.
    """
    check_text(text)
    return cut(tokenizer_of(open_checkpoint(source, revision)), text)


def tokenizer_of(checkpoint: Checkpoint) -> "tokenizers.Tokenizer":
    """Return the tokenizer of a checkpoint, to cut several texts by; CheckpointError without."""
    return _kimi(checkpoint) or _load(_file(checkpoint))


def cut(tokenizer: "tokenizers.Tokenizer", text: str) -> Tokens:
    """Return the tokens of `text`; errors as `tokenize`."""
    check_text(text)
    try:
        encoding = tokenizer.encode(text)
    except (TypeError, UnicodeError):
        raise CheckpointError("surrogate") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the library's panics are no Exceptions
        raise CheckpointError("cannot_cut", reason=error) from error
    if not 1 <= len(encoding.ids) <= MOST_TOKENS:
        raise CheckpointError("text_tokens", given=len(encoding.ids), most=MOST_TOKENS)
    return Tokens(
        ids=tuple(encoding.ids),
        tokens=_together(_drawn(encoding.ids, encoding.tokens, tokenizer)),
        offsets=tuple(encoding.offsets),
        special=tuple(map(bool, encoding.special_tokens_mask)),
    )


def check_text(text: str) -> None:
    """Raise CheckpointError for a text that is empty or has too many characters."""
    if not isinstance(text, str) or not text:
        raise CheckpointError("text_empty", text=text)
    if len(text) > MOST_CHARACTERS:
        raise CheckpointError("text_long", given=len(text), most=MOST_CHARACTERS)


def _file(checkpoint: Checkpoint) -> bytes:
    rules = checkpoint.file("tokenizer.json")
    if rules is None:
        found = [name for name in checkpoint.names() if "token" in name or "vocab" in name]
        listed = ", ".join(sorted(found)[:6])
        instead = Phrase("it_has", listed=listed) if found else Phrase("no_other_tokenizer")
        raise CheckpointError("no_tokenizer", name=checkpoint.name, instead=instead)
    check_kind(rules, "tokenizer.json")
    return rules.removeprefix(MARK)


def _kimi(checkpoint: Checkpoint) -> "tokenizers.Tokenizer | None":
    """Return Kimi's tokenizer, whose repositories have no tokenizer.json; None of others."""
    if "tokenizer.json" in (names := checkpoint.names()) or tiktoken_file.FILE not in names:
        return None
    config = parse_json(checkpoint.file(tiktoken_file.CONFIG) or b"{}", tiktoken_file.CONFIG)
    if not tiktoken_file.is_kimi(config):
        return None
    data = checkpoint.file(tiktoken_file.FILE)
    check_kind(data, tiktoken_file.FILE)
    letters = {byte: character for character, byte in _BYTES.items()}
    return tiktoken_file.tokenizer(data, config, letters)


def _load(rules: bytes) -> "tokenizers.Tokenizer":
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(rules)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the library's panics are no Exceptions
        raise CheckpointError("bad_tokenizer", reason=error) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def vocabulary(tokenizer: "tokenizers.Tokenizer", size: int) -> tuple[str, ...]:
    """Return how to draw each of so many tokens; one that has no text is its number, as in <7>."""
    ids = range(size)
    pieces = [tokenizer.id_to_token(place) or f"<{place}>" for place in ids]
    return _drawn(ids, pieces, tokenizer)


def _drawn(
    ids: Iterable[int], pieces: Iterable[str], tokenizer: "tokenizers.Tokenizer"
) -> tuple[str, ...]:
    added = {
        number: token.content for number, token in tokenizer.get_added_tokens_decoder().items()
    }
    in_bytes = "ByteLevel(" in repr(tokenizer.decoder)
    return tuple(
        _printable(added[number]) if number in added else _readable(piece, in_bytes=in_bytes)
        for number, piece in zip(ids, pieces, strict=True)
    )


def _readable(piece: str, *, in_bytes: bool) -> str:
    """Return a vocabulary's piece as text; a byte-level one has a character for each byte."""
    if in_bytes and all(character in _BYTES for character in piece):
        data = bytes(_BYTES[character] for character in piece)
        try:
            piece = data.decode()
        except UnicodeDecodeError:
            return f"<0x{data.hex().upper()}>"
    return visible(piece)


def _together(pieces: tuple[str, ...]) -> tuple[str, ...]:
    """Return pieces of a text; those drawn as bytes by the characters that they make together."""
    named, first = list(pieces), 0
    while first < len(named):
        data, last = b"", first
        while last < len(named) and (found := _IN_BYTES.fullmatch(pieces[last])):
            data += bytes.fromhex(found[1])
            last += 1
            try:
                text = visible(data.decode())
            except UnicodeDecodeError:
                continue
            count = last - first
            if count > 1:
                named[first:last] = [f"{text} {n}/{count}" for n in range(1, count + 1)]
            break
        else:
            last = first
        first = max(last, first + 1)
    return tuple(named)


def spelt(tokens: Iterable[str]) -> dict[str, int]:
    """Return the characters of a text that have no token of their own, and their tokens' number."""
    found = filter(None, map(_PART.fullmatch, tokens))
    return {one[1]: int(one[2]) for one in found}


def visible(piece: str) -> str:
    """Return a piece of text with signs for spaces and new lines; nothing hides or turns."""
    return _printable(piece.translate(_VISIBLE))


def _printable(piece: str) -> str:
    """Write characters that are invisible or change the direction by their number."""
    return "".join(c if c.isprintable() else number(c) for c in drawn(piece))


def _byte_characters() -> dict[str, int]:
    """Return GPT-2's alphabet: printable Latin-1 bytes are themselves, others follow 0xFF."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + n): byte for n, byte in enumerate(others)
    }


_BYTES = _byte_characters()
