"""Every setting a reader can make: its default, and how its text in a link is read.

A parser returns the nearest valid value or raises ValueError where there is none. Shared settings
hold on every page, the others on their own.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from mla_engine import worked_example
from mla_engine.conventions import PAIRING_READINGS, SCALE_READINGS
from mla_engine.costs import ATTENTION, GPUS
from mla_engine.symbols import SYMBOLS
from ui.tokens import sentence

LANGUAGES = ("en", "zh")
VARIANTS = ("mha", "gqa", "mqa", "mla", "mla_absorbed")
SMALL = "small"  # our own sizes, whose numbers can be read
SHARED_SIZES = "shared"  # those of the sidebar

Parser = Callable[[str], object]


@dataclass(frozen=True)
class Setting:
    """A default and a parser from the text in a link."""

    default: object
    parse: Parser


def whole(least: int, most: int, multiple_of: int = 1) -> Parser:
    """Whole numbers, brought into the range and down to a multiple."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
            raise ValueError(text)
        value = min(most, max(least, int(text)))
        return max(least, value - value % multiple_of)

    return parse


def number(least: float, most: float) -> Parser:
    """Decimal numbers, brought into the range."""

    def parse(text: str) -> float:
        if not re.fullmatch(r"[+-]?[0-9]{0,12}\.?[0-9]{0,12}", text) or not math.isfinite(
            float(text)
        ):
            raise ValueError(text)
        return min(most, max(least, float(text)))

    return parse


def one_of(*options: str) -> Parser:
    """One of these codes."""

    def parse(text: str) -> str:
        if text not in options:
            raise ValueError(text)
        return text

    return parse


def words(most: int) -> Parser:
    """Free text of at most `most` characters; a longer one is refused whole."""

    def parse(text: str) -> str:
        if len(text) > most:
            raise ValueError(text)
        return text

    return parse


def flag(text: str) -> bool:
    """1 or 0; what str() makes of a bool is read as well."""
    values = {"1": True, "True": True, "0": False, "False": False}
    if text not in values:
        raise ValueError(text)
    return values[text]


def preset(text: str) -> str:
    """The key of a published model, or our own small sizes."""
    from mla_engine import PRESETS

    return one_of(SMALL, *PRESETS)(text)


def published(text: str) -> str:
    """The key of a published model."""
    from mla_engine import PRESETS

    return one_of(*PRESETS)(text)


def comparable(text: str) -> str:
    """A published model, our own small sizes, or those of the sidebar."""
    return text if text == SHARED_SIZES else preset(text)


def matrix(name: str) -> Parser:
    """The text of one of the worked example's matrices; empty stands for the original one."""

    def parse(text: str) -> str:
        if text:
            worked_example.read(name, text)
        return text

    return parse


def power_of_two(least: int, most: int) -> Parser:
    """Powers of two in the range; another number comes down to the nearest below."""
    within = whole(least, most)
    return lambda text: 1 << (within(text).bit_length() - 1)


def optional(parse: Parser) -> Parser:
    """The same, or None for no value."""
    return lambda text: None if text == "None" else parse(text)


def predictions(text: str) -> str:
    """The answers to a quiz so far: a figure each, - where none was given."""
    if not re.fullmatch("[0-4-]{0,31}", text):
        raise ValueError(text)
    return text


