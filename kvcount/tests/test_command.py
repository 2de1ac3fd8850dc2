"""The command `kvcount cache`: its answers, its refusals, and that it needs no torch."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvcount import MODELS, read
from kvcount.command import REFUSED, main
from kvcount.files.folder import MOST_CONFIG_BYTES
from kvcount.tests.published import (
    GLM_5_2,
    KIMI_K3,
    LLAMA_3_70B,
    V3,
    V3_2,
    V4_FLASH,
    listed,
)

ROOT = Path(__file__).parents[2]
SHORT = LLAMA_3_70B | {"max_position_embeddings": 8192}
HEAVY = ("torch", "numpy", "transformers", "huggingface_hub")
TORCH_FREE = """
import sys
from kvcount.command import main
main({arguments!r})
print([name for name in {heavy} if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("config", "expected"),
    [(V3, 70_272), (V3_2, 85_888), (KIMI_K3, 27_648), (V4_FLASH, 6_880), (LLAMA_3_70B, 327_680)],
)
def test_json_has_the_bytes_that_each_token_adds(cache, config, expected):
    found = cache(config, "--json").found
    assert found["stored_bytes_per_token"] == expected
    assert sum(one["stored_bytes_per_token"] for one in found["kinds"]) == expected
    assert sum(one["layers"] for one in found["kinds"]) == found["layers"]


def test_the_command_is_installed_and_answers_in_any_folder(tmp_path):
    command = [Path(sys.executable).with_name("mla"), "cache", "-", "--json"]
    given = {"cwd": tmp_path, "input": json.dumps(KIMI_K3), "text": True, "check": True}
    out = subprocess.run(command, capture_output=True, **given).stdout
    assert json.loads(out)["stored_bytes_per_token"] == 24 * 576 * 2


def test_weights_and_types_count(cache):
    sizes = ("--kv", "fp8", "--gpus", "8", "--parameters", "671e9", "--weights", "fp8")
    found = cache(V3_2, "--json", *sizes).found
    assert found["stored_bytes_per_token"] == 61 * (656 + 132)
    attention = read(V3_2).attention_parameters
    shares = {"tensor": 671e9 / 8, "data": attention + (671e9 - attention) / 8}
    for way, share in shares.items():
        one = found["gpus"][way]
        assert one["weight_bytes_each"] == share
        assert one["longest_context"] == (143_771 * 2**20 - share) // (61 * (656 + 132))


def test_csv_has_a_row_for_each_kind_and_one_for_all(cache):
    rows = list(csv.DictReader(io.StringIO(cache(KIMI_K3, "--csv").out)))
    assert [(row["kind"], row["layers"]) for row in rows] == [
        ("kda", "69"), ("latent", "24"), ("all", "93"),
    ]  # fmt: skip
    assert rows[-1]["stored_bytes_per_token"] == "27648"


@pytest.mark.parametrize("config", [V3_2, KIMI_K3, V4_FLASH, GLM_5_2])
def test_the_kinds_add_up_to_the_whole(cache, config):
    sizes = ("--batch", "16", "--context", "1001")
    found, table = cache(config, "--json", *sizes).found, cache(config, "--csv", *sizes).out
    *rows, of_all = csv.DictReader(io.StringIO(table))
    for key in set(of_all) - {"kind"}:
        assert sum(one[key] for one in found["kinds"]) == found[key]
        assert sum(float(row[key]) for row in rows) == float(of_all[key])


def test_each_part_of_a_row_has_its_type(cache):
    (kind,) = cache(V3_2, "--json", "--kv", "fp8").found["kinds"]
    parts = {one["part"]: (one["numbers_per_row"], one["type"]) for one in kind["parts"]}
    assert parts == {"latent": (512, "fp8_128"), "rope": (64, "bf16"), "index": (128, "fp8_128")}
    assert [one["most_rows_read"] for one in kind["parts"]] == [2048, 2048, None]


SAID = {
    "what a layer keeps and reads": (
        (V4_FLASH, "--kv", "fp8"),
        # 21 x (512 chosen + 128 of the window, 584 bytes each, and 131,072 / 4 index keys of 132)
        "21 3,759 2.107 MB 98.68 MB CSA, pooled entries that an indexer chooses",
        "every 4 tokens, 512 rows read: entry 448 fp8_64 + rope 64 bf16",
        "every 4 tokens: index 128 fp8_128",
        "last 128 tokens: entry 448 fp8_64 + rope 64 bf16",
    ),
    "states apart from what grows": (
        (KIMI_K3,),
        "each token adds 27,648 bytes (13,824 numbers)",
        "69 0 449.4 MB 449.4 MB KDA, a state",
        "24 27,648 0 3.624 GB MLA, a latent and a rotary key",
        "1 x H200 SXM, 150.8 GB each; weights are left out, their number is not known"
        " (--parameters)",
    ),
    "what each GPU holds": (
        (SHORT, "--gpus", "8", "--batch", "16", "--context", "1000"),
        "tensor parallel, heads split 16 40,960 655.4 MB 230,033",
        "data parallel, whole sequences 2 327,680 655.4 MB 230,033",
        "made for contexts of 8,192 tokens",
    ),
    "what does not fit": (
        (SHORT, "--parameters", "71e9", "--gpu", "l4", "--context", "10000"),
        "1 x L4, 24.15 GB each; weights in bf16 take 142 GB of each",
        "all of it 1 327,680 3.277 GB none, the weights do not fit",
        "made for contexts of 8,192 tokens, fewer than asked for",
    ),
}


@pytest.mark.parametrize(
    ("asked", "lines"), [(one, rest) for one, *rest in SAID.values()], ids=SAID
)
def test_the_text_says(cache, asked, lines):
    said = cache(*asked).lines
    assert [line for line in lines if line not in said] == []


def test_help_names_no_code(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["cache", "--help"])
    said = capsys.readouterr().out
    assert "answer as JSON" in said
    assert "None" not in said
    assert "as_text" not in said


def test_a_folder_and_standard_input_say_the_same(cache, tmp_path, monkeypatch):
    found = [cache(V3, "--json").found, cache(str(tmp_path), "--json").found]
    data = io.BytesIO((tmp_path / "config.json").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    found.append(cache("-", "--json").found)
    assert len({one.pop("model") for one in found}) == 3
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kv_lora_rank": None}, "config.json has no kv_lora_rank"),
        ({"num_hidden_layers": None}, "config.json has no num_hidden_layers"),
        ({"num_hidden_layers": "61"}, "num_hidden_layers ('61') must be a whole number"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers (1000000000) must be at least"),
        ({"model_type": None}, "names no model_type"),
        ({"model_type": "deepseek_v9"}, "'deepseek_v9' is not known, so nothing is counted"),
    ],
)
def test_what_is_missing_or_unknown_is_named_without_a_number(cache, change, said):
    assert said in cache(V3 | change).refusal


@pytest.mark.parametrize(
    ("config", "like"),
    [
        (V3, "latents (MLA"),
        (V3_2, "latents with an indexer (DSA"),
        (KIMI_K3["text_config"], "latents beside linear attention"),
        (V4_FLASH, "pooled entries"),
        (LLAMA_3_70B, "whose heads share keys and values (GQA)"),
        (LLAMA_3_70B | {"num_key_value_heads": 64}, "a key and a value for every head (MHA)"),
        (LLAMA_3_70B | {"sliding_window": 9}, "a sliding window"),
        ({}, "no mechanism that is known here"),
    ],
)
def test_an_unknown_architecture_is_told_what_it_resembles(cache, config, like):
    error = cache(config | {"model_type": "new"}).refusal
    assert like in error
    assert all(key in error for key in config if key in ("kv_lora_rank", "num_attention_heads"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kv", "int3"), ("--kv", "latent=bool"), ("--weights", "int3"), ("--gpu", "abacus"),
        ("--gpus", "0"), ("--batch", "0"), ("--context", "-1"), ("--parameters", "-1"),
        ("--parameters", "nan"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("source", [V3, "llama-3-8b"], ids=["config", "known weights"])
def test_an_option_that_cannot_be_is_refused(cache, source, arguments):
    error = cache(source, *arguments).refusal
    assert error.startswith("kvcount cache: ")
    assert arguments[0].strip("-").removesuffix("s") in error


def test_weights_that_do_not_fit_say_so_and_what_would_help(cache):
    out = cache("deepseek-v3", "--gpus", "8").out
    assert "none, the weights do not fit" in out
    assert "--weights fp8 (83.88 GB of each) or --weights fp4 (41.94 GB of each)" in out
    assert "--gpus 9 or more" in out  # 1,342 GB on GPUs of 150.8
    for enough, split in ((("--gpus", "9"), True), (("--gpus", "8", "--weights", "fp8"), False)):
        fits = cache("deepseek-v3", *enough).out
        assert "try " not in fits
        without = [line for line in fits.splitlines() if "do not fit" in line]
        # 20 of 134 GB are the attention's, which every GPU has where sequences are dealt out
        assert [line[:13] for line in without] == ["data parallel"] * split


def test_without_a_count_no_context_is_said_to_fit(cache):
    head, row = cache(V3, "--gpus", "8").lines[-4:-2]
    assert head.endswith("longest context before any weights")
    assert row.endswith(" 2,145,304")  # 143,771 MiB / 70,272


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("128k", 131_072),
        ("1M", 2**20),
        ("1e6", 10**6),
        ("0.5k", 512),
        ("4096", 4096),
        ("131,072", 131_072),
        ("128K", 131_072),
    ],
)
def test_a_context_is_written_in_several_ways(cache, written, tokens):
    assert cache(V3, "--json", "--context", written).found["context"] == tokens


@pytest.mark.parametrize(
    "written", ["12x", "", "k", "1.5", "nan", "1e999", "1e-3", "128kk", "1,31", "1,024k"]
)
def test_what_is_no_number_of_tokens_says_how_to_write_one(capsys, written):
    with pytest.raises(SystemExit) as stopped:
        main(["cache", "deepseek-v3", "--context", written])
    assert stopped.value.code == REFUSED
    assert "write it like 131072, 128k or 1e6" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("deepsek-v3.2", "deepseek-v3.2"), ("llama-3.1-405", "llama-3.1-405b"),
        ("qwen3-235b", "qwen3-235b-a22b"), ("GLM-5.3-flsh", "glm-5.3-flash"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_told_the_nearest_and_where_all_are(cache, given, near):
    error = cache(given).refusal
    assert near in error.partition("try ")[2].partition(";")[0].split(", ")
    assert f"kvcount models lists all {len(MODELS)}" in error


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("deepseek-r1", "deepseek-v3"), ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"),
        ("DeepSeek-V2-Chat", "deepseek-v2"), ("moonshotai/kimi-k3", "kimi-k3"),
    ],
)  # fmt: skip
def test_a_model_is_found_as_people_call_it(cache, given, key):
    assert cache(given, "--json").found["kinds"] == cache(key, "--json").found["kinds"]


@pytest.mark.parametrize(
    ("written", "ours"),
    [("FP8", "fp8"), ("fp8_e4m3", "fp8"), ("BFloat16", "bf16"), ("f16", "fp16"), ("Q8_0", "q8_0")],
)
def test_a_type_is_written_as_engines_do(cache, written, ours):
    found = cache(LLAMA_3_70B, "--json", "--kv", written, "--weights", written).found
    same = cache(LLAMA_3_70B, "--json", "--kv", ours, "--weights", ours).found
    assert {**found, "kv": ours} == same


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("H100", "H100 SXM"), ("h100-sxm", "H100 SXM"), ("RTX 5090", "RTX 5090"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"), ("A100-80GB", "A100 80 GB SXM"), ("l40S", "L40S"),
        ("AMD MI300X", "MI300X"),
    ],
)  # fmt: skip
def test_a_gpu_is_named_as_people_and_drivers_do(cache, plan, written, name):
    assert cache("llama-3-8b", "--json", "--gpu", written).found["gpus"]["gpu"] == name
    assert plan("llama-3-8b", "--json", "--gpu", written).found["gpu"] == name


