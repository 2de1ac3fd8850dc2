"""A real model out of a folder, whole, as a LanguageModel: Llama's class of decoders.

`load_real` returns a model with all that a trained small one offers: `config.words`,
`config.tokens(text)`, `config.text(tokens)`, `forward`, `decode`, `empty_caches`, `logits`, and so
`generate`; what is read layer by layer stands in `reading`. A text may be any; what a small model
calls words are here the pieces that the model's own tokenizer cuts it into.

Weights are held in float32, as transformers computes when it is asked for float32: 4 bytes a
parameter, and while it loads one layer or the embedding beside that, as stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor, einsum, nn

from kvcount import checks
from kvcount.files.errors import CheckpointError
from kvcount.lazy import LazyModule
from kvcount.refusals import Phrase
from mla_engine import budget
from mla_engine.checkpoints import fp8
from mla_engine.checkpoints.checkpoint import Checkpoint, Progress, open_checkpoint
from mla_engine.checkpoints.convert import check_finite
from mla_engine.checkpoints.embedding import Inputs, check_dtypes
from mla_engine.checkpoints.families import Attentions, attention_config
from mla_engine.checkpoints.load import describe, load_attention
from mla_engine.checkpoints.sources import checked, value_of
from mla_engine.checkpoints.tokens import cut, tokenizer_of, vocabulary
from mla_engine.language_model.config import ModelConfig
from mla_engine.language_model.model import LanguageModel
from mla_engine.language_model.reading import check_held
from mla_engine.ops import rms_norm

tokenizers = LazyModule("tokenizers")

__all__ = ["RealConfig", "RealModel", "load_real"]

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "youtu", "mla_explorer")  # one block
OF_BLOCK = {  # a tensor of a layer -> ours
    "input_layernorm.weight": "attention_norm",
    "post_attention_layernorm.weight": "mlp_norm",
    "mlp.gate_proj.weight": "W_gate",
    "mlp.up_proj.weight": "W_up",
    "mlp.down_proj.weight": "W_down",
}
OUTPUT = "lm_head.weight"
FLOAT32_BYTES = 4
TIP = Phrase("smaller_model")


@dataclass(frozen=True, kw_only=True)
class RealConfig(ModelConfig):
    """The sizes of a real model, and its tokenizer; `attention` is that of its first layer.

    `words` are the pieces as they are drawn, so that two may look alike.
    """

    tokenizer: "tokenizers.Tokenizer" = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check nothing: what a checkpoint says has been checked as it was read."""

    def tokens(self, text: str) -> list[int]:
        """Return the numbers of the pieces of a text, with those that the tokenizer adds.

        Raises:
            CheckpointError: an empty text, or one over the limits of `checkpoints.tokens`.
        """
        return list(cut(self.tokenizer, text).ids)

    def text(self, tokens: list[int]) -> str:
        """Return the text of these pieces."""
        return self.tokenizer.decode(tokens, skip_special_tokens=False)


class RealModel(LanguageModel):
    """A decoder whose output may be a matrix of its own, W_U [n,d], and not the embedding."""

    config: RealConfig

    def __init__(self, config: RealConfig, *, tied: bool) -> None:
        super().__init__(config, device="meta")
        self.W_U = None if tied else nn.Parameter(self.W_E.clone(), requires_grad=False)

    def _traced(self, tokens: Tensor, *args: object) -> object:
        check_held(self, tokens, whole=self.config.n_layers)
        return super()._traced(tokens, *args)

    def _output(self, x: Tensor) -> tuple[Tensor, Tensor]:
        normed = rms_norm(x, self.norm, self.config.norm_eps)
        return normed, einsum("btd,nd->btn", normed, self.W_E if self.W_U is None else self.W_U)