# Sizes as DeepSeek-V2-Lite has them: real, and all heads run on a laptop. d_latent_q 0 is none.
SHARED = {
    "lang": Setting("en", one_of(*LANGUAGES)),
    "preset": Setting("deepseek-v2-lite", preset),
    "variant": Setting("mla", one_of(*VARIANTS)),
    "d_model": Setting(2048, whole(2, 16384)),
    "n_heads": Setting(16, whole(1, 128)),
    "n_kv_heads": Setting(8, whole(1, 128)),
    "d_head": Setting(128, whole(2, 512, multiple_of=2)),
    "d_value": Setting(128, whole(1, 512)),
    "d_latent_kv": Setting(512, whole(1, 2048)),
    "d_latent_q": Setting(0, whole(0, 4096)),
    "d_rope": Setting(64, whole(0, 256, multiple_of=2)),
    "seed": Setting(0, whole(0, 9999)),
    "stop": Setting(0, whole(0, 99)),  # of the guided tour; 0 is none
    "lecture": Setting(False, flag),
    # A real model's layer in the place of seeded weights; an empty source is none.
    "source": Setting("", words(200)),
    "revision": Setting("", words(100)),
    "layer": Setting(0, whole(0, 999)),
    "text": Setting("", words(2000)),
    "activations": Setting("", words(200)),
    "code": Setting("none", one_of("none", "source", "snippet")),  # shown at the page's foot
}
SIZES = tuple(n for n in SHARED if n.startswith(("d_", "n_")))
SOURCE = ("source", "revision", "layer", "text", "activations")

