"""The command `kvcount`, also called `mla`.

`kvcount cache` counts the cache of any published model, `kvcount plan` says what GPUs can serve at
best, `kvcount explain` why an engine logs another number, `kvcount models` lists the stored ones.
"""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kvcount import checks, devices, explain_report, lengths, plan_report, report, sources
from kvcount.devices import GPUS, Device
from kvcount.dtypes import TYPES, storage, type_name, written
from kvcount.logs import engine_log
from kvcount.models import MODELS
from kvcount.planning import pipeline
from kvcount.planning.planner import OVERHEAD, Plan
from kvcount.reading.keys import UncountedError
from kvcount.refusals import RefusedError

AMOUNT = re.compile(r"(\d[\d,]*(?:\.\d+)?) ?([kmgt])(i?)b")
WORDS = "cache | plan | explain | models"
LOGGED: Mapping[str, tuple[str, str]] = {  # what a log says -> the option for it, and its words
    "memory": ("--memory", "of the cache on a GPU, such as 46.80GiB; SGLang's GB are GiB"),
    "tokens": ("--tokens", "that fit"),
    "blocks": ("--blocks", "that fit, where no tokens are logged"),
    "block_size": ("--block-size", "tokens of a block or a page"),
    "tensor": ("--tp", "tensor-parallel ranks"),
    "data": ("--dp", "data-parallel groups"),
    "pipeline": ("--pp", "pipeline stages"),
    "context": ("--dcp", "ranks of decode context parallelism"),
    "length": ("--length", "tokens of the longest sequence, max_model_len"),
    "concurrency": ("--concurrency", "sequences of that length that fit"),
    "batched": ("--batched", "most tokens of a step, max_num_batched_tokens"),
    "engine": ("--engine", "vllm, sglang or llama.cpp"),
}
NAMES = "kvcount", "mla"
REFUSED = 2  # the status with which a refusal ends


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the status is 0, or 2 with one sentence where something is refused."""
    asked = _parser().parse_args(arguments)
    try:
        said = asked.run(asked)
    except RefusedError as error:
        sys.stderr.write(f"{_called()} {asked.command}: {error}\n")
        return REFUSED
    sys.stdout.write(f"{said}\n")
    return 0


def _cache(asked: argparse.Namespace) -> str:
    found = sources.find(asked.source, asked.revision)
    checks.whole("context", asked.context, least=0, most=2**40)
    weights = asked.weights or "bf16"
    checks.choice("weights", weights, TYPES)
    parameters = asked.parameters if asked.parameters is not None else found.parameters
    checks.non_negative("parameters", parameters or 0)
    figures = report.figures(
        found.name,
        found.model,
        report.Asked(
            storage=storage(asked.kv, found.storage),
            kv=written(asked.kv, found.storage),
            context=asked.context,
            batch=asked.batch,
            gpus=asked.gpus,
            gpu=_gpu(asked),
            parameters=parameters,
            rounded=found.rounded and asked.parameters is None,
            routed=found.routed if parameters == found.parameters else None,
            weights=weights,
            pipeline=asked.pipeline,
            context_ranks=asked.dcp,
            mtp=asked.mtp,
        ),
    )
    return asked.form(figures)


def _plan(asked: argparse.Namespace) -> str:
    found = sources.find(asked.source, asked.revision, weighed=True)
    checks.non_negative("overhead_gib", asked.overhead_gib)
    if asked.mtp:
        pipeline.refuse_mtp(found.model, found.name)
    plan = Plan(
        model=found.model,
        storage=storage(asked.kv, found.storage),
        **found.weights(asked.parameters, asked.active),
        gpu=_gpu(asked),
        gpus=asked.gpus,
        data=asked.data,
        pipeline=asked.pipeline,
        context_ranks=asked.dcp,
        mtp=asked.mtp,
        context=asked.context,
        prompt=asked.prompt,
        **_weights(asked, found),
        overhead_bytes=asked.overhead_gib * engine_log.GIB,
    )
    return asked.form(plan_report.figures(found.name, plan, written(asked.kv, found.storage)))


def _explain(asked: argparse.Namespace) -> str:
    if asked.log == asked.source == "-":
        raise UncountedError("two_inputs")
    found = sources.find(asked.source, asked.revision)
    log = engine_log.parse(_text(asked.log) if asked.log else "")
    given = {name: getattr(asked, name) for name in LOGGED}
    for name, value in given.items():
        if isinstance(value, int):
            checks.whole(name, value, most=2**40)
        elif isinstance(value, float):
            checks.positive(name, value)
    log = engine_log.with_flags(log, given)
    return asked.form(explain_report.figures(found, log, asked.kv))


def _text(path: str) -> str:
    """Return a log, of a file or of standard input where it is "-"."""
    most = 4 * engine_log.MOST_LETTERS + 1
    if path == "-":
        return sys.stdin.buffer.read(most).decode(errors="replace")
    try:
        with Path(path).open("rb") as file:
            return file.read(most).decode(errors="replace")
    except (OSError, ValueError):
        raise UncountedError("no_log_file", path=path) from None


def _gpu(asked: argparse.Namespace) -> Device:
    """Return the GPU that is named, with the memory and the bandwidth that are given."""
    device, given, said = devices.gpu(asked.gpu), {}, []
    if asked.gpu_memory is not None:
        given["memory_bytes"] = asked.gpu_memory
        said.append(report.size(asked.gpu_memory))
    if getattr(asked, "bandwidth", None) is not None:
        given["bytes_per_second"] = asked.bandwidth
        said.append(f"{report.size(asked.bandwidth)}/s")
    name = f"{device.name} with {' and '.join(said)}" if said else device.name
    return replace(device, name=name, **given)


def _weights(asked: argparse.Namespace, found: sources.Found) -> dict[str, float]:
    """Return the bytes of a parameter: as asked for, else as its files store them, else bf16."""
    if asked.weights is None and (own := found.stored_types(asked.parameters)):
        return own
    name = asked.weights or "bf16"
    checks.choice("weights", name, TYPES)
    each = TYPES[name]
    return {"weight_bytes": float(each.bits_with_scales) / 8, "weight_bits": each.bits}


def _models(_asked: argparse.Namespace) -> str:
    return "\n".join(f"{key:<30}  {one.name}" for key, one in MODELS.items())


def tokens(text: str) -> int:
    """Return a number of tokens, in any way that `lengths.tokens` reads.

    Raises:
        ArgumentTypeError: no whole number.
    """
    if (found := lengths.tokens(text)) is None:
        said = f"{text[:40]!r} is not a number of tokens: write it like 131072, 128k or 1e6"
        raise argparse.ArgumentTypeError(said)
    return found


def amount(text: str) -> float:
    """Return bytes, or bytes per second: 24GiB, 24 GB, 24576MiB, 1008GB/s or 3.35 TB/s.

    Raises:
        ArgumentTypeError: no number above 0 with one of these units.
    """
    found = AMOUNT.fullmatch(text.strip().lower().removesuffix("/s"))
    if not found or not float(found[1].replace(",", "")):
        said = f"{text[:40]!r} has no number and unit: write it like 24GiB, 24GB or 1008GB/s"
        raise argparse.ArgumentTypeError(said)
    base = 1024 if found[3] else 1000
    return float(found[1].replace(",", "")) * base ** ("kmgt".index(found[2]) + 1)


def logged_size(text: str) -> engine_log.Memory:
    """Return a size as an engine logs it: 46.80GiB, or SGLang's 43.67 GB, which are GiB, too.

    Raises:
        ArgumentTypeError: no number with one of these units.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?Gi?B", text.strip())
    if not found:
        said = f"{text[:40]!r} is not a size as logs have it: write it like 46.80GiB"
        raise argparse.ArgumentTypeError(said)
    return engine_log.gib(found[1])


