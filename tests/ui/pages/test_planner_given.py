"""The page planner with models of the reader's own, too large ones, and what is refused."""

import json
from fractions import Fraction
from math import floor
from pathlib import Path

import pytest
import torch

from kvcount import MODELS
from kvcount.tests.published import V3
from tests.checkpoints import gguf_model
from tests.checkpoints.conftest import empty_cache  # noqa: F401, a fixture
from tests.checkpoints.gguf_model import gguf
from tests.kvcount.test_stored_weights import saved
from tests.ui.pages.test_planner import (
    ACTIVE,
    GIB,
    MEMORY,
    OVERHEAD,
    PAGE,
    TOTAL,
    Opened,
    rate,
    room,
)
from tests.ui.screen import charts, csv, lead, plain, says, speech, statement
from ui.engine import shared_cache
from ui.pages.planner.view import PASTED


def test_a_model_larger_than_the_gpus_says_how_many_it_takes(opened: Opened):
    at = opened(PAGE, plan_gpu="l4", plan_context="8192")
    sequence = 61 * 576 * 8192
    fewest = next(
        n for n in range(1, 99) if Fraction(TOTAL, n) + OVERHEAD + sequence <= 23_034 * 2**20
    )
    assert lead(at)[0] == f"{fewest} GPUs"
    missing = (Fraction(TOTAL, 8) + OVERHEAD + sequence - 23_034 * 2**20) / Fraction(GIB)
    assert f"8 × L4 lack {float(missing):.1f} GiB each" in plain(statement(at))
    assert says(speech(at), "planner.no_speed")
    assert not at.error
    memory = charts(at)[0]
    reached = sum(memory.values(name, "x")[0] for name in memory.names)
    assert reached == pytest.approx(float((Fraction(TOTAL, 8) + OVERHEAD + sequence) / GIB))
    assert memory.layout["xaxis"]["range"][1] > reached > memory.layout["shapes"][0]["x0"]
    box = next(one for one in at.selectbox if one.key.startswith("plan_gpu"))
    box.set_value("h200").run()
    assert lead(at)[0] == f"{floor(room() / sequence)} sequences"


def test_no_number_of_gpus_is_enough_for_a_sequence_that_none_can_hold(opened: Opened):
    at = opened(PAGE, plan_gpu="t4", plan_context=str(2**20), plan_kv="bf16")
    assert lead(at)[0] == "none fits"
    assert says(plain(statement(at)), "planner.line_never")


def numbers_of(at) -> dict:
    return {one.key.partition(":")[0]: one for one in at.number_input}


def test_unknown_parameters_are_asked_for_and_nothing_is_lost(opened: Opened):
    at = opened(PAGE, plan_tensor="4", plan_data="2", plan_context="4096")
    config = MODELS["gemma-3n-e4b"].row["config"]
    at.text_area(PASTED).input(json.dumps(dict(config))).run()
    assert not at.error
    sequence = kept_by_gemma_3n(4096)
    assert plain(lead(at)[0]) == f"{sequence / 2**20:.1f} MiB"
    assert "fill in the box “Parameters, 10⁹”" in speech(at)
    assert "--parameters" not in speech(at)
    (memory,) = charts(at)
    assert memory.names == ["cache"]
    assert memory.values("cache", "x")[0] == pytest.approx(sequence / GIB)
    assert memory.layout["shapes"][0]["x0"] == pytest.approx(MEMORY / GIB)
    numbers_of(at)["plan_parameters"].set_value(8.0).run()
    assert not at.error
    assert lead(at)[0].endswith("sequences")
    assert says(speech(at), "planner.all_active", total="8,000,000,000")
    assert at.query_params["plan_data"] == "2"
    numbers_of(at)["plan_active"].set_value(700.0).run()
    assert "must not be more than" in plain(at.error[0].value)
    settings = at.session_state["settings"]
    assert settings["plan_context"] == 4096


