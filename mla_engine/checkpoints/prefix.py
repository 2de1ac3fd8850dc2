"""Run the layers before an attention by transformers, in float32, for what it reads.

The model is built with those layers only, and its last norm gets the weights of the norm before
the attention, so that its output is the attention's input. Embedding rows come from `embedding`. No
code of the repository runs.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from kvcount.files.errors import CheckpointError
from mla_engine.checkpoints import fp8, mxfp4, prefix_size
from mla_engine.checkpoints.checkpoint import Progress
from mla_engine.checkpoints.embedding import Inputs, check_dtypes
from mla_engine.checkpoints.families import Attentions
from mla_engine.checkpoints.load import QUANTIZED
from mla_engine.checkpoints.safetensors_file import TensorEntry

LABELS = ("num_labels", "id2label", "label2id")


@dataclass(frozen=True)
class Prefix:
    """The layers before attention number `layer`, at least one."""

    inputs: Inputs
    layer: int

    @property
    def n_blocks(self) -> int:
        """The number of layers that run; of the last one a part where it holds two attentions."""
        return -(-self.layer // self.inputs.family.row["sublayers"])

    @property
    def unused(self) -> tuple[str, ...]:
        """Paths in the last layer that come after its first attention's block."""
        block, sublayer = divmod(self.layer, self.inputs.family.row["sublayers"])
        paths = self.inputs.family.row["after_second"] if sublayer else ()
        return tuple(f"{self.blocks}{block}.{path}" for path in paths)

    @cached_property
    def tensors(self) -> dict[str, str]:
        """Names in the checkpoint -> in the model; the input norm is the model's last one."""
        found, prefix = {}, self.inputs.prefix
        unused = tuple(f"{path}." for path in self.unused)
        for block in range(self.n_blocks):
            names = self.inputs.checkpoint.below(f"{prefix}{self.blocks}{block}.")
            if not names:
                raise CheckpointError("no_block", name=self.inputs.checkpoint.name, block=block)
            shorts = {name: name.removeprefix(prefix) for name in names}
            found |= {n: short for n, short in shorts.items() if not short.startswith(unused)}
        if self.unused:  # the norm before the second attention stands in its own place
            return found
        last = self.inputs.family.row["final_norm"]
        norm = self.inputs.norm_tensors(self.layer)
        return found | {name: f"{last}.{part}" for part, name in norm.items()}

    @cached_property
    def entries(self) -> dict[str, TensorEntry]:
        """These tensors in the files; CheckpointError if packed, or counted far beyond them."""
        config, found = self.inputs.checkpoint.config, self.inputs.checkpoint.entries(self.tensors)
        four = mxfp4.packed(config, found.values())
        fp8.check_stored(config, [entry for entry in found.values() if entry.name not in four])
        prefix_size.check_counts(self.inputs.config, found.values())
        return found

    @property
    def read_bytes(self) -> int:
        """Bytes of these tensors on disk."""
        return sum(entry.n_bytes for entry in self.entries.values())

    def memory_bytes(self, n_tokens: int) -> int:
        """Return an upper bound of what the run holds at once, beside what every input takes."""
        entries = self.entries.values()
        weights = prefix_size.weight_bytes(entries, self.blocks)
        return weights + prefix_size.run_bytes(entries, self.inputs.config, n_tokens)

    def run(
        self, x: Tensor, layers: Iterable[int] = (), progress: Progress | None = None
    ) -> dict[int, Tensor]:
        """Return the inputs [t,d] of this attention and of `layers` before it, of the text [t,d].

        Raises:
            CheckpointError: transformers cannot build these layers of these tensors, or run them.
        """
        entries, found = self.entries.values(), {}
        eight = [
            e.name for e in entries if e.dtype == QUANTIZED and e.name + fp8.SUFFIX in self.tensors
        ]
        four = mxfp4.packed(self.inputs.checkpoint.config, entries)
        check_dtypes(entries, also={*eight, *four})
        asked = {"n_blocks": self.n_blocks, "name": self.inputs.checkpoint.name}
        with _refused(lambda why: CheckpointError("cannot_build", **asked, reason=why)), _quiet():
            config, tables = self._config(len(x)), self._tables(x)
            kind = _without(_transformers().MODEL_MAPPING[type(config)], self.unused)
            n_tables = sum(table.numel() for table in tables.values())
            prefix_size.check_build(kind, config, entries, n_tables)
            model = self._filled(kind, config, tables, progress)
        for layer in layers:
            path = self.inputs.family.attention(layer).removesuffix(".")
            keep = partial(_keep, found, layer)
            model.get_submodule(path).register_forward_pre_hook(keep, with_kwargs=True)
        with (
            _refused(lambda why: CheckpointError("cannot_run_layers", **asked, reason=why)),
            torch.no_grad(),
        ):  # config.json has entries that only a run asks for
            last = _output(model, x)
        return found | {self.layer: last[0]}

    @property
    def blocks(self) -> str:
        """The part of the tensors' names before a layer's number."""
        return self.inputs.family.row["attention"].partition("{layer}")[0]

    def _tables(self, x: Tensor) -> dict[str, Tensor]:
        """Return tensors for what the run does not use: embeddings, and a last norm."""
        row, (tokens, d_model) = self.inputs.family.row, x.shape
        tables = {row.get("live_embedding", row["embedding"]): torch.zeros(1, d_model)}
        if "position_embedding" in row:
            tables[row["position_embedding"]] = torch.zeros(tokens, d_model)
        if self.unused:
            tables[row["final_norm"] + ".weight"] = torch.ones(d_model)
        return tables

    def _filled(
        self,
        kind: type[nn.Module],
        config: Any,
        tables: dict[str, Tensor],
        progress: Progress | None,
    ) -> nn.Module:
        """Return the model with the checkpoint's weights."""
        stored = self.inputs.checkpoint.read(self.tensors, progress)
        state = _dequantized({self.tensors[name]: stored.pop(name) for name in list(stored)})
        model, report = kind.from_pretrained(
            None,
            config=config,
            state_dict=state | tables,
            dtype=torch.float32,
            output_loading_info=True,
        )
        for what in ("missing_keys", "mismatched_keys"):
            if wrong := sorted(map(str, report[what])):
                raise CheckpointError(
                    "wrong_keys",
                    n_blocks=self.n_blocks,
                    what=what.replace("_", " "),
                    keys=", ".join(wrong[:4]),
                )
        return model

    def _config(self, n_tokens: int) -> Any:
        """Return transformers' own configuration, with only the layers that run."""
        family, row = self.inputs.family, self.inputs.family.row
        given = {key: value for key, value in self.inputs.config.items() if not _unsafe(key)}
        kind = row.get("run_as", family.model_type)
        config = _transformers().CONFIG_MAPPING[kind].from_dict(given)
        n_layers = len(Attentions(self.inputs.config)) // row["sublayers"]
        if "depth_root" in row:
            factor = (self.n_blocks / n_layers) ** 0.5
            setattr(config, row["depth_root"], getattr(config, row["depth_root"]) * factor)
        setattr(config, family.keys(given).name("num_hidden_layers"), self.n_blocks)
        config.vocab_size, config.pad_token_id = 1, None
        if "position_embedding" in row:
            config.max_position_embeddings = n_tokens
        return config


