"""Cut a checkpoint's tensors into the engine's parameters, as kvcount's model_types.toml says.

A checkpoint fuses what are several parameters of the engine: [latent; rotary key] in one matrix,
per head [content; rotary] or [key; value], queries with keys and values. A cut says in which order.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from kvcount.files.errors import CheckpointError
from kvcount.refusals import Phrase
from mla_engine import mechanisms
from mla_engine.checkpoints.families import Family
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.symbols import SIZES, SYMBOLS

LETTERS = SIZES | {"n": "group_size"}
PART = 2**20
OF_CACHE = ("k_scale", "v_scale")  # for a cache in 8 bits; weights are not multiplied by them
PREFIXES = (
    "model.",
    "",
    "transformer.",
    "language_model.model.",
    "model.language_model.",
    "language.model.",
    "thinker.model.",
)


def sizes_of(config: AttentionConfig) -> dict[str, int]:
    """Return the width of each einsum letter that the configuration has."""
    found = {letter: config.size(name) for letter, name in LETTERS.items()}
    return {letter: size for letter, size in found.items() if size is not None}


@dataclass(frozen=True)
class Cut:
    """The cut of one tensor: its rows are `per` x `parts`, in this order.

    `parts` are the engine's parameters with their axes in einsum letters; with `ones` the tensor
    may have axes of size 1 beside its own, with `padded` zeros behind its rows; `also` is another
    name that it may have.
    """

    name: str
    parts: Mapping[str, str]
    per: str = ""
    columns: str = ""
    transposed: bool = False
    unless: str = ""
    ones: bool = False
    also: str = ""
    padded: bool = False

    def widths(self, sizes: Mapping[str, int]) -> list[int]:
        """Return the rows of each part, within one of `per`."""
        return [prod(sizes[letter] for letter in axes.split()) for axes in self.parts.values()]

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape of the tensor in the checkpoint."""
        rows = sizes.get(self.per, 1) * sum(self.widths(sizes))
        shape = (rows, prod(sizes[letter] for letter in self.columns.split()))
        shape = shape if self.columns else (rows,)
        return shape[::-1] if self.transposed else shape

    def apply(self, tensor: Tensor, layer: AttentionLayer) -> dict[str, Tensor]:
        """Return the parameters of the layer's heads, each a tensor of its own size."""
        sizes = sizes_of(layer.config)
        tensor = self._unpadded(tensor, sizes)
        tensor = tensor.reshape(self.shape(sizes)) if self.ones else tensor
        rows = (tensor.T if self.transposed else tensor).unflatten(0, (sizes.get(self.per, 1), -1))
        pieces = rows.split(self.widths(sizes), dim=1)
        return {
            name: _parameter(name, piece, f"{self.per} {axes} {self.columns}".split(), layer)
            for (name, axes), piece in zip(self.parts.items(), pieces, strict=True)
        }

    def _unpadded(self, tensor: Tensor, sizes: Mapping[str, int]) -> Tensor:
        """Drop the zeros behind its rows; CheckpointError where something else stands there."""
        rows = self.shape(sizes)[0]
        if not self.padded or tensor.ndim > 1 or len(tensor) <= rows:
            return tensor
        if tensor[rows:].any():
            raise CheckpointError("padding", name=self.name, rows=len(tensor), wanted=rows)
        return tensor[:rows]


def _parameter(name: str, piece: Tensor, axes: list[str], layer: AttentionLayer) -> Tensor:
    """Return rows and columns [1 or per, width, ...] as the parameter has them.

    Of the layer's heads, in its dtype, and in the order of the parameter's axes.
    """
    sizes, wanted = sizes_of(layer.config), SYMBOLS[name].axes.split()
    piece = piece.reshape([sizes[letter] for letter in axes])
    if "n" in axes:  # heads, stored with their KV head or output group
        group, n = ("g" if "g" in axes else "y"), axes.index("n")
        piece = piece.movedim(n, axes.index(group) + 1)
        piece = piece.flatten(axes.index(group), axes.index(group) + 1)
        axes = ["h" if letter == group else letter for letter in axes if letter != "n"]
    if set(axes) == set(wanted):  # without query compression d stands for l
        piece = piece.permute([axes.index(letter) for letter in wanted])
        axes = wanted
    built = {"h": layer.heads, "g": layer.kv_heads, "y": layer.output_groups}
    for letter, chosen in built.items():
        if letter in axes and chosen != tuple(range(sizes[letter])):
            places = torch.tensor(chosen, device=piece.device)
            piece = piece.index_select(axes.index(letter), places)
    return piece.to(layer.dtype).contiguous()


