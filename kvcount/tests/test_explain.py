"""`kvcount explain`: published logs of engines reconciled, and logs that say too little."""

import json
import random
import re
import tomllib
from pathlib import Path

import pytest

from kvcount import MODELS, explain_report
from kvcount.command import REFUSED, main
from kvcount.dtypes import storage
from kvcount.logs.engine_log import MOST_LETTERS, MOST_UNREAD, parse
from kvcount.logs.pooled_blocks import pools
from kvcount.logs.reconcile import Reconciled
from kvcount.sources import of_published

GIB = 2**30
LOGS = tomllib.loads(Path(__file__).with_name("engine_logs.toml").read_text("utf-8"))
PAIRS = "Available KV cache memory: {gib:.2f} GiB\nGPU KV cache size: {tokens:,} tokens\n"


@pytest.fixture
def explain(capsys, tmp_path):
    """`explain("qwen3-8b", log)` is what `kvcount explain` says of a log, as JSON."""

    def run(model, log, *flags):
        file = tmp_path / "engine.log"
        file.write_text(log, "utf-8")
        assert main(["explain", model, "--log", str(file), "--json", *flags]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def terms(found):
    """The bytes of each term."""
    return {line["term"]: line["bytes_per_token"] for line in found["terms"]}


@pytest.mark.parametrize("row", LOGS.values(), ids=LOGS)
def test_a_published_log_is_explained_as_far_as_it_comes_out(explain, row):
    found = explain(row["model"], row["log"], *row.get("flags", ()))
    assert round(found["log_bytes_per_token"]) == row["bytes"]
    assert sum(terms(found).values()) == pytest.approx(found["log_bytes_per_token"], rel=1e-12)
    assert found["explained"] == pytest.approx(row["explained"], abs=5e-5)
    assert round(found["unexplained_bytes_per_token"]) == row.get("left", 0)
    assert ("why" in row) == ("unexplained" in terms(found))
    assert found["unread"] == []


def test_two_numbers_of_a_log_tell_the_pool_and_which_of_them_fits(explain):
    """By hand: 42 blocks of 784 tokens and 3 with states a sequence, of 16 layers x 4,096 bytes."""
    row = LOGS["qwen35_27b_two_numbers"]
    found = explain(row["model"], row["log"])
    assert found["memory_bytes"] == 1487 * 784 * 16 * 4096
    (told,) = [note for note in found["notes"] if note["note"] == "two_numbers"]
    assert told["blocks"] == 1487 == pytest.approx(33.04 * 45, abs=0.3)
    assert told["fit"] == 1_082_655 == round(33.04 * 32_768)
    assert told["tokens"] == 1487 // 4 * 784
    odd = explain(row["model"], row["log"].replace("33.04x", "30.04x"))
    assert odd["memory_bytes"] is None
    assert "no_memory" in [note["note"] for note in odd["notes"]]


def test_a_hybrids_request_is_a_fixed_part_and_a_slope(explain):
    """By hand of the same log: 3 of 1,487 blocks with states, the rest for 784 tokens each."""
    row = LOGS["qwen35_27b_two_numbers"]
    found = explain(row["model"], row["log"])
    assert found["request"] == {
        "fixed_bytes": 3 * 784 * 16 * 4096,
        "bytes_per_token": 16 * 4096,
        "pool_bytes": 1487 * 784 * 16 * 4096,
        "longest_text": 1484 * 784,
        "requests": 1487 // 4,
        "tokens_each": 784,
    }
    assert explain("qwen3-8b", PAIRS.format(gib=9.0, tokens=65_536))["request"] is None


PUBLISHED_BLOCKS = {  # bytes of a block: vllm-project/vllm #54703 (group 0) and #48993 (FlashMLA)
    ("deepseek-v4-flash", "fp8", "dense"): 1_002_240,
    ("deepseek-v4-pro", "published", "dense"): 1_315_008,
    ("deepseek-v4-pro", "published", "by_size"): 1_473_408,
}


@pytest.mark.parametrize(("model", "kv", "layout"), PUBLISHED_BLOCKS)
def test_the_blocks_of_deepseek_v4_have_the_published_bytes(model, kv, layout):
    found = of_published(MODELS[model])
    (pool,) = (
        one for one in pools(found.model, storage(kv, found.storage)) if one.layout == layout
    )
    assert pool.block_bytes == PUBLISHED_BLOCKS[model, kv, layout]


def test_the_longest_text_of_deepseek_v4_is_what_vllm_estimates(explain):
    """vllm #44376: 13,528 tokens in 5.44 GiB, whose digits are 0.09 % of it: 10 blocks of 4."""
    row = LOGS["deepseek_v4_flash"]
    found = explain(row["model"], row["log"], *row["flags"])
    assert found["request"]["longest_text"] == pytest.approx(13_528, abs=40)
    assert {"note": "step_taken", "step": 16_384} in found["notes"]  # the default of LLM(...)


@pytest.mark.parametrize(("each", "note"), [(656, "fp8_chosen"), (576, "fp8_plain")])
def test_of_two_layouts_of_fp8_the_one_that_comes_out_is_named(explain, each, note):
    """DeepSeek-V3.2: 61 layers of 512 + 16 + 128 bytes, or of 576; and 132 of index keys."""
    tokens = int(40 * GIB / (61 * (each + 132))) // 64 * 64
    log = f"--kv-cache-dtype fp8\n{PAIRS.format(gib=40.0, tokens=tokens)}"
    found = explain("deepseek-v3.2", log)
    assert found["explained"] == 1
    assert terms(found)["latents"] == 61 * each
    assert {"note": note, "chosen": 656, "plain": 576} in found["notes"]


def test_tokens_alone_are_given_their_size(explain):
    """Qwen3-8B: 36 layers x 2 x 8 heads x 128 numbers x 2 bytes."""
    log = "max_total_num_tokens=100000, chunked_prefill_size=8192, max_running_requests=128"
    (told,) = [one for one in explain("qwen3-8b", log)["notes"] if one["note"] == "size_counted"]
    assert told["gib"] == round(100_000 * 36 * 2 * 8 * 128 * 2 / GIB, 2)


def test_the_lines_of_llama_cpp_of_before_and_now(explain):
    row = LOGS["deepseek_r1_llama_cpp"]
    now = (
        "llama_kv_cache_unified: size = 1166.62 MiB ( 32768 cells,  61 layers,  1/1 seqs),"
        " K (q8_0): 1166.62 MiB, V (f16): 0.00 MiB"
    )
    for log in (row["log"], now):
        found = explain(row["model"], log)
        assert (found["engine"], found["tokens"], found["kv"]) == ("llama.cpp", 32_768, "q8_0")
        assert found["explained"] == 1
        assert not found["unread"]


def test_caches_of_windows_and_types_of_keys_and_values_in_llama_cpp(explain):
    """Gemma 3 27B: 10 layers of all tokens and 52 of 1,536 cells, each 16 heads x 2 x 128 x 2 B."""
    row = 16 * 2 * 128 * 2
    of_all, of_windows = 10 * 8192 * row / 2**20, 52 * 1536 * row / 2**20
    log = (
        "llama_kv_cache_unified_iswa: creating non-SWA KV cache, size = 8192 cells\n"
        f"llama_kv_cache_unified: size = {of_all:.2f} MiB (  8192 cells,  10 layers,  1 seqs),"
        f" K (f16): {of_all / 2:.2f} MiB, V (f16): {of_all / 2:.2f} MiB\n"
        "llama_kv_cache_unified_iswa: creating     SWA KV cache, size = 1536 cells\n"
        f"llama_kv_cache_unified: size = {of_windows:.2f} MiB (  1536 cells,  52 layers,  1 seqs),"
        f" K (f16): {of_windows / 2:.2f} MiB, V (f16): {of_windows / 2:.2f} MiB"
    )
    found = explain("gemma-3-27b", log)
    assert found["tokens"] == 8192
    assert terms(found)["windows_pool"] == 52 * row * 1536 / 8192
    assert found["explained"] == 1


def test_other_caches_of_llama_cpp(explain):
    """A window as long as the context has as many cells; states are no tokens (Qwen3.5)."""
    row = 16 * 2 * 128 * 2
    size = "llama_kv_cache: size = {:.2f} MiB ( 1024 cells, {} layers, 1/1 seqs), K (f16): 0.00 MiB"
    both = "\n".join(size.format(n * 1024 * row / 2**20, n) for n in (10, 52))
    found = explain("gemma-3-27b", both)
    assert found["memory_bytes"] == 62 * 1024 * row
    assert found["explained"] == 1
    states = "llama_memory_recurrent: size = 149.06 MiB ( 1 cells, 64 layers, 1 seqs)"
    found = explain("qwen3.5-27b", f"{size.format(64.0, 16)}\n{states}")
    assert (found["tokens"], found["memory_bytes"], found["explained"]) == (1024, 2**26, 1)


def test_options_as_people_write_them(explain):
    row = LOGS["qwen35_27b_two_numbers"]
    asked = row["log"].replace("--max-model-len 32768", "--max-model-len 32k")
    assert explain(row["model"], asked)["request"]["longest_text"] == 1_163_456
    read = parse("--max-num-batched-tokens 8k --max-model-len 2K --block-size 16")
    assert (read.batched, read.length, read.block_size) == (8000, 2048, 16)


def test_a_log_that_names_blocks_alone(explain):
    found = explain("deepseek-v3.2-exp", "KV self size = 5.00 MiB\nGPU blocks: 12\n")
    logged = pytest.approx(5 * 2**20 / found["tokens"])
    assert [sum(terms(found).values()), found["log_bytes_per_token"]] == [logged, logged]
    assert found["request"] is None


ASKED = "--tp {} --dcp {} --max-num-batched-tokens 8192{}"
KEPT_ALIKE = " disable_hybrid_kv_cache_manager=True"


@pytest.mark.parametrize("asked", [ASKED.format(1, 1, ""), ASKED.format(8, 2, KEPT_ALIKE)])
def test_the_terms_of_every_model_add_up_to_what_a_pool_holds(asked):
    """A log made of the pool of each stored model: all is named, and no term has the wrong sign."""
    length, n_bytes = 2**17, 60 * GIB
    for key, model in MODELS.items():
        found = of_published(model)
        first = parse(f"Available KV cache memory: 60.00 GiB\n{asked}")
        pool = Reconciled(model=found.model, storage=found.storage, log=first).pool
        if pool is None:
            continue
        blocks, needs = pool.blocks(n_bytes), sum(pool.needs(first, length).values())
        log = PAIRS.format(gib=60, tokens=int(length * blocks / needs))
        log += f"Maximum concurrency for {length} tokens per request: {blocks / needs:.2f}x\n"
        told = explain_report.figures(found, parse(log + asked))
        lines = {line["term"]: line["bytes_per_token"] for line in told["terms"]}
        assert told["explained"] == 1, key
        assert abs(lines.pop("rounding", 0)) < 0.02 * told["log_bytes_per_token"], key
        assert all(value >= 0 for name, value in lines.items() if name in ADDED), key


ADDED = "windows_kept", "windows_spread", "states_spread", "padding", "last_block"


def test_where_windows_are_a_default_of_the_step_is_tried(explain):
    """The tokens of Gemma 3 27B's pool, with a step of 8,192 that the log leaves out."""
    found = of_published(MODELS["gemma-3-27b"])
    told = parse("Available KV cache memory: 40.00 GiB\n--max-num-batched-tokens 8192")
    pool = Reconciled(model=found.model, storage=found.storage, log=told).pool
    blocks, needs = pool.blocks(40 * GIB), sum(pool.needs(told, 2**17).values())
    log = PAIRS.format(gib=40, tokens=int(2**17 * blocks / needs))
    log += f"Maximum concurrency for {2**17} tokens per request: {blocks / needs:.2f}x"
    without, wrong = explain("gemma-3-27b", log), explain("gemma-3-27b", log, "--batched", "512")
    assert without["explained"] == 1
    assert {"note": "step_taken", "step": 8192} in without["notes"]
    assert wrong["explained"] < 1
    assert wrong["request"] is None


def test_what_the_terms_are():
    """Their files' sizes: 61 x 576 bf16 numbers; 61 x (656 + 132) bytes; KDA in 20 of 27 layers."""
    said = {
        "kimi_k2_thinking": {
            "latents": 61 * 1152,
            "split": -61 * 1008,
            "latents_copied": 61 * 1008,
        },
        "kimi_k2_thinking_dcp": {"context": -61 * 1008},
        "deepseek_v32": {"latents": 61 * 656, "index": 61 * 132},
        "deepseek_v32_without_index": {"index_left_out": -61 * 132},
        "qwen3_235b_sglang": {"pairs": 94 * 2048, "split": -94 * 1536},
        "kimi_linear": {"states_dealt": 20 * 1152, "padding": 1152},
        "mimo_v2_flash": {"windows_pool": 39 * 2 * (192 + 128) * 2},
    }
    for name, expected in said.items():
        row = LOGS[name]
        kv = dict(zip(*[iter(row.get("flags", ()))] * 2, strict=True))
        log = parse(f"{row['log']} --tp {kv.get('--tp', '')}")
        found = explain_report.figures(of_published(MODELS[row["model"]]), log, kv.get("--kv"))
        assert {key: terms(found)[key] for key in expected} == expected


def test_heads_that_do_not_divide_are_copied(explain):
    """vLLM keeps max(1, heads / ranks) heads a rank: of Qwen3's 4 heads on 8 ranks one each."""
    each = 94 * 2 * 128 * 2
    log = "tensor_parallel_size=8\n" + PAIRS.format(
        gib=8.11, tokens=int(8.11 * GIB / each) // 16 * 16
    )
    found = explain("qwen3-235b-a22b", log)
    assert terms(found)["pairs_copied"] == each - 4 * each / 8
    assert found["explained"] == 1


def test_stages_and_a_layer_that_drafts_count(explain):
    each = 576 * 2
    halves = PAIRS.format(gib=20, tokens=int(20 * GIB / (31 * each)) // 64 * 64)
    found = explain("deepseek-v3", f"{halves}pipeline_parallel_size=2")
    assert terms(found)["pipeline"] == -30 * each
    assert found["explained"] == 1
    drafts = PAIRS.format(gib=20, tokens=int(20 * GIB / (62 * each)) // 64 * 64)
    found = explain("deepseek-v3", f"{drafts}'speculative_config': {{'method': 'deepseek_mtp'}}")
    assert terms(found)["drafting"] == each
    assert found["explained"] == 1


def test_of_stages_with_windows_the_one_with_the_most_bytes_counts(explain):
    """The last of MiMo's two stages has 20 of the 39 windows, and so the most bytes."""
    windows, full = 20 * 8 * 2 * 320, 4 * 4 * 2 * 320  # layers, KV heads, numbers in 2 bytes
    size = 100_000 * (windows + full) / GIB
    pools = f"SWAKVPool mem usage: {size:.2f} GB, swa size: 100000, full size: 100000"
    found = explain("mimo-v2-flash", pools, "--pp", "2", "--kv", "bf16")
    assert (terms(found)["windows_pool"], found["explained"]) == (windows, 1)


def test_windows_take_blocks_of_a_sequence_or_of_every_token(explain):
    """Gemma-4-26B: 25 windows of 1,024 x 8,192 bytes, 5 full layers of 4,096, blocks of 131,072."""
    sequence = (
        1024 + 5 * 377
    )  # a block of 32 tokens for each; windows of 1,023 + 4,992, and one more
    blocks = int(4.25 * GIB // (5 * 2**17))
    tokens = int(blocks / sequence * 32768)
    log = PAIRS.format(gib=4.25, tokens=tokens)
    log += f"Maximum concurrency for 32,768 tokens per request: {tokens / 32768:.2f}x\n"
    found = explain("gemma-4-26b-a4b", f"{log}--max-num-batched-tokens 4992")
    assert terms(found)["windows_spread"] == pytest.approx(5 * 2**17 * 5 * 377 / 32768)
    assert found["explained"] == 1
    each = 25 * 8192 + 5 * 4096
    log = PAIRS.format(gib=4.25, tokens=int(4.25 * GIB / each) // 16 * 16)
    found = explain(
        "gemma-4-26b-a4b", f"{log}Hybrid KV cache manager is disabled for this hybrid model"
    )
    assert terms(found)["windows_kept"] == 25 * 8192
    assert found["explained"] == 1


def test_tokens_that_are_dealt_out_are_dealt_in_groups_too(explain):
    """Kimi-Linear's published log with its tokens times 2, as vLLM multiplies them; then the 319
    blocks of 7 x 960 x 1,152 bytes in 2.30 GiB for sequences of 63 blocks and 3 of states."""
    row, newer = LOGS["kimi_linear"], int(319 / 66 * 120_000)
    for tokens, blocks in ((2 * 75_840, 319 // 4), (newer, 319)):
        log = row["log"].replace("75,840", f"{tokens:,}").replace("2.48x", f"{319 / 66:.2f}x")
        found = explain(row["model"], f"{log}decode_context_parallel_size=2", "--kv", "bf16")
        assert found["explained"] == 1
        assert abs(terms(found)["rounding"]) <= found["log_bytes_per_token"] / blocks


def test_flags_go_before_the_log_and_do_without_one(capsys, explain):
    flags = ("--memory", "46.80GiB", "--tokens", "715,072", "--tp", "8")
    assert main(["explain", "kimi-k2-thinking", *flags, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    logged = explain("kimi-k2-thinking", LOGS["kimi_k2_thinking"]["log"])
    assert alone["terms"] == logged["terms"]
    other = explain("kimi-k2-thinking", LOGS["kimi_k2_thinking"]["log"], "--tokens", "1000")
    assert other["tokens"] == 1000


@pytest.mark.parametrize(
    ("log", "notes"),
    [
        ("GPU KV cache size: 715,072 tokens", {"size_counted"}),
        ("Available KV cache memory: 46.80 GiB", {"no_tokens"}),
        ("Available KV cache memory: -2.14 GiB", {"no_tokens", "no_room"}),
        ("--model Qwen/Qwen3-8B", {"no_memory", "no_tokens", "other_model"}),
        ("--kv-cache-dtype nvfp4_ds_mla", {"no_memory", "no_tokens"}),
    ],
)
def test_of_a_log_in_pieces_what_is_missing_is_named(explain, log, notes):
    found = explain("kimi-k2-thinking", log)
    assert {one["note"] for one in found["notes"]} == notes | {"kv_taken", "tensor_taken"}
    assert found["counted_bytes_per_token"] == 61 * 576 * 2
    assert found["log_bytes_per_token"] is None


def test_what_is_not_understood_or_comes_later_is_named(explain):
    first = PAIRS.format(gib=46.8, tokens=715_072)
    odd = "Mamba Cache is allocated. max_mamba_cache_size: 360, ssm_state size: 50.77GB"
    found = explain(
        "kimi-k2-thinking", f"{first}{odd}\n{first.replace('715', '815')}Loading weights"
    )
    assert found["tokens"] == 715_072
    assert found["unread"] == [odd, "GPU KV cache size: 815,072 tokens"]


def test_of_many_lines_that_are_not_understood_the_first_are_named(explain):
    odd = [f"Mamba Cache is allocated, {n}" for n in range(50)]
    lines = "\n".join([PAIRS.format(gib=46.8, tokens=715_072), *odd, *odd])
    assert explain("kimi-k2-thinking", lines)["unread"] == odd[:MOST_UNREAD]


def test_of_several_ranks_the_smallest_size_decides(explain):
    ranks = "Available KV cache memory: 46.90 GiB\nAvailable KV cache memory: 46.80 GiB\n"
    found = explain("kimi-k2-thinking", f"{ranks}GPU KV cache size: 715,072 tokens")
    assert found["memory_bytes"] == pytest.approx(46.8 * GIB)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing of this log is understood"),
        (("--log", "/no/such.log"), "is not a readable file"),
        (("--tokens", "0"), "tokens (0) must be"),
        (("--tokens", "9", "--kv", "int3"), "int3"),
        (("--tokens", "9", "--concurrency", "nan"), "concurrency (nan) must be"),
        (("--tokens", "9", "--concurrency", "inf"), "concurrency (inf) must be"),
    ],
)
def test_what_cannot_be_is_refused(capsys, arguments, said):
    assert main(["explain", "qwen3-8b", *arguments]) == REFUSED
    error = capsys.readouterr().err
    assert error.startswith("kvcount explain: ")
    assert said in error


def test_a_huge_log_is_refused(capsys, tmp_path):
    (tmp_path / "x").write_bytes(b"a" * (MOST_LETTERS + 1))
    assert main(["explain", "qwen3-8b", "--log", str(tmp_path / "x")]) == REFUSED
    assert "more than 1,048,576 characters" in capsys.readouterr().err


def test_torn_logs_do_not_break_it():
    lines = "\n".join(row["log"] for row in LOGS.values())
    numbers = ("0", "-1", "9" * 18, "1e9", "nan", "0.00")
    draw = random.Random(0)
    for _ in range(60):
        torn = (
            re.sub(r"\d+", lambda _: draw.choice(numbers), lines) if draw.random() < 0.5 else lines
        )
        kept = draw.sample(torn.splitlines(), 12)
        log = parse("\n".join(line[draw.randrange(9) : draw.randrange(40, 200)] for line in kept))
        model = draw.choice(
            ("kimi-k2-thinking", "kimi-linear-48b-a3b", "gpt-oss-20b", "mimo-v2-flash")
        )
        if log.said:
            found = explain_report.figures(of_published(MODELS[model]), log)
            assert explain_report.as_text(found)


def test_every_word_is_said_in_both_languages():
    for section in explain_report.table().values():
        for row in section.values():
            assert set(row) == {"en", "zh"}
            fields = [set(re.findall(r"\{(\w+)", text)) for text in row.values()]
            assert fields[0] == fields[1]


def test_the_text_says(capsys):
    flags = ("--memory", "46.80GiB", "--tokens", "715072", "--tp", "8", "--kv", "bf16")
    assert main(["explain", "kimi-k2-thinking", *flags]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        "70,272 latents and rotary keys, 61 layers x 1,152 bytes",
        "+61,488 but latents have no heads to split: each rank keeps them whole",
        "70,274.2 in the log: 46.80 GiB / 715,072 tokens",
        "explained: 100 %",
        "understood: memory 46.80 GiB, tokens 715,072, tensor 8",
    ):
        assert line in lines