def test_without_known_parameters_a_name_is_drawn_as_it_is(opened: Opened, downloads: dict):
    at = opened(PAGE)
    at.text_area(PASTED).input(json.dumps(V3)).run()
    (memory,) = charts(at)
    assert memory.layout["yaxis"]["ticktext"] == ["deepseek_v3"]
    assert says(memory.alt, "planner.alt_unsized", model="deepseek_v3")
    assert csv(downloads["mla_plan_cache.csv"])["model"].tolist() == ["deepseek_v3"]
    assert says(speech(at), "planner.look_unsized", model="deepseek_v3")


def kept_by_gemma_3n(context: int) -> int:
    """In FP8 on each of four GPUs: 35 layers, the last 15 shared, every fifth keeps all tokens."""
    own = 35 - 15
    full = own // 5
    of_token = 2 * 256  # a key and a value of one of its two KV heads
    return of_token * (full * context + (own - full) * min(context, 512))


def test_a_mixture_without_its_active_parameters_has_no_rate(opened: Opened):
    at = opened(PAGE, plan_parameters="671.026404352")
    at.text_area(PASTED).input(json.dumps(V3 | {"n_routed_experts": 256})).run()
    assert lead(at)[0] == "56 sequences"
    assert "tokens a second" not in plain(statement(at))
    assert says(speech(at), "planner.no_active", box="Active, 10⁹")
    assert "takes at least" not in speech(at)
    assert not says(speech(at), "planner.all_active")
    assert not at.table
    assert not any("tokens/s" in str(chart.layout) for chart in charts(at))
    numbers_of(at)["plan_active"].set_value(ACTIVE / 1e9).run()
    assert f"at most {rate(56):,.0f} tokens a second" in plain(statement(at))


def test_a_pasted_configuration_is_planned_and_a_bad_one_keeps_the_page(opened: Opened):
    at = opened(PAGE, plan_parameters=str(TOTAL / 1e9), plan_active=str(ACTIVE / 1e9))
    at.text_area(PASTED).input(json.dumps(V3)).run()
    assert lead(at)[0] == "56 sequences"
    assert "serve deepseek_v3;" in plain(statement(at))
    assert f"at most {rate(56):,.0f} tokens" in plain(statement(at))
    at.text_area(PASTED).input('{"model_type": "<b>"').run()
    assert len(at.error) == 1
    assert not at.exception
    assert [one for one in at.selectbox if one.key.startswith("plan_model")]
    at.text_area(PASTED).input("").run()
    assert "DeepSeek-V3 / R1" in plain(statement(at))


@pytest.mark.parametrize("options", [{}, {"max_shard_size": "200KB"}])
def test_a_folder_is_planned_with_the_weights_that_its_files_have(
    opened: Opened, models: Path, options: dict
):
    """Against the model that transformers saved there; files hold no fp8, the setting at first."""
    folder = models / f"stored {len(options)}"
    model = saved(folder, torch.float32, **options)
    n = model.num_parameters()
    at = opened(PAGE, plan_own=str(folder), plan_gpu="t4", plan_tensor="1", plan_context="1024")
    assert not at.error
    assert says(plain(speech(at)), "planner.stored", n=f"{n:,}", bytes=f"{4 * n / 2**20:.2f} MiB")
    assert "Parameters, 10⁹" not in speech(at)
    assert charts(at)[0].values("weights", "x")[0] == pytest.approx(4 * n / GIB)
    control = next(one for one in at.button_group if one.key.startswith("plan_weights"))
    assert control.disabled
    last = sorted(folder.glob("*.safetensors"))[-1]
    last.write_bytes(last.read_bytes()[:5])
    shared_cache.clear()
    assert last.name in plain(at.run().error[0].value)


def test_a_gguf_file_is_planned_with_its_blocks(opened: Opened, models: Path):
    """Against the sizes that gguf's own reader finds in the file."""
    path = gguf_model.write(models / "small.gguf", kinds=["Q4_1"])
    n_bytes = sum(int(one.n_bytes) for one in gguf.GGUFReader(path).tensors)
    at = opened(PAGE, plan_own=str(path), plan_gpu="t4", plan_tensor="1", plan_context="512")
    assert not at.error
    assert f"weights in {n_bytes / 2**20:.2f} MiB" in plain(speech(at))
    assert charts(at)[0].values("weights", "x")[0] == pytest.approx(n_bytes / GIB)
