"""Headers, indexes and files of activations that are nearly right: an answer, or one sentence."""

import json
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from kvcount.files.safetensors_header import LENGTH_BYTES, header_bytes
from mla_engine.checkpoints import describe, open_checkpoint
from mla_engine.checkpoints.activations import read_activations
from mla_engine.checkpoints.safetensors_file import parse_header, parse_json
from tests.attacks.nearly import deep, fuzz, junk, mutated, outcome, outcome_within, texts_of
from tests.sampling import many

ROWS = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
    "c": {"dtype": "U8", "shape": [], "data_offsets": [32, 33]},
}
DATA_BYTES = 33
WIDTH, TOKENS = 8, 3
SAVED = save(
    {"h": torch.ones(TOKENS, WIDTH)}, {"tokens": json.dumps(["a", "b", "c"]), "layer": "1"}
)


@fuzz(many(100, 400))
@given(texts_of(mutated(ROWS)) | texts_of(junk) | deep.map(str.encode), st.integers(-5, 40))
def test_a_header(text, more):
    found = outcome_within(
        64, parse_header, text, "model.safetensors", LENGTH_BYTES + len(text) + more
    )
    for entry in found.values() if isinstance(found, dict) else ():
        assert LENGTH_BYTES + len(text) <= entry.start <= entry.stop
        assert entry.stop <= LENGTH_BYTES + len(text) + more


def test_the_header_that_is_changed_is_good():
    text = json.dumps(ROWS).encode()
    assert set(parse_header(text, "f", LENGTH_BYTES + len(text) + DATA_BYTES)) == {"a", "b", "c"}


@fuzz(many(100, 400))
@given(st.binary(max_size=12), st.integers(-1, 2**64))
def test_the_length_of_a_header(prefix, size):
    found = outcome(header_bytes, prefix, "model.safetensors", size)
    assert not isinstance(found, int) or 0 <= found <= size - LENGTH_BYTES


@fuzz(many(80, 400))
@given(texts_of(junk) | deep.map(str.encode) | st.binary(max_size=200))
def test_any_json(text):
    outcome_within(64, parse_json, text, "config.json")


@pytest.fixture(scope="module")
def folder(demo, tmp_path_factory):
    return shutil.copytree(demo, tmp_path_factory.mktemp("nearly") / "demo")


@pytest.fixture(scope="module")
def index(folder):
    return json.loads((folder / "model.safetensors.index.json").read_text())


@fuzz(many(50, 200))
@given(data=st.data())
def test_an_index(folder, index, data):
    text = data.draw(texts_of(mutated(index)) | texts_of(junk))
    (folder / "model.safetensors.index.json").write_bytes(text)
    outcome_within(64, describe, str(folder), 1)


@fuzz(many(40, 200))
@given(data=st.data())
def test_a_shard_with_another_header(folder, index, data):
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    file = folder / "model-00001-of-00002.safetensors"
    whole = file.read_bytes()
    stop = LENGTH_BYTES + int.from_bytes(whole[:LENGTH_BYTES], "little")
    text = data.draw(texts_of(mutated(json.loads(whole[LENGTH_BYTES:stop]))))
    try:
        file.write_bytes(len(text).to_bytes(LENGTH_BYTES, "little") + text + whole[stop:])
        outcome_within(64, lambda: describe(open_checkpoint(folder), 0))
    finally:
        file.write_bytes(whole)


@fuzz(many(80, 400))
@given(data=st.data())
def test_activations(data):
    stop = LENGTH_BYTES + int.from_bytes(SAVED[:LENGTH_BYTES], "little")
    header = data.draw(texts_of(mutated(json.loads(SAVED[LENGTH_BYTES:stop]))))
    body = data.draw(st.sampled_from([SAVED[stop:], b"", SAVED[stop:] * 2, b"\xff" * 96]))
    found = outcome_within(
        64, read_activations, len(header).to_bytes(8, "little") + header + body, WIDTH, 1
    )
    assert isinstance(found, ValueError) or found.h.shape[2] == WIDTH


def test_the_activations_that_are_changed_are_good():
    assert read_activations(SAVED, WIDTH, 1).tokens == ("a", "b", "c")
