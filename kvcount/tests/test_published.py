"""Counted bytes of a token against what others published of the same models, within 1 %.

Bytes are those of bf16 that grow with the context, over the whole model; windows and states are
apart. Papers and serving engines come first, at their own texts; the third parties below them are
more models, not better evidence.
"""

from fractions import Fraction

import pytest

from kvcount import MODELS, Model, Storage, bytes_per_token, held_bytes, storage

BF16 = storage("bf16")
GIB, MIB, KIB = 2**30, 2**20, 2**10
TOKENS_256K, TOKENS_1M = 2**18, 2**20
WINDOWS = 0.001  # of a sequence of a million tokens

# DeepSeek-V2, arXiv 2405.04434v5, table 9 (7 in v1 and v2), "KV Cache per Token (# Element)": small
# and large MoE with MLA. They have the layers and latents of DeepSeek-V2-Lite and of DeepSeek-V2.
V2_REPORT = {"deepseek-v2-lite": 15.6e3 * 2, "deepseek-v2": 34.6e3 * 2}
# Insights into DeepSeek-V3, arXiv 2505.09343, table 1, "KV Cache Per Token", KB of 1,000 bytes.
V3_HARDWARE = {"deepseek-v3": 70.272e3, "qwen2.5-72b": 327.680e3, "llama-3.1-405b": 516.096e3}
# PagedAttention, arXiv 2309.06180, section 3: 2 x 5120 x 40 x 2 bytes, which it calls 800 KB.
PAGED_ATTENTION = {"opt-13b": 800 * KIB}
# Jamba-1.5, arXiv 2408.12570, table 1, "KV cache (256K context, 16bit)" in GB of 2^30 bytes. Left
# out: its 252 GB for Llama-3.1-405B, twice what the paper above has, and Mistral-7B's window.
JAMBA_1_5 = {
    "mixtral-8x7b": 32 * GIB / TOKENS_256K,
    "llama-3.1-8b": 32 * GIB / TOKENS_256K,
    "mixtral-8x22b": 56 * GIB / TOKENS_256K,
    "mistral-large-2": 88 * GIB / TOKENS_256K,
    "llama-3.1-70b": 80 * GIB / TOKENS_256K,
}
# Jamba, arXiv 2403.19887, table 1, the same column, as three public notes on the paper quote it.
JAMBA = {"llama-2-7b": 128 * GIB / TOKENS_256K, "jamba-v0.1": 4 * GIB / TOKENS_256K}
PAPERS = V2_REPORT | V3_HARDWARE | PAGED_ATTENTION | JAMBA_1_5 | JAMBA
# vLLM's article on DeepSeek-V4 (vllm-project/vllm-project.github.io@c3a01c4
# _posts/2026-04-24-deepseek-v4.md): GiB of a bf16 sequence of 1,048,576 tokens.
V4_ARTICLE = {"deepseek-v4-pro": 9.62 * GIB / TOKENS_1M, "deepseek-v3.2": 83.9 * GIB / TOKENS_1M}
# vLLM's recipe (vllm-project/recipes@8959cf64 moonshotai/Kimi-K2-Think.md): each of 8 GPUs has room
# for 46.80 GiB, which hold 715,072 tokens.
KIMI_RECIPE = {"kimi-k2-thinking": 46.80 * GIB / 715_072}
ENGINES = V4_ARTICLE | KIMI_RECIPE
# Third parties. Logs of llama.cpp that users published: 1152 MiB for 8,192 cells of 36 layers, and
# 512 MiB for 32,768 cells of the 4 layers of Gemma-4-E4B that keep all tokens.
LOGS = {"qwen3-8b": 1152 * MIB / 8192, "gemma-4-e4b": 512 * MIB / 32_768}
# Third parties. Calculators for serving: alibaba/InferSim@f2293da README.md (96 KiB), and
# Eco-Sphere/kv-cache-calculator@86ca779 tests/kv_cache_expected.json.
CALCULATORS = {"qwen3-30b-a3b": 96 * KIB, "glm-5.1": 109_824, "minimax-m2.7": 253_952}
# A third party: LLM Architecture Gallery, "KV cache / token (bf16)" in KiB, by the formula of its
# page kv-cache-calculations; qundao/backup-llm-architecture-gallery@882ba695 llm-list.tsv. Left
# out: what it counts windows in, or index keys out (V3.2, V4, GLM-5), of which rows above say more.
GALLERY = {
    "gpt-2-xl": 300, "llama-3-8b": 128, "llama-3.2-1b": 32, "llama-3.2-3b": 112, "olmo-2-7b": 512,
    "phi-4": 200, "deepseek-v3": 68.6, "mistral-small-3.1-24b": 160, "qwen3-0.6b": 112,
    "qwen3-235b-a22b": 188, "qwen3-30b-a3b": 96, "qwen3-32b": 256, "qwen3-4b": 144,
    "qwen3-8b": 144, "smollm3-3b": 72, "kimi-k2": 68.6, "glm-4.5": 368, "glm-4.5-air": 184,
    "qwen3-next-80b-a3b": 24, "minimax-m2": 248, "kimi-linear-48b-a3b": 7.9,
    "mistral-large-3": 68.6, "nemotron-3-nano-30b-a3b": 6, "glm-4.7": 368, "kimi-k2.5": 68.6,
    "minimax-m2.5": 248, "ling-2.5-1t": 11.2, "qwen3.5-397b-a17b": 30,
    "nemotron-3-super-120b-a12b": 8, "mistral-small-4-119b": 22.5, "qwen3.6-35b-a3b": 20,
    "qwen3.6-27b": 64, "hy3-preview": 320,
}  # fmt: skip
FIGURES = [
    *PAPERS.items(),
    *ENGINES.items(),
    *LOGS.items(),
    *CALCULATORS.items(),
    *((key, kib * KIB) for key, kib in GALLERY.items()),
]


