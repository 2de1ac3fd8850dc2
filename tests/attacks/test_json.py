"""JSON that strangers wrote: read in time and memory that grow with its length, or refused."""

import json
import tracemalloc

import pytest

from kvcount.files import config_json
from kvcount.files.config_json import parse_json
from mla_engine.checkpoints import CheckpointError, open_checkpoint, safetensors_file
from mla_engine.checkpoints.safetensors_file import parse_header
from tests.checkpoints.reading import names_of
from tests.refusals import refusing

FILE = "model-00001-of-00002.safetensors"


class Counted(str):
    """A key that counts with how many others it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)


def test_a_key_that_stands_twice_is_found_in_one_pass():
    names = [Counted(f"key{number}") for number in range(3000)]
    Counted.compared = 0
    with pytest.raises(CheckpointError, match="the key 'key2999' stands twice"):
        config_json._with_unique_keys([(name, 1) for name in [*names, Counted("key2999")]])
    assert Counted.compared < 3 * len(names)


def test_keeps_little_more_of_an_index_than_its_names(model_folder):
    names, file = [f"layers.{number}.W" for number in range(20_000)], f"{'m' * 200}.safetensors"
    index = {"metadata": {"note": "n" * 100_000}, "weight_map": dict.fromkeys(names, file)}
    text = json.dumps(index)
    (model_folder / "model.safetensors.index.json").write_text(text)
    tracemalloc.start()
    try:
        checkpoint = open_checkpoint(model_folder)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(map(checkpoint.has, names))
    assert kept < 0.7 * len(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": ' + "[" * 33 + "]" * 33 + "}", "more than 32 deep in each other"),
        ('{"a": ' + "[" * 400 + "]" * 400 + "}", "more than 32 deep in each other"),
        ('{"' + "[" * 400 + '\\"": 1, "b' + "[" * 400 + '": 1, "a": 1}', None),
        ('{"\\ud800": 1}', "surrogates not allowed"),
        ('{"a": "\\ud800"}', None),
    ],
)
def test_refuses_what_cannot_be_compared_or_shown(text, words):
    if words is None:
        assert parse_json(text.encode(), "f")
        return
    with pytest.raises(CheckpointError, match=words) as caught:
        parse_json(text.encode(), "f")
    assert str(caught.value).encode()


def test_refuses_more_values_than_any_file_has(monkeypatch):
    """Counted in the text, before a single one is made."""
    monkeypatch.setattr(config_json, "MOST_VALUES", 1000)
    assert parse_json(b'{"a": [' + b"0," * 900 + b"0]}", "f")
    monkeypatch.setattr(config_json.json, "loads", lambda *_, **__: pytest.fail("parsed"))
    for text in (b"0," * 1000 + b"0", b"[],{}," * 500 + b"0"):
        with refusing("many_values", most=1000):
            parse_json(b'{"a": [' + text + b"]}", "f")


def test_refuses_more_tensors_and_files_than_any_model_has(model_folder, monkeypatch):
    path = model_folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {f"{n}": f"{n}.safetensors" for n in range(12)}}))
    monkeypatch.setattr("mla_engine.checkpoints.checkpoint.MOST_SHARDS", 11)
    with refusing("many_shards", given=12, most=11):
        open_checkpoint(model_folder)
    monkeypatch.setattr(safetensors_file, "MOST_TENSORS", 11)
    with refusing("many_tensors", given=12, most=11):
        open_checkpoint(model_folder)
    row = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({f"{n}": row for n in range(12)}).encode()
    with refusing("many_tensors", given=12, most=11):
        parse_header(header, FILE, len(header) + 8)


def test_counts_the_tensors_of_all_headers_together(model_folder, monkeypatch):
    checkpoint = open_checkpoint(model_folder)
    monkeypatch.setattr(safetensors_file, "MOST_TENSORS", 10)
    with refusing("many_tensors", given=11, most=10):
        checkpoint.entries(names_of(model_folder))


@pytest.mark.parametrize("shape", [[2**40, 2**40, 0], [0, 2**62, 2], [2**62, 0, 2**62]])
def test_refuses_an_empty_tensor_that_torch_cannot_count(shape):
    rows = {"a": {"dtype": "U8", "shape": shape, "data_offsets": [0, 0]}}
    header = json.dumps(rows).encode()
    with pytest.raises(CheckpointError, match="has the shape"):
        parse_header(header, FILE, len(header) + 8)