def cuts_of(family: Family, config: AttentionConfig) -> list[Cut]:
    """Return the cuts that make this configuration; another needs others."""
    sizes = sizes_of(config)
    layer = mechanisms.of(config).layer(config, heads=[0], device="meta")
    parameters = {name for name, _ in layer.named_parameters()} - set(family.row.get("zero", ()))
    cuts = [Cut(name, **row) for name, row in family.row["tensors"].items()]
    return [
        cut
        for cut in cuts
        if parameters.intersection(cut.parts)
        and cut.unless not in sizes
        and set(cut.columns.split()) <= set(sizes)
    ]


def check_nothing_else(family: Family, path: str, rest: Iterable[str]) -> None:
    """Raise CheckpointError if an attention has tensors beside those that are cut."""
    shorts = {name.removeprefix(path) for name in rest if not name.endswith(OF_CACHE)}
    odd = shorts - set(family.row.get("buffers", ()))
    if odd:
        raise CheckpointError(
            "odd_tensors", path=path.removesuffix("."), odd=", ".join(sorted(odd))[:200]
        )


def check_shape(name: str, shape: tuple[int, ...], cut: Cut, config: AttentionConfig) -> None:
    """Raise CheckpointError unless a tensor has the shape that config.json asks for."""
    wanted = cut.shape(sizes_of(config))
    same = _without_ones(shape) == _without_ones(wanted) if cut.ones else tuple(shape) == wanted
    longer = cut.padded and len(shape) == len(wanted) == 1 and shape > wanted
    if not (same or longer):
        raise CheckpointError("tensor_shape", name=name, shape=list(shape), wanted=list(wanted))


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def check_finite(name: str, *cut: Tensor) -> None:
    """Raise CheckpointError if what was cut out of a tensor holds NaN or Inf.

    Looked at in parts, to save memory.
    """
    parts = (part for tensor in cut for part in tensor.flatten().split(PART))
    if count := sum(int((~torch.isfinite(part)).sum()) for part in parts):
        dtype = cut[0].dtype
        advice = Phrase("wider_dtype" if dtype == torch.float16 else "broken_weights")
        raise CheckpointError("not_finite", name=name, count=count, dtype=dtype, advice=advice)


def build(
    family: Family,
    config: AttentionConfig,
    take: Callable[[str], Tensor],
    heads: tuple[int, ...] | None,
    place: tuple[torch.dtype, torch.device | str],
    path: str = "",
) -> AttentionLayer:
    """Return the layer of the tensors that `take` gives by short names, each asked for once.

    `path` stands before the names in what is said.

    Raises:
        CheckpointError: NaN or Inf.
        ValueError: an unknown head, dtype or device.
    """
    dtype, device = place
    bare = mechanisms.of(config).layer(config, heads=heads, dtype=dtype, device="meta")
    parameters = dict(bare.named_parameters())
    weights = {
        name: torch.zeros(parameters[name].shape, dtype=dtype)
        for name in set(family.row.get("zero", ())) & set(parameters)
    }
    for cut in cuts_of(family, config):
        found = cut.apply(take(cut.name), bare)
        check_finite(path + cut.name, *found.values())
        above = found.keys() & set(family.row.get("above_one", ()))
        weights |= found | {name: 1 + found[name] for name in above}
    weights = {name: weights[name] for name in parameters}
    return mechanisms.of(config).layer.of_weights(config, weights, heads, dtype, device)
