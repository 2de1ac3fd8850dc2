"""Kimi's tokenizer by its data, against ranks joined one pair at a time behind another splitter."""

import base64
import json
import shutil
from itertools import pairwise

import pytest
import regex
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import bytes_to_unicode

from mla_engine.checkpoints.checkpoint import MOST_FILE_BYTES
from mla_engine.checkpoints.tokens import tokenize
from tests.engine.samples import refused

TEXT = "Mixed 混合文本mit月亮 and def f(x_1): return x**2 + 12345678 # 注释\n\n  'TIS we'll "
TEXT += " HTTPServer\t终 ÀÉ́ ひらがなカタカナ 한국어 русский 😀👍🏽 <b> \r\n end   "
# of moonshotai's tokenization_kimi.py, as its lines stand there
KIMI = (
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
)  # fmt: skip
SPLIT = regex.compile("|".join(KIMI), regex.VERSION1)
BYTES = {letter: byte for byte, letter in bytes_to_unicode().items()}
SPECIAL = {"[BOS]": 0, "<|im_end|>": 3}  # behind the ranks


def learned():
    """String -> rank of a vocabulary trained on the text: bytes first, then what was joined."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([TEXT] * 3, trainer)
    vocabulary = tokenizer.get_vocab()
    words = sorted(vocabulary, key=vocabulary.get)
    return {bytes(BYTES[letter] for letter in word): rank for rank, word in enumerate(words)}


def joined(piece, ranks):
    """The ranks of a piece: the pair of the lowest rank is joined first, from the left."""
    parts = [bytes([byte]) for byte in piece]
    while pairs := [
        (ranks[a + b], at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in ranks
    ]:
        at = min(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [ranks[part] for part in parts]


@pytest.fixture(scope="module")
def ranks():
    return learned()


@pytest.fixture
def kimi(demo, ranks, tmp_path):
    folder = shutil.copytree(demo, tmp_path / "kimi")
    (folder / "tokenizer.json").unlink()
    lines = (f"{base64.b64encode(word).decode()} {rank}\n" for word, rank in ranks.items())
    (folder / "tiktoken.model").write_text("".join(lines))
    added = {str(len(ranks) + n): {"content": name} for name, n in SPECIAL.items()}
    config = {"auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}}
    config |= {"added_tokens_decoder": added, "tokenizer_class": "TikTokenTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "tokenization_kimi.py").write_text("raise SystemExit('no code of a repository runs')")
    return folder


def test_cuts_as_its_ranks_and_its_pattern_say(kimi, ranks):
    found = tokenize(kimi, TEXT)
    wanted = [n for piece in SPLIT.findall(TEXT) for n in joined(piece.encode(), ranks)]
    assert list(found.ids) == wanted
    assert max(found.ids) > 256
    assert not any(found.special)
    assert "␣and" in found.tokens


def test_special_tokens_have_the_numbers_that_the_config_gives(kimi, ranks):
    found = tokenize(kimi, "a[BOS]b<|im_end|>")
    assert (found.ids[1], found.ids[3]) == (len(ranks), len(ranks) + 3)
    assert found.tokens == ("a", "[BOS]", "b", "<|im_end|>")


DAMAGED = {
    "cut off": (lambda text: text[:-3], "the file is damaged"),
    "no base64": (lambda text: text.replace(" 300\n", "! 300\n"), "line 301"),
    "a line twice": (lambda text: text + text[:9].split("\n")[0] + "\n", "line"),
    "a rank left out": (lambda text: text.replace(" 300\n", " 900\n"), "ranks are not 0, 1, 2"),
    "no byte": (lambda text: text.replace("AA== ", "QUFBQUFB "), "not all 256 bytes"),
    "a long string": (lambda text: text + "QUFB" * 500 + f" {text.count(chr(10))}\n", "line"),
    "a page": (lambda _: "<!DOCTYPE html>", "is a web page"),
    "100 MB": (lambda _: "QQ== 1\n" * 14_000_000, f"larger than {MOST_FILE_BYTES:,}"),
}


@pytest.mark.parametrize(("change", "words"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused_in_a_sentence(change, words, kimi):
    path = kimi / "tiktoken.model"
    path.write_text(change(path.read_text()))
    with refused("tiktoken.model", words):
        tokenize(kimi, TEXT)


@pytest.mark.parametrize(
    "added", [[], {"5": {"content": "x"}}, {"999": {}}, {"x": {"content": "y"}}]
)
def test_special_tokens_that_are_none_are_refused(added, kimi):
    path = kimi / "tokenizer_config.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"added_tokens_decoder": added or [1]})
    )
    with refused("tokenizer_config.json", "special token"):
        tokenize(kimi, TEXT)


def test_another_publishers_pattern_is_not_guessed(kimi):
    (kimi / "tokenizer_config.json").write_text("{}")
    with refused("no tokenizer.json", "tiktoken.model"):
        tokenize(kimi, TEXT)