class _Reached(Exception):  # noqa: N818, what was looked for is no error
    """Carries the input of the attention out of the model."""


class _Stop(nn.Module):
    def forward(self, hidden_states: Tensor, **_: object) -> None:
        raise _Reached(hidden_states)


class _Nothing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


def _without(kind: type[nn.Module], paths: tuple[str, ...]) -> type[nn.Module]:
    """Return a class of models whose modules at `paths` hold nothing; the first stops the run."""
    if not paths:
        return kind

    def build(self: nn.Module, config: Any) -> None:
        kind.__init__(self, config)
        for number, path in enumerate(paths):
            self.set_submodule(path, _Nothing() if number else _Stop())

    # a class of transformers' own, by whose name and place it looks up how tensors are converted
    return type(kind.__name__, (kind,), {"__init__": build, "__module__": kind.__module__})


def _output(model: nn.Module, x: Tensor) -> Tensor:
    """Return what the model makes of the text [t,d], or what reaches the place where it ends."""
    try:
        return model(inputs_embeds=x[None], use_cache=False, return_dict=True).last_hidden_state
    except _Reached as reached:
        return reached.args[0]


def _transformers() -> ModuleType:
    """Import the library, which takes seconds and is not needed before a model runs."""
    return import_module("transformers")


def _unsafe(key: str) -> bool:
    """Return whether transformers could run code from it, or make a label for each number."""
    return (
        key in LABELS
        or key.startswith(("_", "auto_map", "quantization"))
        or key.endswith("implementation")
    )


@contextmanager
def _refused(refusal: Callable[[Exception], CheckpointError]) -> Iterator[None]:
    """Turn transformers' errors, which are of many kinds, into a refusal."""
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        raise refusal(error) from error


def _keep(found: dict[int, Tensor], layer: int, _: nn.Module, args: tuple, kwargs: dict) -> None:
    found[layer] = (args[0] if args else kwargs["hidden_states"])[0]


def _dequantized(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights in blocks of 8 or of 4 bits as float32, the others as they are."""
    mxfp4.unpack(state)
    scales = {name: state.pop(name) for name in list(state) if name.endswith(fp8.SUFFIX)}
    for name, scale in scales.items():
        weight = name.removesuffix(fp8.SUFFIX)
        state[weight] = fp8.dequantized(state[weight], scale, torch.float32)
    return state


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence transformers' progress bar and its report of what was loaded."""
    logging = _transformers().utils.logging
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
