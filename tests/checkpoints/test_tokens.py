"""Tokens of small tokenizers made here, against transformers and against the text itself."""

import json
import shutil

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoTokenizer

from mla_engine.checkpoints.tokens import MOST_CHARACTERS, MOST_TOKENS, spelt, tokenize
from tests.engine.samples import refused

TEXT = "The cat saw 月亮 龘\n\tand  the sea<|end_of_text|>!"


@pytest.fixture
def folder(demo, tmp_path):
    return shutil.copytree(demo, tmp_path / "model")


def test_draws_what_each_token_stands_for(demo):
    found = tokenize(demo, TEXT)
    assert found.tokens[0] == "<|begin_of_text|>"
    assert found.special == (True, *[False] * (len(found.ids) - 1))
    assert found.tokens[1:3] == ("The", "␣cat")
    assert {"月亮", "↵", "⇥"} <= set(found.tokens)
    assert "".join(found.tokens[-2:]) == "<|end_of_text|>!"
    at = found.tokens.index("龘 1/3")  # E9 BE 98 in UTF-8
    assert found.tokens[at : at + 3] == ("龘 1/3", "龘 2/3", "龘 3/3")
    assert spelt(found.tokens)["龘"] == 3
    assert {TEXT[slice(*offset)] for offset in found.offsets[at : at + 3]} == {"龘"}
    for token, (start, stop) in zip(found.tokens[1:at], found.offsets[1:at], strict=True):
        assert token == TEXT[start:stop].replace(" ", "␣")


@pytest.mark.parametrize("ends", ["", "$A <|end_of_text|>", "$A"])
@pytest.mark.parametrize("add_bos_token", [True, False])
def test_adds_the_special_tokens_that_transformers_adds(folder, ends, add_bos_token):
    """Those of tokenizer.json; tokenizer_config.json does not change them."""
    path = folder / "tokenizer.json"
    if ends:
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.post_processor = processors.TemplateProcessing(
            single=ends, special_tokens=[("<|end_of_text|>", 1)]
        )
        tokenizer.save(str(path))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings |= {"add_bos_token": add_bos_token}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    wanted = AutoTokenizer.from_pretrained(folder)(TEXT).input_ids
    assert list(tokenize(folder, TEXT).ids) == wanted


def test_draws_a_metaspace_vocabulary(folder):
    words = {"<0xE9>": 0, "▁the": 1, "▁": 2, "<b>": 3, "a\u202eb": 4}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<0xE9>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_tokens(["a\u202eb"])
    tokenizer.save(str(folder / "tokenizer.json"))
    assert tokenize(folder, "the 龘a\u202eb").tokens == ("␣the", "<0xE9>", "a<U+202E>b")


def test_ignores_truncation_and_padding(folder):
    wanted = tokenize(folder, TEXT)
    path = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=300)
    tokenizer.save(path)
    assert tokenize(folder, TEXT) == wanted


@pytest.mark.parametrize("text", ["", None, 7])
def test_refuses_what_is_no_text(demo, text):
    with refused("text", "empty"):
        tokenize(demo, text)


def test_refuses_a_text_beyond_the_limits_before_it_opens_anything(demo, tmp_path):
    with refused(f"{MOST_CHARACTERS + 1:,}", f"{MOST_CHARACTERS:,}"):
        tokenize(tmp_path / "nowhere", "a" * (MOST_CHARACTERS + 1))
    with refused("tokens", f"{MOST_TOKENS:,}"):
        tokenize(demo, "q" * (MOST_TOKENS + 1))
    with refused("surrogate"):
        tokenize(demo, "half \ud83d")


def test_says_which_tokenizer_there_is_instead(folder):
    (folder / "tokenizer.json").unlink()
    for name in ("tokenizer.model", "tokenization_own.py"):
        (folder / name).touch()
    with refused("no tokenizer.json", "tokenization_own.py", "tokenizer.model", "not run"):
        tokenize(folder, "the")


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[1]"])
def test_refuses_a_damaged_file(folder, content):
    (folder / "tokenizer.json").write_bytes(content)
    with refused("tokenizer.json cannot be read"):
        tokenize(folder, "the")


def test_refuses_a_tokenizer_that_fails_over_the_text(folder):
    """One without a token for what is unknown; one whose expression takes too long, a panic."""
    Tokenizer(models.WordLevel({"the": 1})).save(str(folder / "tokenizer.json"))
    with refused("cannot cut this text", "[UNK]"):
        tokenize(folder, "moon")
    tokenizer = Tokenizer(models.WordLevel({"the": 1}, unk_token="the"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("(a+)+$"), "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    with refused("cannot cut this text", "limit"):
        tokenize(folder, "a" * 28 + "!")
