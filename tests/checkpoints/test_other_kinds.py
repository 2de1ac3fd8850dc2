"""Files as people download them: what is no model's file is named for what it is."""

import codecs
import io
import json
import shutil

import pytest
import torch

from kvcount import sources
from mla_engine.checkpoints import describe, hidden_states, load_attention, open_checkpoint
from tests.checkpoints.models import rewrite_config, rewritten
from tests.checkpoints.texts import TEXT, add_tokenizer
from tests.engine.samples import refused


def pickled():
    file = io.BytesIO()
    torch.save({"w": torch.ones(3)}, file)
    return file.getvalue()


POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:4cac19622fc3ada9\nsize 4932307584\n"
)
KINDS = {  # as git, llama.cpp, a browser and torch write them
    "pointer": (POINTER, "is a Git LFS pointer"),
    "GGUF": (b"GGUF\x03\x00\x00\x00" + bytes(3_000_000), "GGUF"),
    "page": (b"\n<!DOCTYPE html>\n<html class=''>", "is a web page (HTML)"),
    "zip": (pickled(), "is a zip archive, or a pickle file of torch"),
}
FILES = ("model.safetensors", "config.json", "tokenizer.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return add_tokenizer(rewritten(tmp_path_factory.mktemp("whole") / "own", "llama"))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(("data", "words"), KINDS.values(), ids=KINDS)
def test_names_a_file_for_what_it_is(data, words, file, folder, tmp_path):
    damaged = shutil.copytree(folder, tmp_path / "model")
    (damaged / file).write_bytes(data)
    with refused(file, words):
        hidden_states(damaged, TEXT, 0)
    with refused(words):
        open_checkpoint(damaged / file)
    with refused(words):
        sources.find(str(damaged / file))


def test_names_a_folder_of_gguf(folder, tmp_path):
    only = tmp_path / "only"
    only.mkdir()
    shutil.copy(folder / "config.json", only)
    (only / "model-Q4_K_M.gguf").write_bytes(KINDS["GGUF"][0])
    with refused("model-Q4_K_M.gguf", "GGUF", "general.architecture"):
        open_checkpoint(only)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (b"\xfe\xff", "utf-16-be")],
)
def test_reads_a_config_with_a_mark_before_it(mark, encoding, folder, tmp_path):
    """Notepad writes the first, PowerShell the second."""
    marked = shutil.copytree(folder, tmp_path / "model")
    text = (folder / "config.json").read_text()
    (marked / "config.json").write_bytes(mark + text.encode(encoding))
    assert open_checkpoint(marked).config == json.loads(text)
    assert sources.of_text(mark + text.encode(encoding)) == sources.of_text(text.encode())


def test_reads_a_tokenizer_with_a_mark_before_it(folder, tmp_path):
    marked = shutil.copytree(folder, tmp_path / "model")
    rules = (folder / "tokenizer.json").read_bytes()
    (marked / "tokenizer.json").write_bytes(codecs.BOM_UTF8 + rules)
    wanted = hidden_states(folder, TEXT, 0)
    assert hidden_states(marked, TEXT, 0).ids == wanted.ids


def test_names_a_folder_of_mlx(tmp_path):
    """Its matrices are words of 32 bits with scales and biases, as mlx_lm.convert writes them."""

    def packed(tensors):
        found = {}
        for name, tensor in tensors.items():
            if not name.endswith("q_proj.weight"):
                found[name] = tensor
                continue
            group = name.removesuffix("weight")
            found[name] = torch.zeros(len(tensor), 6, dtype=torch.uint32)
            found |= {f"{group}{part}": torch.ones(len(tensor), 1) for part in ("scales", "biases")}
        return found

    folder = rewritten(
        tmp_path / "mlx", "llama", packed, quantization={"group_size": 48, "bits": 4}
    )
    with refused("4 bits in groups of 48", "MLX", "original weights"):
        describe(folder, 0)
    rewrite_config(folder, quantization_config={"group_size": 48, "bits": 4})
    with refused("MLX"):
        load_attention(folder, 0)
