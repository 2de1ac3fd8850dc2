"""Headers of safetensors files: agreement with the library, and refusals."""

import json
from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from kvcount.files.config_json import parse_json
from kvcount.files.safetensors_header import header_bytes
from mla_engine.checkpoints import CheckpointError
from mla_engine.checkpoints.safetensors_file import DTYPES, as_tensor, parse_header
from tests.refusals import refusing


def row(dtype="F32", shape=(2, 3), offsets=(0, 24)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def parse(rows, size=None):
    header = rows if isinstance(rows, bytes) else json.dumps(rows).encode()
    return parse_header(header, "a.safetensors", 8 + len(header) + 24 if size is None else size)


@given(st.lists(st.tuples(st.sampled_from(sorted(DTYPES)), st.integers(0, 3)), max_size=4))
def test_reads_what_the_library_writes(kinds):
    tensors = {
        f"{number}": torch.arange(2 * columns).reshape(2, columns).to(torch.uint8).to(DTYPES[dtype])
        for number, (dtype, columns) in enumerate(kinds)
        if dtype != "F8_E8M0"  # which the library writes, and 0 is none of its values
    }
    data = save(tensors)
    length = header_bytes(data[:8], "a", len(data))
    entries = parse_header(data[8 : 8 + length], "a", len(data))
    assert entries.keys() == tensors.keys()
    for name, entry in entries.items():
        found = as_tensor(bytearray(data[entry.start : entry.stop]), entry.dtype, entry.shape)
        assert found.dtype == tensors[name].dtype
        assert entry.n_bytes == prod(entry.shape) * found.itemsize
        assert torch.equal(found.double(), tensors[name].double())


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (b"not json", r"\(header\) is not readable JSON"),
        (b"\xff\xfe", "is not readable JSON"),
        (b"[" * 50_000, "is not readable JSON"),
        (b"[1]", "holds a JSON list, not an object"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice"),
        (b'{"a": {"dtype": "F32", "dtype": "F16"}}', "the key 'dtype' stands twice"),
        ({"a": 5}, "'a' lacks dtype, shape or data_offsets"),
        ({"a": {"dtype": "F32", "shape": []}}, "'a' lacks dtype, shape or data_offsets"),
        ({"a": row("F7")}, "'a' has the dtype 'F7'; known are BF16, F16, F32"),
        ({"a": row(["F32"])}, r"has the dtype \['F32'\]"),
        ({"a": row(shape=(2, -3))}, r"has the shape \[2, -3\], not a list of whole numbers"),
        ({"a": row(shape=(2, True))}, r"has the shape \[2, True\]"),
        ({"a": row(shape=(2, 3.0))}, r"has the shape \[2, 3.0\]"),
        ({"a": row(offsets=(0,))}, r"has the data_offsets \[0\], not two byte counts"),
        ({"a": row(offsets=(-1, 23))}, r"has the data_offsets \[-1, 23\]"),
        ({"a": row(offsets=(24, 0))}, r"lies at bytes \d+-\d+ of a file of"),
        ({"a": row(offsets=(1, 25))}, r"lies at bytes \d+-\d+ of a file of"),
        ({"a": row(shape=(2, 2))}, r"shape \[2, 2\] and dtype F32 needs 16 bytes.*gives it 24"),
        ({"a": row("BF16")}, r"dtype BF16 needs 12 bytes, the header gives it 24"),
        ({"a": row(shape=[10**4000] * 2)}, r"'a' has the shape \[1000"),
        ({"a": row(shape=[1] * 100)}, r"'a' has the shape \[1, 1"),
        ({"a": row(shape=(2**40, 2**40))}, "needs 4835703278458516698824704 bytes"),
        (
            {"a": row(shape=(4,), offsets=(0, 16)), "b": row(shape=(3,), offsets=(12, 24))},
            "the bytes of 'a' and 'b' overlap",
        ),
    ],
)
def test_refuses_a_header_that_contradicts_itself(rows, words):
    assert set(parse({"__metadata__": {"format": "pt"}, "a": row()})) == {"a"}
    with pytest.raises(CheckpointError, match=words):
        parse(rows)


def test_refuses_a_length_that_cannot_be():
    for length, size in ((2**63, 1000), (993, 1000), (25_000_001, 2**40)):
        with pytest.raises(CheckpointError, match=f"a header of {length:,} bytes is more than"):
            header_bytes(length.to_bytes(8, "little"), "a", size)
    assert header_bytes((992).to_bytes(8, "little"), "a", 1000) == 992
    with refusing("short_file", file="a", size=5):
        header_bytes(b"12345", "a", 5)


def test_long_names_do_not_flood_the_message():
    with pytest.raises(CheckpointError) as caught:
        parse({"x" * 10_000: row("y" * 10_000)})
    assert len(str(caught.value)) < 500
    with pytest.raises(CheckpointError, match="9" * 20):
        parse_json(b'{"a": ' + b"9" * 5000 + b"}", "9" * 20)
