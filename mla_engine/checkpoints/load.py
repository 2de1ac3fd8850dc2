"""One attention layer of a real model: what there is, how much has to be read, and the layer.

Everything is looked up in config.json and the headers first, so a refusal costs no download.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch
from torch import Tensor

from kvcount import checks
from kvcount.files.errors import CheckpointError
from kvcount.refusals import Phrase
from mla_engine import budget, mechanisms
from mla_engine.cache import DTYPES
from mla_engine.checkpoints import convert, fp8
from mla_engine.checkpoints.checkpoint import Checkpoint, Progress, open_checkpoint
from mla_engine.checkpoints.families import Attentions, Family
from mla_engine.checkpoints.safetensors_file import FULL, TensorEntry
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer

QUANTIZED = "F8_E4M3"
TIP = Phrase("fewer_heads")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The reading that `load_attention` would do, found in config.json and headers.

    `layer` counts attentions, of which there are `n_layers`; `tensors` are the names in the
    checkpoint and `n_bytes` their size on disk; `dtypes` the stored types. `is_random` says that
    the checkpoint itself calls its weights random. `notes` are words of NOTES. `mechanisms` has the
    key of each attention's, and `kinds` what it is counted as, "" of one that is not modelled.
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
    mechanisms: tuple[str, ...]
    kinds: tuple[str, ...]


NOTES = (
    "dequantised from fp8",
    "learned positions",
    "no output bias",
    "part of a larger model",
    "positions end",
    "rounded",
    "sliding window",
)


def describe(source: str | Path | Checkpoint, layer: int, *, revision: str | None = None) -> Plan:
    """Say what loading this attention takes; no weight is read.

    Args:
        source: "owner/name" on the Hub, a folder, or an open checkpoint.
        layer: counts attentions from 0; LongCat has two in each layer.
        revision: of a Hub repository.

    Raises:
        CheckpointError: nothing there, an unknown family, a layer out of range, tensors that are
            missing, doubled, of another shape or dtype, or that config.json does not ask for.
    """
    checkpoint = open_checkpoint(source, revision)
    attentions = Attentions(checkpoint.config)
    config, family = attentions.config(layer), attentions.family(layer)
    entries = _entries(checkpoint, family, config, layer)
    dtypes = tuple(dict.fromkeys(entry.dtype for entry in entries.values()))
    keys, kinds = zip(*_mechanisms(attentions), strict=True)
    return Plan(
        name=checkpoint.name,
        revision=checkpoint.revision,
        family=family.model_type,
        config=config,
        layer=layer,
        n_layers=len(attentions),
        tensors=tuple(entries),
        n_bytes=sum(entry.n_bytes for entry in entries.values()),
        dtypes=dtypes,
        is_random=checkpoint.is_random,
        notes=_notes(family, config, checkpoint.config, dtypes),
        mechanisms=keys,
        kinds=kinds,
    )


def _mechanisms(attentions: Attentions) -> Iterator[tuple[str, str]]:
    """Yield the mechanism's key and the kind of every attention."""
    for layer in range(len(attentions)):
        try:
            own = attentions.config(layer)
        except CheckpointError:
            yield "", ""
        else:
            yield mechanisms.of(own).key, mechanisms.of(own).kind(own)


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
    """Return one attention of a real model, with its weights.

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
    bare = mechanisms.of(plan.config).layer(plan.config, heads=heads, dtype=dtype, device="meta")
    entries = checkpoint.entries(plan.tensors)
    what = Phrase("layer_of_model", layer=layer, name=plan.name)
    budget.require(_needed_bytes(bare, plan, entries), what, TIP)
    family = Attentions(checkpoint.config).family(layer)
    before, path, _ = plan.tensors[0].partition(family.attention(layer))
    also = {cut.also: cut.name for cut in convert.cuts_of(family, plan.config) if cut.also}
    take = _taker(checkpoint.read(plan.tensors, progress), path, dtype, also)
    return convert.build(family, plan.config, take, heads, (dtype, device), before + path)


def _entries(
    checkpoint: Checkpoint, family: Family, config: AttentionConfig, layer: int
) -> dict[str, TensorEntry]:
    """Return the tensors to read by their full names, all checked against config.json."""
    cuts = convert.cuts_of(family, config)
    path = _prefix(checkpoint, family.attention(layer)) + family.attention(layer)
    there = checkpoint.below(path)
    fp8.check_stored(checkpoint.config, checkpoint.entries(there).values())
    names = [  # repositories and transformers may differ
        path + (cut.also if cut.also and checkpoint.has(path + cut.also) else cut.name)
        for cut in cuts
    ]
    entries = checkpoint.entries(names)
    for name, cut in zip(names, cuts, strict=True):
        entry = entries[name]
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
    convert.check_nothing_else(family, path, set(there) - set(entries))
    return entries


def _prefix(checkpoint: Checkpoint, path: str) -> str:
    """Return what is before the path: files of a bare model and of a larger one differ in it."""
    for prefix in convert.PREFIXES:
        if checkpoint.below(prefix + path):
            return prefix
    return convert.PREFIXES[0]


def _scales(checkpoint: Checkpoint, entries: Mapping[str, TensorEntry]) -> dict[str, TensorEntry]:
    """Return the block factors of what is stored in 8 bits."""
    quantized = {name: entry for name, entry in entries.items() if entry.dtype == QUANTIZED}
    wanted = {fp8.scale_name(name, checkpoint.has): entry for name, entry in quantized.items()}
    scales = checkpoint.entries(wanted)
    for name, scale in scales.items():
        known = scale.dtype in (*FULL, fp8.POWERS)
        if scale.shape != fp8.scale_shape(wanted[name].shape) or not known:
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
    """Count the layer, all that is read, and the largest tensor in the layer's dtype."""
    layer = sum(p.nbytes for p in bare.parameters())
    largest = max(prod(entry.shape) for entry in entries.values())
    return layer + plan.n_bytes + largest * bare.dtype.itemsize


def _taker(
    stored: dict[str, Tensor], path: str, dtype: torch.dtype, also: Mapping[str, str]
) -> Callable[[str], Tensor]:
    """Return what takes a tensor out by its short name, once; 8 bits as the layer's dtype.

    `also` has other short names with those by which they are asked for.
    """
    shorts = {name: name.partition(path)[2] for name in stored}
    names = {also.get(short, short): name for name, short in shorts.items()}

    def take(short: str) -> Tensor:
        name = names[short]
        tensor = stored.pop(name)
        scale = stored.pop(fp8.scale_name(name, stored.__contains__), None)
        return tensor if scale is None else fp8.dequantized(tensor, scale, dtype)

    return take


def _notes(
    family: Family, config: AttentionConfig, found: Mapping[str, object], dtypes: tuple[str, ...]
) -> tuple[str, ...]:
    true = {
        "dequantised from fp8": QUANTIZED in dtypes,
        "learned positions": "position_embedding" in family.row,
        "no output bias": bool(family.row.get("zero")),
        "part of a larger model": found.get("model_type") not in family.spellings,
        "positions end": config.position_limit is not None,
        "rounded": bool(found.get("mla_explorer_rounded")),
        "sliding window": config.sliding_window is not None,
    }
    return tuple(note for note in NOTES if true[note])
