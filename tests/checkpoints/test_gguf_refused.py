"""GGUF files that are damaged, or hold what is not understood: one sentence each."""

import shutil
import struct
from contextlib import suppress

import numpy as np
import pytest

from kvcount import sources
from mla_engine.checkpoints import CheckpointError, describe, hidden_states, open_checkpoint
from mla_engine.checkpoints.tokens import tokenize
from tests.checkpoints import gguf_model
from tests.checkpoints.gguf_model import gguf
from tests.engine.samples import refused
from tests.sampling import some

MOST = b"\xff" * 8
SCALING = "llama.rope.scaling.type"


@pytest.fixture(scope="module")
def whole(gguf_file):
    return gguf_file.read_bytes()


def damaged(folder, whole, old, new):
    """The file with something else at the first place of `old`."""
    assert old in whole
    path = folder / "other.gguf"
    path.write_bytes(whole.replace(old, new, 1))
    return path


def number(value):
    return struct.pack("<Q", value)


def name(text):
    return number(len(text)) + text.encode()


def test_a_file_that_is_cut_short(whole, tmp_path):
    path = tmp_path / "cut.gguf"
    for part in (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.3, 0.999):
        path.write_bytes(whole[: int(part * len(whole)) or 6])
        with refused("cut.gguf", "cut short"):
            open_checkpoint(path)


ABSURD = {  # what stands before a length
    "tensors": b"GGUF" + struct.pack("<I", 3),
    "key": name("general.architecture") + struct.pack("<I", 8),
    "words": name("tokenizer.ggml.tokens") + struct.pack("<II", 9, 8),
    "types": name("tokenizer.ggml.token_type") + struct.pack("<II", 9, 5),
    "rows": name("output_norm.weight") + struct.pack("<I", 1),
}


@pytest.mark.parametrize("before", ABSURD.values(), ids=ABSURD)
def test_absurd_lengths(before, whole, tmp_path):
    at = whole.index(before) + len(before)
    path = tmp_path / "absurd.gguf"
    path.write_bytes(whole[:at] + MOST + whole[at + 8 :])
    with refused("absurd.gguf", "cut short"):
        open_checkpoint(path)


OTHER = {
    "architecture": (name("llama"), name("bloom"), "bloom", "llama alone"),
    "version": (b"GGUF" + struct.pack("<I", 3), b"GGUF" + struct.pack("<I", 9), "version 9"),
    "key": (b"llama.rope.freq_base", b"llama.rope.freq_bass", "llama.rope.freq_bass"),
    "a tensor": (b"blk.1.attn_q.weight", b"blk.1.attn_s.weight", "blk.1.attn_s.weight"),
    "no UTF-8": (b"general.architecture", b"general.archi\xffecture", "not UTF-8"),
    "twice": (b"blk.1.attn_q.weight", b"blk.1.attn_k.weight", "blk.1.attn_k.weight", "twice"),
    "no GGUF": (b"GGUF", b"GGUG", "no GGUF file"),
}

ARCHITECTURE, FIRST = "general.architecture", "tokenizer.ggml.bos_token_id"
NORM, LONG = np.ones(256, np.float32), 5_000 * "1"  # more digits than Python reads


def say(writer, key, value, kind):
    """Say another value of a key, of this kind."""
    writer.kv_data[0][key] = gguf.GGUFValue(value, gguf.GGUFValueType[kind])