OF_PAGE: dict[str, dict[str, Setting]] = {
    "overview": {},
    "worked_example": {
        "we_variant": Setting("mla", one_of("mla", "mha")),
        "we_completed": Setting(False, flag),
        # Their last value depends on the variant and the step: `stepper.mend` brings them to it.
        **{name: Setting(1, whole(1, 10**9)) for name in ("we_step", "we_row", "we_column")},
        **{f"we_{name}": Setting("", matrix(name)) for name in worked_example.MATRICES},
    },
    "attention_maps": {
        "map_text": Setting("", sentence),  # empty: the page's own
        "map_generated": Setting(0, whole(0, 1024)),  # made-up words; 0 takes the text
        "map_run": Setting(0, whole(0, 128)),  # heads to run; 0 is as many as take a moment
        "map_head": Setting(0, whole(0, 127)),
        "map_causal": Setting(True, flag),
        "map_temperature": Setting(1.0, number(0.1, 10)),
        "map_query": Setting(8, whole(0, 1023)),
        "map_key": Setting(1, whole(0, 1023)),
        "map_tensor": Setting("c_KV", one_of(*SYMBOLS)),
    },
    "absorption": {
        "ab_side": Setting("scores", one_of("scores", "output")),
        "ab_order": Setting("absorbed", one_of("absorbed", "expanded")),
        "ab_queries": Setting(1, power_of_two(1, 2**12)),
        "ab_context": Setting(2**12, power_of_two(2**4, 2**20)),
        "ab_head": Setting(0, whole(0, 127)),
        "ab_matrix": Setting("W_QK", one_of("W_QK", "W_VO")),
        "ab_type": Setting("bfloat16", one_of("float64", "float32", "bfloat16")),
        "ab_gain": Setting(2.0, number(0.25, 4)),  # length of the last word's h
    },
    "compute": {
        "cost_phase": Setting("decode", one_of("decode", "prefill")),
        "cost_scope": Setting("model", one_of("layer", "model")),
        "cost_gpu": Setting("h200", one_of(*GPUS, "this")),
        "cost_context": Setting(2**15, power_of_two(2**7, 2**20)),
        "cost_queries": Setting(1, power_of_two(1, 2**10)),
        "cost_batch": Setting(32, power_of_two(1, 2**10)),
    },
    "compression": {
        "cmp_rank": Setting(128, whole(0, 2**16)),
        "cmp_heads": Setting(4, whole(1, 128)),  # that share the latent
        # "own" is a real model's; the own weights of a seeded layer are random
        "cmp_weights": Setting("own", one_of("own", "random", "spectrum")),
        "cmp_decay": Setting(1.0, number(0, 3)),
        "cmp_error": Setting("u", one_of("k", "v", "scores", "u")),
        "cmp_log": Setting(False, flag),
    },
    "decode": {
        "dec_step": Setting(4, whole(1, 32)),
        "dec_prompt": Setting(8, power_of_two(1, 2**10)),
        "dec_heads": Setting(0, whole(0, 128)),  # heads to run; 0 is as many as take a moment
        "dec_speed": Setting("normal", one_of("slow", "normal", "fast")),
    },
    "kv_cache": {
        "kv_left": Setting("deepseek-v3", published),
        "kv_right": Setting("llama-3.1-405b", published),
        "kv_groups": Setting(8, whole(1, 128)),
        "kv_layers": Setting(0, whole(0, 126)),  # 0 is all
        "kv_batch": Setting(1, power_of_two(1, 1024)),
        "kv_type": Setting("bf16", one_of("fp32", "bf16", "fp8", "int4")),
        "kv_context": Setting(2**17, power_of_two(2**10, 2**20)),
        "kv_log": Setting(True, flag),
        "kv_unit": Setting("GiB", one_of("GiB", "GB")),
        "kv_view": Setting(
            "context", one_of("context", "memory", "layouts", "parallel", "formula")
        ),
        "kv_gpu": Setting("h200", one_of(*GPUS)),
        "kv_ranks": Setting(8, power_of_two(1, 128)),  # GPUs that share the model
        "kv_attention": Setting("tensor", one_of(*ATTENTION)),
        "kv_weights": Setting("fp8", one_of("fp32", "bf16", "fp8", "int4")),
        "kv_sequences": Setting(64, power_of_two(1, 1024)),
    },
    "compare": {
        "vs_left": Setting(SHARED_SIZES, comparable),
        "vs_left_as": Setting("own", one_of("own", *VARIANTS)),
        "vs_right": Setting(SHARED_SIZES, comparable),
        "vs_right_as": Setting("mha", one_of("own", *VARIANTS)),
        "vs_view": Setting("flow", one_of("flow", "costs", "maps")),
        "vs_context": Setting(2**15, power_of_two(2**10, 2**20)),
        "vs_map": Setting("attention", one_of("attention", "scores")),
        "vs_head": Setting(0, whole(0, 127)),
    },
    "real_models": {
        "real_matrix": Setting("W_QK", one_of("W_QK", "W_UK", "W_UV")),
        "real_layers": Setting(False, flag),  # whether all layers are compared
    },
    "rope": {
        "rope_topic": Setting("turning", one_of("turning", "merged", "pairing", "scale", "yarn")),
        "rope_query": Setting(9, whole(0, 15)),
        "rope_key": Setting(4, whole(0, 15)),
        "rope_pair": Setting(0, whole(0, 127)),
        "rope_distance": Setting(3, whole(0, 64)),
        "rope_pairing": Setting("both", one_of(*PAIRING_READINGS[1:])),
        "rope_scale": Setting("absorbed_width", one_of(*SCALE_READINGS[1:])),
        "rope_start": Setting(0, whole(0, 100_000)),  # position of the first word
        "rope_head": Setting(0, whole(0, 127)),
    },
    "notation": {
        "notation_search": Setting("", words(60)),
        "notation_of": Setting("all", one_of("all", "present", "cached")),
    },
    "claims": {
        "claims_verdict": Setting(
            "all", one_of("all", "holds", "fails", "imprecise", "depends", "not_decidable")
        ),
        "claims_source": Setting("all", one_of("all", "N", "T", "S", "P", "C")),
        "claims_text": Setting("", words(60)),
    },
    "quiz": {
        "quiz_seed": Setting(1, whole(0, 9999)),
        "quiz_count": Setting(10, whole(1, 31)),
        "quiz_number": Setting(1, whole(1, 31)),
        "quiz_choice": Setting(None, optional(whole(0, 4))),
        "quiz_answers": Setting("", predictions),
    },
}

PERSONAL = ("quiz_choice", "quiz_answers", "lecture")  # not for a link that goes to somebody else

SETTINGS: dict[str, Setting] = SHARED | {n: s for own in OF_PAGE.values() for n, s in own.items()}