def per_token(model: Model) -> Fraction:
    return sum((bytes_per_token(layer, BF16) for layer in model.layers), Fraction(0))


@pytest.mark.parametrize(("key", "published"), FIGURES)
def test_a_token_has_the_bytes_that_were_published(key: str, published: float):
    assert float(per_token(MODELS[key].model())) == pytest.approx(published, rel=0.01)


def test_at_least_twelve_models_have_a_figure_of_a_paper_or_of_a_serving_engine():
    assert len(PAPERS | ENGINES) >= 12


@pytest.mark.parametrize(("key", "published"), V4_ARTICLE.items())
def test_a_sequence_of_a_million_tokens(key: str, published: float):
    """The windows and buffers, which the article leaves out, hardly weigh there."""
    layers = MODELS[key].model().layers
    held = float(sum(held_bytes(layer, BF16, TOKENS_1M) for layer in layers))
    assert held == pytest.approx(published * TOKENS_1M, rel=0.01 + WINDOWS)


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("deepseek-v3.2", 61 * (576 + 128)),
        ("deepseek-v3.2-exp", 61 * (576 + 128)),
        ("kimi-k3", 24 * 576),
        ("kimi-linear-48b-a3b", 7 * 576),
        ("deepseek-v4-flash", Fraction(21 * (512 + 128), 4) + Fraction(20 * 512, 128)),
        ("deepseek-v4-pro", Fraction(30 * (512 + 128), 4) + Fraction(31 * 512, 128)),
        ("deepseek-v4.1-flash", Fraction(3 * (512 + 128), 2) + (512 + 128)),
        ("glm-5.2", 78 * 576 + 21 * 128),
        ("hy4-preview", 78 * 576 + 21 * 128),
        ("dots3-note-preview", 13 * (576 + 128)),
        ("glm-5.3-flash", 11 * (512 + 32)),
        ("longcat-flash-chat", 56 * 576),
        ("minimax-m3", 60 * 2 * 4 * 128 + 57 * 128),
        ("llama-4-scout", 12 * 2 * 8 * 128),
        ("gemma-3-27b", 10 * 2 * 16 * 128),
        ("gpt-oss-120b", 18 * 2 * 8 * 64),
        ("exaone-4.0-32b", 16 * 2 * 8 * 128),
        ("k-exaone-236b-a23b", 12 * 2 * 8 * 128),
        ("inkling", 11 * 2 * 8 * 128),
        ("zaya1-8b", 40 * 2 * 2 * 128),
        ("llama-3.3-nemotron-super-49b", 49 * 2 * 8 * 128),
        ("qwen3.8-flash-next", 12 * (2 * 2 * 256 + Fraction(128, 4))),
    ],
)
def test_numbers_counted_by_hand(key: str, numbers: Fraction | int):
    assert per_token(MODELS[key].model()) == 2 * numbers


def test_v4_1_flash_has_the_bytes_of_its_report_in_the_types_of_its_report():
    """890 a token: arXiv 2609.19969, abstract; its rows as a serving engine's test has them."""
    one = MODELS["deepseek-v4.1-flash"]
    own = Storage(of_part=one.storage)
    assert sum(bytes_per_token(layer, own) for layer in one.model().layers) == 890
    source = one.model().layers[2]
    rows = {(part.name, part.growth): own.row_bytes(source.kind, part) for part in source.parts}
    assert rows["entry", "window"] + rows["rope", "window"] == 528
    assert rows["entry", "grows"] + rows["rope", "grows"] == 288
    assert rows["index", "grows"] == 68


def test_v4_1_flash_reads_what_few_layers_store():
    layers = MODELS["deepseek-v4.1-flash"].model().layers
    grow = [[part for part in layer.parts if part.growth == "grows"] for layer in layers]
    stored = [n for n, parts in enumerate(grow) if any(part.stored for part in parts)]
    scored = {
        n: part.rows_read(2**20)
        for n, parts in enumerate(grow)
        for part in parts
        if part.name == "index"
    }
    assert stored == [2, 8, 14, 20]
    assert scored == dict.fromkeys((2, 8, 14), 2**19) | {20: 2**20} | dict.fromkeys(
        (24, 28, 32, 36), 2048 * 8
    )
