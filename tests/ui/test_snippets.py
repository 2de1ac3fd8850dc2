"""Snippets for a notebook: every one makes the numbers of its page, with only mla_engine."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from streamlit.testing.v1 import AppTest

import mla_engine
from mla_engine import PRESETS, costs
from mla_engine.studies.words import words_of
from tests.checkpoints import pooled_model
from tests.checkpoints.texts import TEXT, add_tokenizer, folder_of
from tests.ui.maps import numbers_of
from tests.ui.screen import lead, prose, says, statement
from ui.parts import snippet
from ui.settings.sizes import SMALL_SIZES, sizes_of

ROOT = Path(__file__).parents[2]
ALLOWED = {"kvcount", "mla_engine", "torch", "collections", "dataclasses"}
# reads a snippet a line as JSON, runs it in an empty namespace and answers with what it printed
NOTEBOOK = """
import contextlib, importlib.util, io, json, sys, traceback
assert not any(map(importlib.util.find_spec, ("ui", "app", "pages", "tests")))
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(json.loads(line), {"__name__": "__main__"})
        except Exception:
            traceback.print_exc(file=printed)
    assert "streamlit" not in sys.modules
    print(json.dumps(printed.getvalue()), flush=True)
"""
V3 = {"preset": "deepseek-v3"} | {name: str(size) for name, size in sizes_of("deepseek-v3").items()}
SMALL = {"preset": "small"} | {name: str(size) for name, size in SMALL_SIZES.items()}
HOSTILE = 'it\'s "{x}" $config \'\'\' """ \\n\n# 猫 {0}\t\\'
STATES = [
    ("overview", V3 | {"variant": "mla_absorbed", "lang": "zh"}),
    ("overview", {"variant": "mha", "n_heads": "8"}),
    ("overview", {"variant": "csa"}),
    ("overview", SMALL | {"variant": "kda", "lang": "zh"}),
    ("worked_example", {"we_variant": "mha", "we_h": "1 1/2 -3 4", "lang": "zh"}),
    ("worked_example", {"we_completed": "1", "we_step": "12", "we_row": "2"}),
    ("attention_maps", {"trained_layer": "0", "variant": "gqa", "map_causal": "0"}),
    ("attention_maps", {"sentence": "fig plum pear two", "map_temperature": "0.5", "lang": "zh"}),
    ("attention_maps", {"map_text": HOSTILE, "map_query": "3", "map_key": "2"}),
    ("attention_maps", {"lang": "zh", "map_head": "5", "map_temperature": "0.5", "seed": "7"}),
    ("attention_maps", V3 | {"variant": "mla_absorbed", "map_head": "77", "map_causal": "0"}),
    ("attention_maps", SMALL | {"variant": "mqa", "map_generated": "64", "map_query": "40"}),
    ("attention_maps", SMALL | {"variant": "csa", "map_head": "1", "map_temperature": "0.5"}),
    ("attention_maps", SMALL | {"variant": "hca", "map_query": "9", "map_key": "13"}),
    ("attention_maps", SMALL | {"variant": "kda", "map_head": "2", "map_key": "7", "lang": "zh"}),
    ("attention_maps", SMALL | {"variant": "dsa", "map_causal": "0", "map_key": "9"}),
    ("attention_maps", SMALL | {"variant": "block_dsa", "map_query": "8", "map_key": "8"}),
    ("rope", {"rope_head": "3", "rope_query": "2", "rope_key": "11", "lang": "zh"}),
    ("rope", V3 | {"rope_topic": "merged", "rope_distance": "9"}),
    ("rope", {"rope_topic": "pairing", "rope_pairing": "keys", "rope_start": "900"}),
    ("rope", SMALL | {"rope_topic": "pairing", "rope_pairing": "regrouped", "lang": "zh"}),
    ("rope", V3 | {"rope_topic": "scale", "rope_scale": "no_mscale"}),
    ("rope", SMALL | {"rope_topic": "scale", "rope_scale": "no_mscale"}),
    ("rope", {"rope_topic": "yarn", "lang": "zh"}),
    ("absorption", SMALL | {"ab_side": "output", "ab_queries": "128", "lang": "zh"}),
    ("compression", {"cmp_size": "6", "lang": "zh"}),
    ("compression", {"cmp_weights": "random", "cmp_size": "8"}),
    ("compression", SMALL | {"cmp_weights": "spectrum", "cmp_decay": "1.5", "cmp_rank": "9"}),
    ("after_mla", {"am_model": "kimi-k3", "am_kv": "fp8", "lang": "zh"}),
    ("planner", {"plan_own": "kimi-k2", "plan_parameters": "1000", "plan_gpu": "b200"}),
    ("planner", {"plan_gpu": "l4", "plan_model": "llama-3.1-405b", "lang": "zh"}),
    ("sparse", {"sp_keys": "3", "lang": "zh"}),
    ("kv_cache", {"kv_left": "llama-3-8b", "kv_unit": "GB", "kv_layers": "3", "lang": "zh"}),
    ("kv_cache", {"kv_view": "memory", "kv_gpu": "t4", "kv_weights": "bf16", "lang": "zh"}),
    ("kv_cache", {"kv_view": "layouts", "kv_left": "llama-3-8b"}),
    ("kv_cache", {"kv_view": "parallel", "kv_left": "llama-3-8b", "kv_ranks": "16"}),
    ("kv_cache", {"kv_view": "formula", "kv_left": "llama-3.1-405b", "lang": "zh"}),
    ("decode", {"dec_step": "9"}),
    ("decode", {"variant": "mqa", "lang": "zh"}),
    ("decode", SMALL | {"variant": "gqa", "dec_heads": "2"}),
    ("decode", SMALL | {"variant": "dsa", "dec_prompt": "64", "lang": "zh"}),
    ("decode", SMALL | {"variant": "csa", "dec_prompt": "4", "lang": "zh"}),
    ("decode", V3 | {"variant": "kda", "dec_heads": "1"}),
    ("compute", {"cost_gpu": "mi300x", "cost_scope": "layer"}),
    ("compute", V3 | {"cost_phase": "prefill", "lang": "zh"}),
    ("compute", {"cost_gpu": "this"}),
    ("compute", {"variant": "kda", "cost_phase": "prefill"}),
    ("compute", V3 | {"variant": "csa", "lang": "zh"}),
    ("compare", {"vs_left_as": "gqa", "vs_view": "maps", "sentence": "fig plum"}),
    ("compare", {"vs_left": "deepseek-v3", "vs_right": "llama-3-8b", "lang": "zh"}),
    ("compare", SMALL | {"vs_left_as": "csa", "vs_right_as": "kda"}),
    ("compare", SMALL | {"vs_left_as": "dsa", "vs_right_as": "block_dsa"}),
    ("claims", {"claims_text": "C9", "lang": "zh"}),
    ("quiz", {"quiz_seed": "5", "quiz_count": "3", "quiz_number": "2", "quiz_answers": "1-0"}),
    ("language_model", {"sentence": "( [ close", "lm_model": "gqa", "lang": "zh"}),
    ("notation", {"variant": "gqa", "preset": "llama-3-8b"}),
    ("notation", V3 | {"lang": "zh"}),
]
SI = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
SCALES = {"ms": 1e-3, "µs": 1e-6, "ns": 1e-9} | {p: SI[p] for p in "kMGT"}
SCALES |= {"万": 1e4, "亿": 1e8, "万亿": 1e12}
SCALES |= {f"{prefix}FLOP": SI[prefix] for prefix in SI}
SCALES |= {f"{prefix}B": 1000 ** (n + 1) for n, prefix in enumerate("kMGTP")}
SCALES |= {f"{prefix}iB": 1024 ** (n + 1) for n, prefix in enumerate("KMGTP")}
NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,-])(-?\d[\d,]*(?:\.(\d+))?)(?:e([+-]\d+))?"
    r"[ \xa0]?([KMGTP]iB|[kMGTP]B|[kMGTP]FLOP|[mµn]s|[kMGT](?![A-Za-z])|万亿|万|亿|)"
)
Opened = Callable[..., AppTest]


