"""One attention layer of a real model: what there is, how much has to be read, and the layer.

Everything is looked up in config.json and the headers first, so a refusal costs no download.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from mla_engine import budget, checks
from mla_engine.cache import DTYPES
from mla_engine.checkpoints import convert, fp8
from mla_engine.checkpoints.convert import Cut
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.families import Family, attention_config, family_of, n_attentions
from mla_engine.checkpoints.opening import open_checkpoint
from mla_engine.checkpoints.safetensors_file import TensorEntry
from mla_engine.checkpoints.source import Checkpoint, Progress
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.refusals import Phrase

FULL = ("F64", "F32", "BF16", "F16")
QUANTIZED = "F8_E4M3"
TIP = Phrase("fewer_heads")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What `load_attention` would read: found in config.json and headers alone.

    `layer` counts attentions, of which there are `n_layers`; `tensors` are the names in the
    checkpoint and `n_bytes` their size on disk; `dtypes` the stored types. `is_random` says that
    the checkpoint itself calls its weights random. `notes` are words of NOTES.
    """

    name: str
    revision: str | None
    family: str
    config: AttentionConfig
    layer: int
    n_layers: int
    tensors: tuple[str, ...]
    n_bytes: int
    dtypes: tuple[str, ...]
    is_random: bool
    notes: tuple[str, ...]


NOTES = (
    "dequantised from fp8",
    "learned positions",
    "no output bias",
    "part of a larger model",
    "positions end",
    "sliding window",
)


def describe(source: str | Path | Checkpoint, layer: int, *, revision: str | None = None) -> Plan:
    """What loading this attention takes; no weight is read.

    Args:
        source: "owner/name" on the Hub, a folder, or an open checkpoint.
        layer: counts attentions from 0; LongCat has two in each layer.
        revision: of a Hub repository.

    Raises:
        CheckpointError: nothing there, an unknown family, a layer out of range, tensors that are
            missing, doubled, of another shape or dtype, or that config.json does not ask for.
    """
    checkpoint = open_checkpoint(source, revision)
    family, config = family_of(checkpoint.config)[0], attention_config(checkpoint.config, layer)
    fp8.check_quantization(checkpoint.config)
    entries = _entries(checkpoint, family, config, layer)
    dtypes = tuple(dict.fromkeys(entry.dtype for entry in entries.values()))
    return Plan(
        name=checkpoint.name,
        revision=checkpoint.revision,
        family=family.model_type,
        config=config,
        layer=layer,
        n_layers=n_attentions(checkpoint.config),
        tensors=tuple(entries),
        n_bytes=sum(entry.n_bytes for entry in entries.values()),
        dtypes=dtypes,
        is_random=checkpoint.is_random,
        notes=_notes(family, config, checkpoint.config, dtypes),
    )


