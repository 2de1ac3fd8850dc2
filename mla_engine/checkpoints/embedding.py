"""Rows of a model's embedding, and the norm before an attention.

Only the rows of the text's tokens are read. All is computed in float32 from the stored numbers,
as transformers does when it is asked for float32: Gemma's factor sqrt(d) is not rounded to bf16.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from kvcount import checks
from kvcount.files.errors import CheckpointError
from mla_engine.checkpoints import fp8
from mla_engine.checkpoints.checkpoint import Checkpoint, Progress
from mla_engine.checkpoints.convert import PREFIXES, check_finite
from mla_engine.checkpoints.families import Family, family_of
from mla_engine.checkpoints.safetensors_file import FULL, TensorEntry
from mla_engine.checkpoints.sources import checked, value_of
from mla_engine.ops import rms_norm


@dataclass(frozen=True)
class Inputs:
    """The embedding and the input norms of a checkpoint."""

    checkpoint: Checkpoint
    family: Family
    config: Mapping[str, Any]  # the part of config.json that speaks of text
    prefix: str  # of every tensor's name

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> "Inputs":
        """Find them; CheckpointError for an unknown family, or without an embedding."""
        family, config = family_of(checkpoint.config)
        name = family.row["embedding"]
        for prefix in PREFIXES:
            if checkpoint.has(prefix + name):
                return cls(checkpoint, family, config, prefix)
        raise CheckpointError(
            "no_embedding", checkpoint=checkpoint.name, name=name, model_type=family.model_type
        )

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the embedding and, if there is one, of the position embedding."""
        row = self.family.row
        names = [row[key] for key in ("embedding", "position_embedding") if key in row]
        return tuple(self.prefix + name for name in names)

    def rows_bytes(self, ids: Sequence[int], d_model: int) -> int:
        """Return the bytes on disk of the rows that `embedded` reads, each once.

        Raises:
            CheckpointError: an embedding that contradicts config.json, or is stored in a code.
        """
        entries = self.checkpoint.entries(self.tables)
        fp8.check_stored(self.checkpoint.config, entries.values())
        check_dtypes(entries.values())
        for name, entry in entries.items():
            if len(entry.shape) != 2 or entry.shape[1] != d_model or not entry.shape[0]:
                raise CheckpointError(
                    "embedding_shape", name=name, shape=list(entry.shape), d_model=d_model
                )
        counts = dict(zip(self.tables, (len(set(ids)), len(ids)), strict=False))
        return sum(
            n * entries[name].n_bytes // entries[name].shape[0] for name, n in counts.items()
        )

    def embedded(self, ids: Sequence[int], progress: Progress | None = None) -> Tensor:
        """Return the first layer's input before its norm: factor x row (+ position row) [t,d]."""
        token_table, *position_table = self.tables
        x = self.checkpoint.rows(token_table, ids, progress).float()
        check_finite(token_table, x)
        x = x * torch.tensor(self._number("embedding_factor"))
        for name in position_table:
            rows = self.checkpoint.rows(name, range(len(ids))).float()
            check_finite(name, rows)
            x = x + rows
        return x

    def norm_tensors(self, layer: int) -> dict[str, str]:
        """Return the names of the norm before attention `layer`: its weight and, if any, bias."""
        row = self.family.row
        block, sublayer = divmod(layer, row["sublayers"])
        paths = [
            self.prefix + path.format(layer=block, sublayer=sublayer) for path in row["input_norm"]
        ]
        for path in paths:
            if self.checkpoint.has(f"{path}.weight"):
                parts = ["weight", "bias"] if row["input_norm_kind"] == "layer" else ["weight"]
                return {part: f"{path}.{part}" for part in parts}
        raise CheckpointError("no_weight", checkpoint=self.checkpoint.name, path=paths[0])

    def _number(self, column: str) -> float:
        """Return config.json's number for a column of the table; CheckpointError if it is none."""
        value = value_of(self.family.keys(self.config), self.family.row[column])
        return float(checked(checks.positive, column, value))

    def normed(self, x: Tensor, layer: int) -> Tensor:
        """Apply the norm before attention number `layer` to x [t,d]."""
        eps = self._number("input_norm_eps")
        names = self.norm_tensors(layer)
        check_dtypes(self.checkpoint.entries(names.values()).values())
        stored = self.checkpoint.read(names.values())
        weights = {part: stored[name].float() for part, name in names.items()}
        for part, name in names.items():
            check_finite(name, weights[part])
            if weights[part].shape != x.shape[-1:]:
                raise CheckpointError(
                    "norm_shape",
                    name=name,
                    shape=list(weights[part].shape),
                    wanted=list(x.shape[-1:]),
                )
        kind = self.family.row["input_norm_kind"]
        if kind == "layer":
            return layer_norm(x, x.shape[-1:], weights["weight"], weights["bias"], eps)
        offset = 1 if kind == "rms + 1" else 0
        return rms_norm(x, weights["weight"] + offset, eps)


def check_dtypes(entries: Iterable[TensorEntry], also: Container[str] = ()) -> None:
    """Raise CheckpointError for numbers that stand for something else, unless named in `also`."""
    for entry in entries:
        if entry.dtype not in FULL and entry.name not in also:
            raise CheckpointError(
                "needs_factors", name=entry.name, dtype=entry.dtype, known=", ".join(FULL)
            )