def test_a_gpu_that_is_not_listed_is_given_by_memory_and_bandwidth(cache, plan):
    own = ("--json", "--gpu", "rtx-4090", "--gpu-memory", "20 GiB", "--context", "8192")
    found = cache("llama-3-8b", *own, "--kv", "bf16").found["gpus"]
    assert found["memory_bytes"] == 20 * 2**30
    assert found["data"]["longest_context"] == (
        20 * 2**30 - found["data"]["weight_bytes_each"]
    ) // (32 * 2 * 8 * 128 * 2)
    slow, fast = (
        plan("llama-3-8b", *own, "--bandwidth", rate).found["steps"][0]["seconds_at_least"]
        for rate in ("500GB/s", "1TB/s")
    )
    assert slow == pytest.approx(2 * fast)


@pytest.mark.parametrize("written", ["24", "0GB", "GiB", "24 bytes", "-1GB"])
def test_what_is_no_amount_says_how_to_write_one(capsys, written):
    with pytest.raises(SystemExit):
        main(["cache", "deepseek-v3", f"--gpu-memory={written}"])
    assert "write it like 24GiB" in capsys.readouterr().err


def test_blocks_of_llama_cpp_have_the_bytes_that_its_log_has(cache):
    """Qwen2.5-Coder-32B, 32,768 tokens in q8_0: K 2176 MiB, V 2176 MiB (ggml-org/llama.cpp #11200).

    Of 32 numbers its GGML_QUANT_SIZES have 34 bytes in q8_0, and what stands here in the others.
    """
    sizes = {"num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8}
    config = {"model_type": "qwen2", "hidden_size": 5120, "max_position_embeddings": 32768} | sizes
    asked = ("--json", "--context", "32768")
    assert cache(config, *asked, "--kv", "q8_0").found["stored_bytes"] == 2 * 2176 * 2**20
    of_32 = {"q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18, "iq4_nl": 18, "f16": 64}
    for key, value in (("q8_0", "q4_0"), ("q5_1", "q5_0"), ("q4_1", "iq4_nl"), ("f16", "q8_0")):
        found = cache(config, *asked, "--kv", f"k={key},v={value}").found
        assert found["stored_bytes"] == 64 * 8 * 4 * (of_32[key] + of_32[value]) * 32768


def test_the_stored_models_are_listed(capsys):
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(MODELS)
    assert all(one.name in line for one, line in zip(MODELS.values(), lines, strict=True))


def test_published_types_are_named_or_said_to_be_unknown(cache):
    out = cache("deepseek-v3.2", "--kv", "published").out
    assert "each token adds       48,068 bytes" in out  # 61 x (656 + 132), as its note says
    assert "cache as published" in out
    unknown = "cache in bf16 (no other type is published for it)"
    assert unknown in cache("llama-3-8b", "--kv", "published").out
    assert "cache in fp8" in cache("llama-3-8b", "--kv", "fp8").out


# As tests of compressed-tensors and of ModelOpt write a scheme into config.json.
@pytest.mark.parametrize(
    ("scheme", "types"),
    [
        ({"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False}, "fp8"),
        ({"num_bits": 8, "type": "int", "strategy": "tensor", "symmetric": True}, "int8"),
        (None, "bf16"),
    ],
)
def test_a_scheme_of_the_cache_is_its_published_type(cache, scheme, types):
    quantised = {"quant_method": "compressed-tensors", "kv_cache_scheme": scheme}
    said = cache(LLAMA_3_70B | {"quantization_config": quantised}, "--kv", "published").out
    each = 80 * 2 * 8 * 128 * (2 if scheme is None else 1)
    assert f"{each:,} bytes" in said
    why = "kv_cache_scheme of its config.json" if scheme else "no other type is published for it"
    assert f"cache in {types} ({why})" in said
    inside = {"model_type": "llava", "text_config": LLAMA_3_70B, "quantization_config": quantised}
    assert f"{each:,} bytes" in cache(inside, "--kv", "published").out


def test_a_scheme_of_other_numbers_is_refused(cache):
    quantised = {"kv_cache_scheme": {"quant_method": "higgs_dense_2bit"}}
    said = cache(LLAMA_3_70B | {"quantization_config": quantised}).refusal
    assert "kv_cache_scheme of config.json is {'quant_method': 'higgs_dense_2bit'}" in said


@pytest.mark.parametrize(("key", "layers"), [("deepseek-v4-flash", 21), ("deepseek-v4-pro", 30)])
def test_v4_has_its_scales(cache, key, layers):
    """584 bytes an entry (vllm #56893), 68 an index key of 128 in MXFP4 (vllm #48993)."""
    found = cache(key, "--json", "--kv", "published").found
    hca = {"deepseek-v4-flash": 20, "deepseek-v4-pro": 31}[key]
    assert found["stored_bytes_per_token"] == layers * (584 + 68) / 4 + hca * 584 / 128


@pytest.mark.parametrize("source", ["", "no-such-model", "a/b/c", "\0", "~nobody/x", "x" * 5000])
def test_a_source_that_is_none_is_refused(cache, source):
    assert "is not a file, a folder" in cache(source).refusal


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b'{"a": 1, "a": 2}', b"\xff", b"[" * 10**5, b" " * (MOST_CONFIG_BYTES + 1)],
)
def test_a_file_that_is_no_config_is_refused(cache, tmp_path, text):
    file = tmp_path / "x.json"
    file.write_bytes(text)
    assert len(cache(str(file)).refusal) < 400


def test_a_file_whose_bulk_lists_what_is_quantised_is_read(cache):
    config = V3_2 | {"quantization_config": listed()}
    assert 3_000_000 < len(json.dumps(config)) < MOST_CONFIG_BYTES
    assert cache(config, "--json").found == cache(V3_2, "--json").found


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (GLM_5_2 | {"indexer_types": ["full"] * 200_000}, "indexer_types has 200,000 entries"),
        (V4_FLASH | {"compress_ratios": [0] * 200_000}, "compress_ratios has 200,000 entries"),
        (V3 | {"num_hidden_layers": 10**4000}, "num_hidden_layers is far beyond"),
        (V3 | {"model_type": "x" * 10**6}, "is not known"),
        (V3 | {"model_type": "new", **{f"head{n}": 1 for n in range(10**4)}}, "..."),
    ],
)
def test_what_is_far_too_large_is_refused_in_a_short_sentence(cache, config, said):
    assert said in cache(config).refusal