def named(parameter: object) -> str:
    """Return the page for a test's name."""
    return parameter if isinstance(parameter, str) else ""


@pytest.fixture(scope="module")
def notebook(
    tmp_path_factory: pytest.TempPathFactory, small_models: Path
) -> Iterator[Callable[[str], str]]:
    """Run code where only the two packages and trained models of this project are found."""
    place = tmp_path_factory.mktemp("notebook")
    (place / "assets").mkdir()
    (place / "assets/trained").symlink_to(small_models)
    for package in ("kvcount", "mla_engine"):
        (place / package).symlink_to(ROOT / package)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", NOTEBOOK], cwd=place, **pipes) as kernel:

        def run(code: str) -> str:
            kernel.stdin.write(json.dumps(code) + "\n")
            kernel.stdin.flush()
            return json.loads(kernel.stdout.readline())

        yield run


def page_of(opened: Opened, page: str, **parameters: str) -> AppTest:
    return opened("app.py" if page == "overview" else f"pages/{page}.py", **parameters)


OWN_SENTENCE = (  # of a chosen cell, of a layer whose keys and values are compressed
    *("(framed", "加框", "** numbers instead of", "** 个数代替"),
    *("when the trained MHA caches", "训练好的 MHA 只留"),
)


def headline(at: AppTest) -> str:
    """Return the sentence that the page's last snippet is about, or else its statement."""
    own = (one.value for one in at.markdown if any(part in one.value for part in OWN_SENTENCE))
    return next(own, statement(at))