class _Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Names the defaults that are words or numbers."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or callable(action.default):
            return action.help
        return super()._get_help_string(action)


def _called() -> str:
    """The name by which it was called."""
    name = Path(sys.argv[0]).stem
    return name if name in NAMES else NAMES[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_called(), description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command", metavar=WORDS)
    _add_cache(commands)
    _add_plan(commands)
    _add_explain(commands)
    commands.add_parser("models", help="the stored models' names").set_defaults(run=_models)
    return parser


def _add_cache(commands: "argparse._SubParsersAction") -> None:
    cache = _add(commands, "cache", _cache, "bytes that a model's cache takes, by its config.json")
    cache.add_argument("--batch", type=int, default=1, help="sequences")
    _add_forms(cache, {"--json": report.as_json, "--csv": report.as_csv}, report.as_text)


def _add_plan(commands: "argparse._SubParsersAction") -> None:
    plan = _add(commands, "plan", _plan, "batch and speed that GPUs can reach at most")
    plan.add_argument(
        "--data", "--dp", type=int, default=1, help="groups with sequences of their own"
    )
    plan.add_argument("--prompt", type=tokens, help="tokens before the first new one: the context")
    plan.add_argument(
        "--bandwidth", type=amount, help="of each GPU, in place of its own, such as 1008GB/s"
    )
    plan.add_argument("--active", type=float, help="parameters that a token uses, such as 37e9")
    plan.add_argument(
        "--overhead-gib",
        type=float,
        default=OVERHEAD / engine_log.GIB,
        help="on each GPU, for the runtime",
    )
    forms = {"--json": report.as_json, "--markdown": plan_report.as_markdown}
    _add_forms(plan, forms, plan_report.as_markdown)


def _add_explain(commands: "argparse._SubParsersAction") -> None:
    said = "why vLLM, SGLang or llama.cpp logs another number of tokens, term by term"
    one = commands.add_parser("explain", help=said, formatter_class=_Formatter)
    _add_source(one)
    one.add_argument("--log", help="a file with what the engine logged, - for standard input")
    kinds = {"memory": logged_size, "concurrency": float, "engine": str}
    for name, (option, words) in LOGGED.items():
        choices = tuple(engine_log.ENGINES) if name == "engine" else None
        kind = kinds.get(name, tokens)
        one.add_argument(option, dest=name, type=kind, choices=choices, help=words)
    one.add_argument("--kv", help="the type of the cache, before what the log says")
    _add_forms(one, {"--json": report.as_json}, explain_report.as_text)
    one.set_defaults(run=_explain)


def _add_source(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "source", help="owner/name on the Hub, a folder, a config.json, - or a stored model's name"
    )
    one.add_argument("--revision", help="of a repository")


def _add(
    commands: "argparse._SubParsersAction", name: str, run: Callable, words: str
) -> argparse.ArgumentParser:
    """Return a command with the arguments that all have."""
    one = commands.add_parser(name, help=words, formatter_class=_Formatter)
    _add_source(one)
    one.add_argument(
        "--context", type=tokens, default=131_072, help="tokens of a sequence, such as 128k or 1e6"
    )
    kv = f"a type ({', '.join(TYPES)}), parts (key=q8_0,value=q4_0), or 'published'"
    one.add_argument("--kv", default="bf16", help=kv)
    one.add_argument("--gpus", type=int, default=1, help="GPUs that share the model")
    one.add_argument(
        "--pipeline", "--pp", type=int, default=1, help="stages that layers are dealt out to"
    )
    dcp = "GPUs among which a sequence's tokens are dealt out (decode context parallelism)"
    one.add_argument("--dcp", type=int, default=1, help=dcp)
    one.add_argument("--mtp", action="store_true", help="count the cache of MTP layers, too")
    one.add_argument("--gpu", default="h200", help=", ".join(GPUS))
    one.add_argument(
        "--gpu-memory", type=amount, help="of each, in place of its own, such as 24GiB"
    )
    one.add_argument("--parameters", type=float, help="of the whole model, such as 671e9")
    weights = "the type of a parameter: as a folder's files have it (kvcount plan), else bf16"
    one.add_argument("--weights", type=type_name, help=weights)
    one.set_defaults(run=run)
    return one


def _add_forms(
    one: argparse.ArgumentParser, forms: Mapping[str, Callable], usual: Callable
) -> None:
    choices = one.add_mutually_exclusive_group()
    for name, form in forms.items():
        said = f"answer as {name.strip('-').replace('json', 'JSON').replace('csv', 'CSV')}"
        choices.add_argument(name, dest="form", action="store_const", const=form, help=said)
    one.set_defaults(form=usual)