def test_the_most_layers_are_grouped_before_they_are_placed(cache):
    many = {"num_hidden_layers": 4096, "compress_ratios": [0, 4, 128, 4] * 1024}
    found = cache(V4_FLASH | many, "--json").found
    kinds = [(one["kind"], one["layers"]) for one in found["kinds"]]
    assert kinds == [("window", 1024), ("csa", 2048), ("hca", 1024)]


def test_a_folder_without_one_is_refused(cache, tmp_path):
    assert "no config.json" in cache(str(tmp_path)).refusal


@pytest.mark.parametrize(
    ("command", "flags", "figure", "amount"),
    [
        ("cache", (), "stored_bytes_per_token", 70_272),
        ("plan", ("--parameters", "671e9"), "parameters", 671e9),
        ("explain", ("--tokens", "9"), "counted_bytes_per_token", 70_272),
    ],
)
def test_a_local_file_is_counted_and_planned_without_torch(
    command, flags, figure, amount, tmp_path
):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(V3), "utf-8")
    arguments = [command, str(file), "--json", *flags]
    code = TORCH_FREE.format(heavy=HEAVY, arguments=arguments)
    out = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT)
    *figures, imported = out.splitlines()
    assert json.loads("".join(figures))[figure] == amount
    assert imported == "[]"


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "kvcount", "cache", "nothing"]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (said.returncode, said.stdout) == (REFUSED, "")