def load_attention(
    source: str | Path | Checkpoint,
    layer: int,
    *,
    revision: str | None = None,
    heads: Iterable[int] | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> AttentionLayer:
    """One attention of a real model, with its weights.

    Args:
        source: "owner/name" on the Hub, a folder, or an open checkpoint.
        layer: counts attentions from 0; LongCat has two in each layer.
        revision: of a Hub repository.
        heads: global numbers of the heads to build, all by default.
        dtype: of the parameters; what is stored otherwise is converted.
        device: of the parameters.
        progress: called with bytes read and bytes in all; may raise to stop.

    Raises:
        CheckpointError: as `describe`; NaN or Inf among the weights of these heads.
        MemoryBudgetError: the layer and what is read for it are beyond the memory budget.
        ValueError: an unknown head, dtype or device.
    """
    checkpoint = open_checkpoint(source, revision)
    plan = describe(checkpoint, layer)
    checks.choice("dtype", dtype, DTYPES)
    heads = None if heads is None else tuple(heads)
    bare = convert.layer_type(plan.config)(plan.config, heads=heads, dtype=dtype, device="meta")
    entries = checkpoint.entries(plan.tensors)
    what = Phrase("layer_of_model", layer=layer, name=plan.name)
    budget.require(_needed_bytes(bare, plan, entries), what, TIP)
    family = family_of(checkpoint.config)[0]
    before, path, _ = plan.tensors[0].partition(family.attention(layer))
    take = _taker(checkpoint.read(plan.tensors, progress), path, dtype)
    return convert.build(family, plan.config, take, heads, (dtype, device), before + path)


def _entries(
    checkpoint: Checkpoint, family: Family, config: AttentionConfig, layer: int
) -> dict[str, TensorEntry]:
    """The tensors to read by their full names, all checked against config.json."""
    cuts = convert.cuts_of(family, config)
    path = _prefix(checkpoint, family.attention(layer), cuts) + family.attention(layer)
    entries = checkpoint.entries(path + cut.name for cut in cuts)
    for cut in cuts:
        entry = entries[path + cut.name]
        convert.check_shape(entry.name, entry.shape, cut, config)
        if entry.dtype not in FULL and (entry.dtype, len(entry.shape)) != (QUANTIZED, 2):
            raise CheckpointError(
                "stored_dtype",
                name=entry.name,
                dtype=entry.dtype,
                known=", ".join(FULL),
                quantized=QUANTIZED,
            )
    entries |= _scales(checkpoint, entries)
    held = {name for name in checkpoint.tensor_names() if name.startswith(path)}
    convert.check_nothing_else(family, path, held - set(entries))
    return entries


def _prefix(checkpoint: Checkpoint, path: str, cuts: list[Cut]) -> str:
    """What stands before the path: files of a bare model and of a larger one differ in it."""
    for prefix in convert.PREFIXES:
        if any(checkpoint.has(f"{prefix}{path}{cut.name}") for cut in cuts):
            return prefix
    return convert.PREFIXES[0]


def _scales(checkpoint: Checkpoint, entries: Mapping[str, TensorEntry]) -> dict[str, TensorEntry]:
    """The block factors of what is stored in 8 bits."""
    wanted = {n + fp8.SUFFIX: e for n, e in entries.items() if e.dtype == QUANTIZED}
    scales = checkpoint.entries(wanted)
    for name, scale in scales.items():
        if scale.shape != fp8.scale_shape(wanted[name].shape) or scale.dtype not in FULL:
            raise CheckpointError(
                "scale_shape",
                name=name,
                dtype=scale.dtype,
                shape=list(scale.shape),
                of=list(wanted[name].shape),
                block=fp8.BLOCK,
                needed=list(fp8.scale_shape(wanted[name].shape)),
            )
    return scales


def _needed_bytes(bare: AttentionLayer, plan: Plan, entries: Mapping[str, TensorEntry]) -> int:
    """The layer, all that is read, and the largest tensor in the layer's dtype."""
    layer = sum(p.nbytes for p in bare.parameters())
    largest = max(torch.Size(entry.shape).numel() for entry in entries.values())
    return layer + plan.n_bytes + largest * bare.dtype.itemsize


def _taker(stored: dict[str, Tensor], path: str, dtype: torch.dtype) -> Callable[[str], Tensor]:
    """Takes a stored tensor out by its short name, once; 8 bits come in the layer's dtype."""
    names = {name.partition(path)[2]: name for name in stored}

    def take(short: str) -> Tensor:
        name = names[short]
        tensor, scale = stored.pop(name), stored.pop(name + fp8.SUFFIX, None)
        return tensor if scale is None else fp8.dequantized(tensor, scale, dtype)

    return take


def _notes(
    family: Family, config: AttentionConfig, found: Mapping[str, object], dtypes: tuple[str, ...]
) -> tuple[str, ...]:
    true = {
        "dequantised from fp8": QUANTIZED in dtypes,
        "learned positions": not family.row["rope"],
        "no output bias": bool(family.row.get("zero")),
        "part of a larger model": found.get("model_type") not in family.spellings,
        "positions end": getattr(config, "position_limit", None) is not None,
        "sliding window": getattr(config, "sliding_window", None) is not None,
    }
    return tuple(note for note in NOTES if true[note])