def load_real(
    source: str | Path | Checkpoint,
    *,
    revision: str | None = None,
    progress: Progress | None = None,
) -> RealModel:
    """Return a real model, all of it, in float32 on the CPU.

    Args:
        source: a folder, "owner/name" on the Hub, or an open checkpoint.
        revision: of a Hub repository.
        progress: called after each layer with bytes read and bytes in all; may raise to stop.

    Raises:
        CheckpointError: a family that is not run whole, tensors that are missing, too many, of
            another shape or dtype, or not finite, no tokenizer.
        MemoryBudgetError: its parameters are beyond the memory budget.
    """
    checkpoint = open_checkpoint(source, revision)
    inputs = Inputs.of(checkpoint)
    _check_family(inputs)
    model = RealModel(_config(inputs), tied=inputs.config.get("tie_word_embeddings") is True)
    parts = [(block, _of_block(inputs, layer)) for layer, block in enumerate(model.blocks)]
    parts.append((model, _beside_blocks(inputs, model)))
    attentions = [describe(checkpoint, layer).n_bytes for layer in range(len(model.blocks))]
    stored = [checkpoint.bytes_of(names) for _, names in parts]
    held = FLOAT32_BYTES * sum(parameter.numel() for parameter in model.parameters())
    budget.require(held + max(stored), Phrase("whole_model", name=checkpoint.name), TIP)
    for module, names in parts:
        _check_stored(checkpoint, module, names)
    done = 0
    for layer, (module, names) in enumerate(parts):
        if module is not model:
            module.attention = load_attention(checkpoint, layer)
            done += attentions[layer]
        _fill(checkpoint, module, names)
        done += stored[layer]
        if progress is not None:
            progress(done, sum(attentions) + sum(stored))
    return model


def _check_family(inputs: Inputs) -> None:
    """Raise CheckpointError unless the layers are RMSNorms, attention and SwiGLU alone."""
    if (model_type := inputs.family.model_type) not in FAMILIES:
        raise CheckpointError("not_whole", model_type=model_type, known=", ".join(FAMILIES))
    act = inputs.config.get("hidden_act", "silu")
    if act != "silu":
        values = {"key": "hidden_act", "value": act, "model_type": model_type}
        raise CheckpointError("not_modelled", **values, wanted="silu")


def _config(inputs: Inputs) -> RealConfig:
    """Return the sizes that config.json says, and the tokenizer of the folder."""
    keys = inputs.family.keys(inputs.config)

    def whole(key: str) -> int:
        return checked(checks.whole, key, value_of(keys, [key]))

    tokenizer = tokenizer_of(inputs.checkpoint)
    [table] = inputs.checkpoint.entries([inputs.tables[0]]).values()
    eps = value_of(keys, inputs.family.row["input_norm_eps"])
    return RealConfig(
        words=vocabulary(tokenizer, table.shape[0]),
        attention=attention_config(inputs.checkpoint.config, 0),
        n_layers=len(Attentions(inputs.checkpoint.config)),
        d_mlp=whole("intermediate_size"),
        max_context=whole("max_position_embeddings"),
        norm_eps=float(checked(checks.positive, "rms_norm_eps", eps)),
        tokenizer=tokenizer,
    )


def _of_block(inputs: Inputs, layer: int) -> dict[str, str]:
    """Return the tensors of a layer beside its attention: their names -> ours.

    Raises:
        CheckpointError: the layer has others, which would be left out.
    """
    attention = inputs.prefix + inputs.family.attention(layer)
    path = attention[: attention.rindex(".", 0, -1) + 1]
    names = {path + name: ours for name, ours in OF_BLOCK.items()}
    there = {name for name in inputs.checkpoint.below(path) if not name.startswith(attention)}
    if odd := sorted(there - set(names)):
        raise CheckpointError("odd_tensors", path=path.removesuffix("."), odd=", ".join(odd)[:200])
    return names


def _beside_blocks(inputs: Inputs, model: RealModel) -> dict[str, str]:
    """Return the tensors before and behind the layers: their names -> ours."""
    norm = f"{inputs.prefix}{inputs.family.row['final_norm']}.weight"
    names = {inputs.tables[0]: "W_E", norm: "norm"}
    output = inputs.prefix.removesuffix("model.") + OUTPUT
    return names if model.W_U is None else names | {output: "W_U"}


def _check_stored(checkpoint: Checkpoint, module: nn.Module, names: Mapping[str, str]) -> None:
    """Raise CheckpointError for tensors of another shape, or of numbers that stand for others."""
    entries = checkpoint.entries(names)
    fp8.check_stored(checkpoint.config, entries.values())
    check_dtypes(entries.values())
    for name, ours in names.items():
        shape, wanted = entries[name].shape, tuple(module.get_parameter(ours).shape)
        if tuple(shape) != wanted:
            raise CheckpointError("tensor_shape", name=name, shape=list(shape), wanted=list(wanted))


def _fill(checkpoint: Checkpoint, module: nn.Module, names: Mapping[str, str]) -> None:
    """Read these tensors into parameters, in float32."""
    stored = checkpoint.read(names)
    for name, ours in names.items():
        weight = stored.pop(name).float()
        check_finite(name, weight)
        setattr(module, ours, nn.Parameter(weight, requires_grad=False))
