"""The small real model as one of Multi-head Latent Attention: SmolLM2-135M-MLA in models/.

`python -m mla_engine.checkpoints.real_mla [FOLDER]`. Its attention was made out of the model's own
and then taught to follow it (`make heal-real`). What changed is kept in 8 bits in assets/; here the
weights are made of that and of the model's folder (the family mla_explorer). All else is the
model's own file, under a second name. Needs no torch.

A differences file has of each layer n, in int8 with a scale (float32) a row under NAME.scale:

    n.kv_a [c+r,d]        W_DKV over W_KR
    n.kv_b [g(k+v),c]     W_UK over W_UV of each KV head, which the heads of a group share
    n.O [d,h v]           is added to W_O
    n.mix [h,p,2]         float32, no scale: pair p of W_QR is this complex number times the pair
                          of W_Q that `pairs` names; W_UQ is W_Q
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvcount.files.errors import CheckpointError, unreadable, usable
from kvcount.files.folder import CONFIG
from kvcount.files.gguf.files import TOKENIZER
from kvcount.files.safetensors_header import INDEX, SINGLE
from kvcount.lazy import LazyModule
from mla_engine.checkpoints.gguf_folder import TOKENIZER_CONFIG
from mla_engine.checkpoints.real_model import FOLDER as SOURCE
from mla_engine.checkpoints.real_model import LICENCE, README

np, safetensors = LazyModule("numpy"), LazyModule("safetensors")
numpy_files = LazyModule("safetensors.numpy")

FOLDER = Path("models/smollm2-135m-mla")
DIFFERENCES = Path(__file__).parents[2] / "assets" / "real_mla" / "differences.safetensors"
OWN, ATTENTION = "base.safetensors", "attention.safetensors"
PATH = "model.layers.{layer}.{attention}.{name}.weight"
ABOUT = """# SmolLM2-135M-Instruct with Multi-head Latent Attention

Made from the folder {source} beside it (SmolLM2-135M-Instruct by Hugging Face, Apache-2.0,
rounded to 4 bits: see its README): its attention was converted to MLA and then taught to follow
the original, {about}. Of a token a layer caches {cached} numbers, not {before}.
"""


def build(
    folder: str | Path = FOLDER,
    source: str | Path = SOURCE,
    differences: str | Path = DIFFERENCES,
) -> Path:
    """Write the folder of the model with MLA, whole or not at all.

    Raises:
        CheckpointError: no model in `source`, no differences, or of another model.
    """
    folder, source = Path(folder), Path(source)
    part = folder.with_name(f".{folder.name}.part")
    with usable(str(folder)), unreadable(source):
        about, made = _read(differences, source / SINGLE)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            _write(part, source, about, made)
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def attention_of(
    differences: Mapping[str, Any], W_Q: Any, W_O: Any, pairs: list[int]
) -> dict[str, Any]:
    """Return a layer's matrices of MLA, by DeepSeek's names, in float32.

    Args:
        differences: the tensors of one layer, without its number.
        W_Q: of the original [h,k,d].
        W_O: of the original [d,h v].
        pairs: the pair of a head of W_Q that stands at each pair of the rotary query.
    """
    heads, width, d = W_Q.shape
    real, imaginary = (part[:, pairs] for part in (W_Q[:, : width // 2], W_Q[:, width // 2 :]))
    a, b = differences["mix"][..., :1], differences["mix"][..., 1:]
    W_QR = np.concatenate((a * real - b * imaginary, a * imaginary + b * real), 1)
    kv_b = _in_full(differences, "kv_b")
    shared = kv_b.reshape(-1, 2 * width, kv_b.shape[1])
    return {
        "q_proj": np.concatenate((W_Q, W_QR), 1).reshape(-1, d),
        "kv_a_proj_with_mqa": _in_full(differences, "kv_a"),
        "kv_b_proj": shared.repeat(heads // len(shared), 0).reshape(-1, kv_b.shape[1]),
        "o_proj": W_O + _in_full(differences, "O"),
    }


def _in_full(differences: Mapping[str, Any], name: str) -> Any:
    return differences[name].astype("f4") * differences[f"{name}.scale"][:, None]


def _read(differences: str | Path, original: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the differences say of themselves, and the attention of all layers."""
    try:
        with safetensors.safe_open(differences, "np") as file:
            about = json.loads(file.metadata()["about"])
            return about, _attention(file, about, original)
    except safetensors.SafetensorError as error:
        raise CheckpointError("unreadable", where=original, reason=error) from error


def _attention(file: Any, about: dict[str, Any], original: Path) -> dict[str, Any]:
    """Return the attention of all layers in float16, by the names of the tensors."""
    made = {}
    with safetensors.safe_open(original, "np") as own:
        for layer in range(about["layers"]):
            of_layer = f"{layer}."
            differences = {
                name.removeprefix(of_layer): file.get_tensor(name)
                for name in file.keys()  # noqa: SIM118 - a file is no mapping
                if name.startswith(of_layer)
            }
            W_Q, W_O = (
                own.get_tensor(PATH.format(layer=layer, attention="self_attn", name=name)).astype(
                    "f4"
                )
                for name in ("q_proj", "o_proj")
            )
            W_Q = W_Q.reshape(about["heads"], -1, W_Q.shape[1])
            found = attention_of(differences, W_Q, W_O, about["pairs"])
            for name, weight in found.items():
                made[PATH.format(layer=layer, attention="mla", name=name)] = weight.astype("f2")
    return made


def _write(folder: Path, source: Path, about: dict[str, Any], made: dict[str, Any]) -> None:
    config = json.loads((source / CONFIG).read_text("utf-8")) | about["config"]
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    for name in (LICENCE, TOKENIZER, TOKENIZER_CONFIG):
        if (source / name).exists():
            shutil.copyfile(source / name, folder / name)
    told = {"source": source.name, "about": about["told"], **about["numbers"]}
    (folder / README).write_text(ABOUT.format(**told), "utf-8")
    numpy_files.save_file(made, folder / ATTENTION)
    try:
        os.link(source / SINGLE, folder / OWN)
    except OSError:
        shutil.copyfile(source / SINGLE, folder / OWN)
    with safetensors.safe_open(folder / OWN, "np") as own:
        names = [name for name in own.keys() if ".self_attn." not in name]  # noqa: SIM118
    places = dict.fromkeys(names, OWN) | dict.fromkeys(made, ATTENTION)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}), "utf-8")


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build(*sys.argv[1:])}\n")
    except CheckpointError as error:
        sys.exit(f"{FOLDER} is not made: {error}")