def shown_numbers(text: str) -> list[tuple[float, float]]:
    """Return the numbers that a reader sees, each with half a unit of its last digit."""
    text = re.sub(r"“[^”]*”", "", text).replace("−", "-")
    for quarters, decimals in {"¼": ".25", "½": ".5", "¾": ".75"}.items():
        text = text.replace(quarters, decimals)
    for name in [preset.name for preset in PRESETS.values()] + [
        g.name for g in costs.GPUS.values()
    ]:
        text = text.replace(name, "")
    numbers = []
    for digits, decimals, power, unit in NUMBER.findall(text):
        scale = SCALES.get(unit, 1) * 10 ** int(power or 0)
        value = float(digits.replace(",", "")) * scale
        numbers.append((value, 0.5 * 10 ** -len(decimals) * scale + 1e-6 * abs(value)))
    return numbers


def printed_numbers(line: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", line)]


def last_numbers(at: AppTest, notebook: Callable[[str], str]) -> list[float]:
    """Return the numbers that the snippet of a page prints last."""
    printed = notebook(at.code[-1].value)
    assert "Traceback" not in printed, printed
    return printed_numbers(printed.splitlines()[-1])


def assert_shown(text: str, printed: list[float]) -> None:
    """Assert that every number of the text is one of those printed, each for one."""
    shown, left = shown_numbers(text), list(printed)
    assert shown, text
    for value, half_a_digit in shown:
        near = min(left, key=lambda number: abs(number - value))
        assert abs(near - value) <= half_a_digit, f"{value} of {text!r} is not in {printed}"
        left.remove(near)


@pytest.mark.parametrize(("page", "link"), STATES, ids=named)
def test_every_snippet_makes_the_numbers_of_its_page(opened, notebook, page, link):
    at = page_of(opened, page, code="snippet", **link)
    code = at.code[-1].value
    imports = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {getattr(n, "module", None) or n.names[0].name for n in imports}
    assert {module.split(".")[0] for module in modules} <= ALLOWED
    assert_shown(headline(at), last_numbers(at, notebook))


REAL_STATES = [
    ("attention_maps", {"layer": "1", "map_head": "2", "map_query": "5", "map_key": "0"}),
    ("attention_maps", {"variant": "mla_absorbed", "map_causal": "0", "text": 'it\'s a "cat"'}),
    ("rope", {"rope_topic": "turning", "rope_head": "1", "lang": "zh"}),
    ("rope", {"rope_topic": "merged"}),
    ("rope", {"rope_topic": "scale", "rope_scale": "no_mscale"}),
    ("absorption", {"layer": "1"}),
    ("compression", {"layer": "1", "cmp_rank": "32", "lang": "zh"}),
    ("decode", {"dec_step": "3"}),
    ("compare", {"vs_right": "deepseek-v3", "vs_right_as": "own"}),
    ("real_models", {"layer": "1"}),
]


@pytest.mark.parametrize(("page", "link"), REAL_STATES, ids=named)
def test_a_real_layers_snippet_reads_its_checkpoint(opened, notebook, demo, page, link):
    at = page_of(opened, page, code="snippet", source=demo, **link)
    code = at.code[-1].value
    assert ("describe(" if page == "compare" else "load_attention(") in code
    assert "seed=" not in code
    said = statement(at) if page == "real_models" else headline(at)
    assert_shown(said, last_numbers(at, notebook))


def test_a_snippets_seeded_weights_read_a_real_models_inputs(opened, notebook, demo):
    link = {"cmp_weights": "random", "cmp_rank": "40", "layer": "1", "seed": "6"}
    at = page_of(opened, "compression", code="snippet", source=demo, **link)
    code = at.code[-1].value
    assert "seed=6" in code
    assert "checkpoints.hidden_states" in code
    assert_shown(headline(at), last_numbers(at, notebook))


def test_a_grouped_models_snippet_reads_its_checkpoint(opened, notebook, demo):
    folder = str(folder_of("llama", Path(demo).parent))
    cell = {"map_head": "4", "map_query": "5", "map_key": "3"}
    at = page_of(opened, "real_models", code="snippet", source=folder, text=TEXT, **cell)
    assert says(statement(at), "real_models.line_grouped", groups="2", heads="6")
    assert_shown(headline(at), last_numbers(at, notebook))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_snippet_of_all_heads_counts_those_with_a_name(opened, notebook, own_model, lang):
    at = page_of(opened, "trained_heads", code="snippet", source=own_model, text=TEXT, lang=lang)
    assert "repeat_scores" in at.code[0].value
    assert_shown(lead(at)[0], last_numbers(at, notebook))


def test_the_snippet_of_another_models_heads_reads_its_text(opened, notebook, demo):
    folder = str(folder_of("llama", Path(demo).parent))
    link = {"source": folder, "text": TEXT, "real_layers": "1"}
    at = page_of(opened, "trained_heads", code="snippet", **link)
    assert_shown(lead(at)[0], last_numbers(at, notebook))


@pytest.mark.parametrize("layer", [0, 1], ids=["window", "full"])
def test_a_snippet_of_sinks_reads_its_checkpoint(opened, notebook, models, layer):
    link = {"source": str(folder_of("gpt_oss", models)), "layer": str(layer), "text": TEXT}
    at = page_of(opened, "real_models", code="snippet", **link)
    assert "goes to the sink" in statement(at)
    assert_shown(statement(at).replace("gpt&#95;ossFalse", ""), last_numbers(at, notebook))
    cell = {"map_query": "5", "map_key": "8", "map_head": "1", "map_temperature": "5"}
    at = page_of(opened, "attention_maps", code="snippet", **link, **cell)
    head, share = last_numbers(at, notebook)
    assert head == 1
    (row,) = (line for line in prose(at) if line.startswith("Row "))
    assert numbers_of(row)[2] == pytest.approx(share, rel=5e-3)


@pytest.mark.parametrize("layer", ["0", "3"], ids=["state", "MLA"])
def test_a_hybrids_snippet_reads_its_checkpoint(opened, notebook, hybrids, layer):
    link = {"source": hybrids["kimi"], "layer": layer, "text": "The cat and the moon."}
    at = page_of(opened, "real_models", code="snippet", **link)
    assert_shown(statement(at), last_numbers(at, notebook))


def test_of_a_layer_that_reads_chosen_keys_the_maps_are_shown(opened, notebook, models):
    folder = str(folder_of("deepseek_v32", models))
    at = page_of(opened, "real_models", code="snippet", source=folder, layer="1", text=TEXT)
    assert not at.error
    assert any(says(one.value, "real_models.choosing") for one in at.info)
    assert says(statement(at), "real_models.line_choosing", heads="4")
    printed = last_numbers(at, notebook)
    assert printed[:2] == [1, 4]
    assert f"about {printed[2]:.0f} a query" in statement(at)


@pytest.mark.parametrize("layer", [0, 2], ids=["window", "CSA"])
def test_a_snippet_of_entries_reads_its_checkpoint(opened, notebook, models, layer):
    folder = add_tokenizer(pooled_model.saved(models / "v4 of snippets", published=False))
    h = torch.randn(9, 48, generator=torch.Generator().manual_seed(1))
    file = folder / f"h{layer}.safetensors"
    save_file({"h": h}, file, {"tokens": json.dumps([*"abcdefghi"])})
    link = {"source": str(folder), "layer": str(layer), "activations": str(file)}
    at = page_of(opened, "real_models", code="snippet", **link)
    assert not at.error
    said = statement(at).replace("v4 of snippets", "")
    assert_shown(said, last_numbers(at, notebook))


def test_the_snippet_makes_the_key_figures_of_the_overview(opened, notebook):
    at = page_of(opened, "overview", code="snippet", n_heads="12", d_latent_kv="384")
    parameters, last = notebook(at.code[0].value).splitlines()[-2:]
    known = [float(parameters.split()[0]), float(parameters.split()[2]), *printed_numbers(last)]
    assert_shown(" ".join(metric.value for metric in at.metric), known)


def test_a_readers_text_stays_a_text(opened, notebook):
    at = page_of(opened, "attention_maps", code="snippet", map_text=HOSTILE)
    words = notebook(f"{at.code[0].value}\nprint(ascii(words))").splitlines()[-1]
    assert ast.literal_eval(words) == words_of(HOSTILE)


@pytest.mark.parametrize("key", PRESETS)
def test_a_configuration_is_written_as_it_is(key):
    names = {name: getattr(mla_engine, name) for name in mla_engine.__all__}
    config = PRESETS[key].config
    assert eval(snippet.config(config, key), names) == config
    assert snippet.config(config, key) == f'PRESETS["{key}"].config'
    other = snippet.config(type(config)(**vars(config) | {"d_model": config.d_model + 2}))
    assert eval(other, names).d_model == config.d_model + 2
    assert eval(other, names).scale == config.scale
    assert max(map(len, other.splitlines())) <= 100


def test_a_notebook_holds_the_code():
    cells = json.loads(snippet.notebook("import torch\nprint('猫')"))["cells"]
    assert [cell["cell_type"] for cell in cells] == ["code"]
    assert "".join(cells[0]["source"]) == "import torch\nprint('猫')"


def test_what_a_snippet_may_import_is_public():
    for home, names in snippet.ENGINE.items():
        assert names <= set(import_module(home).__all__), home