CHANGES = {
    "a number": (lambda w: say(w, ARCHITECTURE, 5, "INT32"), "architecture 5,", "llama alone"),
    "numbers": (lambda w: say(w, ARCHITECTURE, [1, 2], "ARRAY"), "architecture [1 2],"),
    "experts": (lambda w: w.add_expert_count(8), "llama.expert_count", "8"),
    "scaling": (lambda w: w.add_string(SCALING, "yarn"), SCALING, "yarn"),
    "window": (lambda w: w.add_sliding_window(512), "sliding_window", "512"),
    "turned": (lambda w: w.add_rope_dimension_count(32), "rope.dimension_count", "32"),
    "list": (lambda w: w.add_array("llama.rope.sections", [1, 2]), "llama.rope.sections"),
    "layer 01": (lambda w: w.add_tensor("blk.01.attn_norm.weight", NORM), "blk.01.attn_norm"),
    "layer ١": (lambda w: w.add_tensor("blk.١.attn_norm.weight", NORM), "blk.١.attn_norm"),
    "a long layer": (lambda w: w.add_tensor(f"blk.{LONG}.attn_norm.weight", NORM), "blk.1111111"),
    "factors": (
        lambda w: w.add_tensor("rope_freqs.weight", np.ones(32, np.float32)), "rope_freqs.weight",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES.values(), ids=CHANGES)
def test_what_would_change_the_model(case, tmp_path):
    change, *words = case
    with refused("model.gguf", *words):
        open_checkpoint(gguf_model.write(tmp_path / "model.gguf", change))


@pytest.mark.parametrize(
    ("old", "new", "words"), [(o, n, w) for o, n, *w in OTHER.values()], ids=OTHER
)
def test_what_is_not_understood(old, new, words, whole, tmp_path):
    with refused("other.gguf", *words):
        open_checkpoint(damaged(tmp_path, whole, old, new))


def test_another_type_of_numbers(whole, tmp_path):
    """IQ4_XS, which many files have."""
    entry = name("output_norm.weight") + struct.pack("<I", 1) + number(256)
    path = damaged(tmp_path, whole, entry + struct.pack("<I", 0), entry + struct.pack("<I", 23))
    with refused("other.gguf", "output_norm.weight", "IQ4_XS", "Q4_K"):
        open_checkpoint(path)


def test_another_tokenizer_leaves_the_layers(whole, tmp_path):
    path = damaged(tmp_path, whole, name("smollm"), name("tekken"))
    assert describe(path, 0).n_layers == gguf_model.SIZES["layers"]
    with refused("gpt2/tekken", "gpt2/smollm"):
        tokenize(path, "a text")


def change_words(writer, *words):
    writer.kv_data[0]["tokenizer.ggml.tokens"].value[7 : 7 + len(words)] = words


def begin_with(writer, number):
    """Put the word of this number before every text."""
    writer.add_add_bos_token(True)
    say(writer, FIRST, number, "INT32")


WORDS = {
    "twice": (lambda w: change_words(w, gguf_model.END), "'<|end|>' twice"),
    "none twice": (lambda w: change_words(w, "", ""), "'' twice"),
    "before the first": (lambda w: begin_with(w, -1), "bos_token_id = -1"),
    "behind the last": (lambda w: begin_with(w, 2**30), "bos_token_id = 1073741824"),
}


@pytest.mark.parametrize(("change", "said"), WORDS.values(), ids=WORDS)
def test_words_that_contradict_each_other(change, said, tmp_path):
    path = gguf_model.write(tmp_path / "model.gguf", change)
    with refused("model.gguf", said):
        tokenize(path, "a text")


def test_several_files_in_a_folder(gguf_file, tmp_path):
    for name in ("a-Q4_K.gguf", "b-Q8_0.gguf"):
        shutil.copy(gguf_file, tmp_path / name)
    with refused("several", "a-Q4_K.gguf, b-Q8_0.gguf"):
        open_checkpoint(tmp_path)
    assert describe(tmp_path / "b-Q8_0.gguf", 1).n_layers == gguf_model.SIZES["layers"]


def test_a_cache_is_counted_of_the_file(gguf_file):
    found = sources.find(str(gguf_file), weighed=True)
    assert len(found.model.layers) == gguf_model.SIZES["layers"]


@pytest.mark.parametrize("seed", some(range(200), 20))
def test_random_damage_is_refused_or_read(seed, whole, tmp_path):
    draw = np.random.default_rng(seed)
    data, at = bytearray(whole), int(draw.integers(4, 25_000))
    data[at : at + 8] = [MOST, bytes(8), draw.bytes(1)][seed % 3]
    path = tmp_path / "damaged.gguf"
    path.write_bytes(data)
    with suppress(CheckpointError):
        hidden_states(path, "the cat sat in 2024", 1)
