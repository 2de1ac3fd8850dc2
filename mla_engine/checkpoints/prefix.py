"""What a deeper attention reads: the layers before it, run by transformers in float32.

The model is built with those layers alone, and its last norm gets the weights of the norm before
the attention, so that its output is the attention's input. Embedding rows come from `inputs`. No
code of the repository runs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from mla_engine.checkpoints import fp8
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.families import n_attentions
from mla_engine.checkpoints.inputs import Inputs, check_dtypes
from mla_engine.checkpoints.load import QUANTIZED
from mla_engine.checkpoints.source import Progress

FLOAT32_BYTES = 4


class _Reached(Exception):  # noqa: N818, what was looked for is no error
    """Carries the input of the attention out of the model."""


class _Stop(nn.Module):
    def forward(self, hidden_states: Tensor, **_: object) -> None:
        raise _Reached(hidden_states)


class _Nothing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


@dataclass(frozen=True)
class Prefix:
    """The layers before attention number `layer`, at least one."""

    inputs: Inputs
    layer: int

    @property
    def n_blocks(self) -> int:
        """How many layers run; of the last one only a part where it holds two attentions."""
        return -(-self.layer // self.inputs.family.row["sublayers"])

    @property
    def unused(self) -> tuple[str, ...]:
        """Paths in the last layer that come after its first attention's block."""
        block, sublayer = divmod(self.layer, self.inputs.family.row["sublayers"])
        paths = self.inputs.family.row["after_second"] if sublayer else ()
        return tuple(f"{self._blocks}{block}.{path}" for path in paths)

    @property
    def tensors(self) -> dict[str, str]:
        """Names in the checkpoint and in the model, the input norm as the model's last one."""
        found, prefix = {}, self.inputs.prefix
        for name in self.inputs.checkpoint.tensor_names():
            short = name.removeprefix(prefix)
            number = short.removeprefix(self._blocks).partition(".")[0]
            if name.startswith(prefix + self._blocks) and number.isdecimal():
                unused = short.startswith(tuple(f"{path}." for path in self.unused))
                if int(number) < self.n_blocks and not unused:
                    found[name] = short
        if self.unused:  # the norm before the second attention stands in its own place
            return found
        last = self.inputs.family.row["final_norm"]
        norm = self.inputs.norm_tensors(self.layer)
        return found | {name: f"{last}.{part}" for part, name in norm.items()}

    @property
    def read_bytes(self) -> int:
        """Bytes of these tensors on disk."""
        return self.inputs.checkpoint.bytes_of(self.tensors)

    @property
    def memory_bytes(self) -> int:
        """An estimate: what is read, the same in float32, and the largest layer once more.

        transformers puts a layer's experts together in new tensors. What the tokens need comes on
        top.
        """
        elements: Counter[str] = Counter()
        for entry in self.inputs.checkpoint.entries(self.tensors).values():
            times = 2 if entry.dtype == QUANTIZED else 1  # dequantised before it is loaded
            layer = entry.name.partition(self._blocks)[2].partition(".")[0]
            elements[layer] += times * prod(entry.shape)
        return self.read_bytes + FLOAT32_BYTES * (
            elements.total() + max(elements.values(), default=0)
        )

    def run(
        self, x: Tensor, layers: Iterable[int] = (), progress: Progress | None = None
    ) -> dict[int, Tensor]:
        """Inputs [t,d] of this attention and of `layers` before it, from the embedded text [t,d].

        Raises:
            CheckpointError: transformers cannot build these layers of these tensors, or run them.
        """
        names, found = self.tensors, {}
        entries = self.inputs.checkpoint.entries(names).values()
        eight = [e.name for e in entries if e.dtype == QUANTIZED and e.name + fp8.SUFFIX in names]
        check_dtypes(entries, also=eight)
        stored = self.inputs.checkpoint.read(names, progress)
        state = _dequantized({names[name]: stored.pop(name) for name in list(stored)})
        asked = {"n_blocks": self.n_blocks, "name": self.inputs.checkpoint.name}
        try:
            with _quiet():
                model = self._model(state | self._tables(x), len(x))
        except CheckpointError:
            raise
        except Exception as error:  # transformers has errors of many kinds
            raise CheckpointError("cannot_build", **asked, reason=error) from error
        for layer in layers:
            path = self.inputs.family.attention(layer).removesuffix(".")
            keep = partial(_keep, found, layer)
            model.get_submodule(path).register_forward_pre_hook(keep, with_kwargs=True)
        try:
            with torch.no_grad():
                answer = model(inputs_embeds=x[None], use_cache=False, return_dict=True)
            last = answer.last_hidden_state
        except _Reached as reached:
            last = reached.args[0]
        except Exception as error:  # an entry of config.json that only the run asks for
            raise CheckpointError("cannot_run_layers", **asked, reason=error) from error
        return found | {self.layer: last[0]}

    @property
    def _blocks(self) -> str:
        """What stands before a layer's number."""
        return self.inputs.family.row["attention"].partition("{layer}")[0]

    def _tables(self, x: Tensor) -> dict[str, Tensor]:
        """What the run does not use: embeddings, since x holds their rows, and a last norm."""
        row, (tokens, d_model) = self.inputs.family.row, x.shape
        tables = {row["embedding"]: torch.zeros(1, d_model)}
        if "position_embedding" in row:
            tables[row["position_embedding"]] = torch.zeros(tokens, d_model)
        if self.unused:
            tables[row["final_norm"] + ".weight"] = torch.ones(d_model)
        return tables

    def _model(self, state: dict[str, Tensor], n_tokens: int) -> nn.Module:
        config = self._config(n_tokens)
        kind = _without(_transformers().MODEL_MAPPING[type(config)], self.unused)
        model, report = kind.from_pretrained(
            None,
            config=config,
            state_dict=state,
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
        """transformers' own configuration, cut to the layers that run."""
        row = self.inputs.family.row
        given = {key: value for key, value in self.inputs.config.items() if not _unsafe(key)}
        kind = row.get("run_as", self.inputs.family.model_type)
        config = _transformers().CONFIG_MAPPING[kind].from_dict(given)
        n_layers = n_attentions(self.inputs.config) // row["sublayers"]
        if "depth_root" in row:
            factor = (self.n_blocks / n_layers) ** 0.5
            setattr(config, row["depth_root"], getattr(config, row["depth_root"]) * factor)
        setattr(config, row["layers"], self.n_blocks)
        config.vocab_size, config.pad_token_id = 1, None
        if "position_embedding" in row:
            config.max_position_embeddings = n_tokens
        return config


def _transformers() -> ModuleType:
    """The library, which takes seconds to import and is not needed before a model runs."""
    return import_module("transformers")


def _unsafe(key: str) -> bool:
    """Whether transformers could take code to run from this entry of config.json."""
    return key.startswith(("_", "auto_map", "quantization")) or key.endswith("implementation")


def _keep(found: dict[int, Tensor], layer: int, _: nn.Module, args: tuple, kwargs: dict) -> None:
    found[layer] = (args[0] if args else kwargs["hidden_states"])[0]


def _dequantized(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights in blocks of 8 bits as float32, the others as they are."""
    scales = {name: state.pop(name) for name in list(state) if name.endswith(fp8.SUFFIX)}
    for name, scale in scales.items():
        weight = name.removesuffix(fp8.SUFFIX)
        state[weight] = fp8.dequantized(state[weight], scale, torch.float32)
    return state


def _without(kind: type[nn.Module], paths: tuple[str, ...]) -> type[nn.Module]:
    """A class of models whose modules at `paths` hold nothing; the first one stops the run."""
    if not paths:
        return kind

    def build(self: nn.Module, config: Mapping[str, Any]) -> None:
        kind.__init__(self, config)
        for number, path in enumerate(paths):
            self.set_submodule(path, _Nothing() if number else _Stop())

    # a class of transformers' own, by whose name and place it looks up how tensors are converted
    return type(kind.__name__, (kind,), {"__init__": build, "__module__": kind.__module__})


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' progress bar and its report of what was loaded."""
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
