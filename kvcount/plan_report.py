"""The report on a plan: one object of figures, and it as Markdown and as JSON."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from kvcount.counting import number
from kvcount.planning.flops import endless_crossing, expanding_from, latent_widths
from kvcount.planning.planner import Plan
from kvcount.planning.serving import Serving, Step
from kvcount.report import size

ALWAYS = (
    "Times are at least, rates at most, however weights are placed: data-sheet peaks, no traffic"
    " between GPUs. What fits is for weights spread evenly; memory, as the GPU's driver reports it,"
    " holds weights, cache and the overhead, nothing else.",
    "Weights cost 2 FLOPs for each active parameter and token, at the GPU's peak for numbers as"
    " narrow as they are stored, attention at that for the cache's.",
    "Of attention only scores and sums of values count, with an indexer's scores where its heads"
    " are known: no softmax, no states, no convolutions.",
)
ALL_ACTIVE = (
    "No number of active parameters was given and no experts are known of: each token is taken to"
    " use all parameters."
)
NO_ACTIVE = (
    "The model is a mixture of experts, and how many parameters a token uses is not known: no time"
    " and no rate has a bound without it. Give it, for example --active 37e9."
)
ROUTING = (
    "Routing decides which experts a batch touches: the least is that all sequences use the same"
    " ones, the most that none shares any; what all share is read once."
)
ROUNDED = (
    "The parameters are the rounded number of a name or a text, which nobody counted: what fits is"
    " no bound. Give a count, for example --parameters 671026404352."
)


GROUPS = (
    "Each group keeps attention's weights ({n:,} parameters, as far as the config tells them); all"
    " others are spread over all GPUs, as expert parallelism spreads experts."
)
STAGES = (
    "Layers are dealt out over the stages as vLLM does; a layer's weights are its attention's, its"
    " experts' and an even share of the rest, and the embedding and the head lie at the ends{head}."
    " A batch passes the stages in the parts with which a step can take least."
)
NO_HEAD = ", where their size is told: here it is not, and they count as layers' weights"
DEALT = (
    "The tokens of a sequence are dealt in turn to {n} GPUs of a group (decode context"
    " parallelism): what these exchange, queries, partial outputs and log-sum-exps, is counted, and"
    " takes no time. States are whole on each; index keys are dealt out, as vLLM does and SGLang"
    " does not."
)
MTP = (
    "The cache of {n} MTP layers is held, on the last stage; their weights are not counted, and"
    " steps, rates and what is exchanged are those without drafts."
)
UNTOLD = "Attention's weights are not told: all weights are taken to be spread over all GPUs."


def figures(name: str, plan: Plan, kv: str = "bf16") -> dict[str, Any]:
    """Return every figure by name, numbers as numbers, `_each` for one GPU.

    Args:
        name: of the model.
        plan: what is counted.
        kv: the storage of its cache as it was asked for.
    """
    return {
        "model": name,
        "layers": len(plan.model.layers),
        "mtp_layers": len(plan.model.mtp) if plan.mtp else 0,
        "parameters": number(Fraction(plan.parameters)),
        "parameters_rounded": plan.rounded,
        "active_parameters": number(plan.active_parameters) if plan.bounded else None,
        "mixture": bool(plan.model.mixture),
        "attention_parameters": plan.model.attention_parameters or None,
        "bytes_per_parameter": plan.weight_bytes,
        "kv": kv,
        **_machine(plan),
        "context": plan.context,
        "max_context": plan.model.max_context,
        "weight_bytes_each": number(plan.rank_weight_bytes),
        "room_bytes_each": number(plan.room_bytes),
        "sequence_bytes_each": number(plan.sequence_bytes),
        "largest_batch": plan.largest_batch,
        "stages": [_stage(one) for one in plan.stages],
        "missing_bytes_each": number(plan.missing_bytes),
        "steps": [_step(step, routing) for step, routing in _steps(plan)],
        "first_token": _first_token(plan) if plan.largest_batch and plan.bounded else None,
        "expanding": _expanding(plan),
        "assumptions": list(_assumptions(plan)),
    }


def _machine(plan: Plan) -> dict[str, Any]:
    device = plan.device
    return {
        "gpu": device.name,
        "gpus": plan.gpus,
        "data": plan.data,
        "tensor": plan.gpus // plan.data // plan.pipeline,
        "pipeline": plan.pipeline,
        "context_parallel": plan.context_ranks,
        "memory_source": device.memory_source,
        "memory_bytes_each": number(Fraction(device.memory_bytes)),
        "bytes_per_second_each": number(Fraction(device.bytes_per_second)),
        "flops_per_second_each": number(Fraction(plan.weights_flops_per_second)),
        "overhead_bytes_each": number(Fraction(plan.overhead_bytes)),
    }


def _stage(one: Serving) -> dict[str, Any]:
    return {
        "layers": len(one.placing.model.layers),
        "weight_bytes_each": number(one.rank_weight_bytes),
        "sequence_bytes_each": number(one.sequence_bytes),
    }


def _steps(plan: Plan) -> Iterator[tuple[Step, str]]:
    """One sequence a group, then all that fit; with experts, by the least and the most weights."""
    most = plan.largest_batch if plan.bounded else 0
    for batch in sorted({min(plan.data, most), most} - {0}):
        yield plan.step(batch), "same weights"
        if batch > 1 and plan.routed:
            yield plan.step(batch, spread=True), "own weights"


def _step(step: Step, routing: str) -> dict[str, Any]:
    return {
        "batch": step.batch,
        "routing": routing,
        "read_bytes_each": number(step.read_bytes),
        "flops": number(step.flops),
        "parts": step.parts,
        "exchanged_bytes_each": number(step.exchanged_bytes),
        "seconds_at_least": float(step.seconds),
        "tokens_per_second_at_most": float(step.tokens_per_second),
        "sequence_tokens_per_second_at_most": float(step.sequence_tokens_per_second),
    }


def _first_token(plan: Plan) -> dict[str, Any]:
    return {
        "prompt": plan.prompt_tokens,
        "flops": number(plan.prompt_flops),
        "seconds_at_least": float(plan.first_token_seconds),
    }


def _expanding(plan: Plan) -> dict[str, Any] | None:
    """Query tokens from which on expanding computes less, of a model with MLA."""
    if (widths := latent_widths(plan.model)) is None:
        return None
    endless = endless_crossing(*widths)
    return {
        "queries_over_endless_context": None if endless is None else float(endless),
        "queries_from": expanding_from(*widths, plan.context),
    }


def _assumptions(plan: Plan) -> Iterator[str]:
    yield from ALWAYS
    if plan.rounded:
        yield ROUNDED
    if plan.data > 1:
        told = plan.model.attention_parameters
        yield GROUPS.format(n=told) if told else UNTOLD
    if plan.pipeline > 1:
        yield STAGES.format(head="" if plan.model.table else NO_HEAD)
    if plan.context_ranks > 1:
        yield DEALT.format(n=plan.context_ranks)
    if plan.mtp:
        yield MTP.format(n=len(plan.model.mtp))
    if not plan.bounded:
        yield NO_ACTIVE
    elif plan.active is None:
        yield ALL_ACTIVE
    elif plan.routed:
        yield ROUTING


def as_markdown(found: Mapping[str, Any]) -> str:
    """Return the figures as a report: tables, and what they assume."""
    parts = [
        [f"# Plan: {found['model']}"],
        _table(("what", "value"), _asked(found)),
        ["## What fits"],
        _table((_fullest(found), "bytes"), _fitting(found)),
        [_largest(found)],
        *_stages(found),
        *_speed(found),
        ["## Taken as given"],
        [f"- {line}" for line in found["assumptions"]],
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]


def _asked(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    active = found["active_parameters"]
    of_active = "not known how many active" if active is None else f"{active:,.0f} active"
    about = "about " if found["parameters_rounded"] else ""
    ways = {"tensor": found["tensor"], "data": found["data"]}
    ways |= {"pipeline": found["pipeline"]} if found["pipeline"] > 1 else {}
    layout = f"{' x '.join(f'{n} {way}' for way, n in ways.items())} parallel"
    if found["context_parallel"] > 1:
        layout += f", tokens dealt out over {found['context_parallel']}"
    return [
        ("parameters", f"{about}{found['parameters']:,.0f}, {about}{of_active}"),
        ("bytes of a parameter", f"{found['bytes_per_parameter']:g}"),
        ("cache", found["kv"]),
        ("GPUs", f"{found['gpus']} x {found['gpu']}, {layout}"),
        (
            "of each",
            f"{size(found['bytes_per_second_each'])}/s,"
            f" {found['flops_per_second_each'] / 1e12:g} TFLOP/s",
        ),
        ("context", f"{found['context']:,} tokens"),
    ]


def _fullest(found: Mapping[str, Any]) -> str:
    return "each GPU of the fullest stage" if found["pipeline"] > 1 else "each GPU"


def _stages(found: Mapping[str, Any]) -> Iterator[list[str]]:
    """Return a table of the stages, where there are several."""
    if found["pipeline"] > 1:
        rows = [
            (
                str(n),
                str(one["layers"]),
                size(one["weight_bytes_each"]),
                size(one["sequence_bytes_each"]),
            )
            for n, one in enumerate(found["stages"], start=1)
        ]
        yield _table(("stage", "layers", "weights of a GPU", "cache of one sequence"), rows)


def _fitting(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = {"memory": "memory", "weight": "weights", "overhead": "overhead"}
    rows = [(words, size(found[f"{key}_bytes_each"])) for key, words in names.items()]
    return [*rows, ("cache of one sequence", size(found["sequence_bytes_each"]))]


def _largest(found: Mapping[str, Any]) -> str:
    if not found["largest_batch"]:
        return f"Largest batch: 0, each GPU lacks {size(found['missing_bytes_each'])}."
    sentence = f"Largest batch: {found['largest_batch']:,} sequences of {found['context']:,} tokens"
    longest = found["max_context"]
    if longest and found["context"] > longest:
        return f"{sentence}; the model was made for {longest:,}."
    return f"{sentence}."


def _speed(found: Mapping[str, Any]) -> Iterator[list[str]]:
    if found["steps"]:
        head = ("batch", "routing", "read by a GPU", "TFLOP", "ms, at least")
        yield ["## A decode step"]
        rates = ("tokens/s, at most", "of a sequence")
        yield _table((*head, *rates), [_step_row(step) for step in found["steps"]])
        yield from _passed(found)
    if first := found["first_token"]:
        yield [
            f"First token of a prompt of {first['prompt']:,} tokens: at least"
            f" {first['seconds_at_least']:.4g} s ({first['flops'] / 1e12:,.4g} TFLOP)."
        ]
    if found["active_parameters"] is None and found["largest_batch"]:
        yield ["## A decode step"]
        yield [NO_ACTIVE]
    if found["expanding"]:
        yield [_crossing(found["expanding"], found["context"])]


def _passed(found: Mapping[str, Any]) -> Iterator[list[str]]:
    """Say what GPUs exchange, and in how many parts a batch passes the stages."""
    last = found["steps"][-1]
    if found["context_parallel"] > 1:
        n = size(last["exchanged_bytes_each"])
        yield [f"For {last['batch']:,} sequences each GPU receives {n} a step, at least."]
    if found["pipeline"] > 1:
        n = last["parts"]
        yield [f"Least time for {last['batch']:,} sequences: in {n:,} parts, one after another."]


def _step_row(step: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{step['batch']:,}",
        step["routing"],
        size(step["read_bytes_each"]),
        f"{step['flops'] / 1e12:,.4g}",
        f"{step['seconds_at_least'] * 1e3:.4g}",
        f"{step['tokens_per_second_at_most']:,.4g}",
        f"{step['sequence_tokens_per_second_at_most']:,.4g}",
    )


def _crossing(expanding: Mapping[str, Any], context: int) -> str:
    if expanding["queries_from"] is None:
        return "MLA: absorbing never computes more than expanding."
    return (
        f"MLA: expanding computes less than absorbing from {expanding['queries_from']:,} query"
        f" tokens on after {context:,} others; over an endless context beyond"
        f" {expanding['queries_over_endless_context']:,.4g}."
    )
