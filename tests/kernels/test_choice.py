"""A call that the kernel cannot take runs in torch, and what is in the way is named once."""

import logging
from dataclasses import replace

import pytest
import torch

from kvcount.refusals import RefusedError
from mla_engine.kernels import absorbed_attention, attention, by_torch, why_not
from tests.kernels.samples import assert_close, case

ONE = case(3, (20, 4), queries=2)


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.setattr(attention, "_said", set())


@pytest.fixture
def interpreted(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def test_a_device_without_the_kernel_says_so_once(caplog):
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        answer = absorbed_attention(*ONE.asked)
    assert_close(answer, by_torch.attend(*ONE.asked))
    said = "absorbed attention runs in torch: device cpu: the kernel runs on CUDA"
    assert [record.getMessage() for record in caplog.records] == [said]


@pytest.mark.usefixtures("interpreted")
def test_each_reason_has_its_name(caplog):
    odd, wide = case(3, (20,), c=24), case(3, (20,), c=32, r=8)
    for one in (ONE, odd.to(torch.float32), wide.to(torch.float32)):
        absorbed_attention(*one.asked)
    said = [record.getMessage() for record in caplog.records]
    assert "dtype torch.float64" in said[0]
    assert "size c=24, r=16" in said[1]
    assert "size c=32, r=8" in said[2]


@pytest.mark.usefixtures("interpreted")
def test_what_the_kernel_takes_has_no_reason():
    half = ONE.to(torch.float16)
    assert why_not(*half.asked[:3]) is None
    apart = replace(half, c_KV=half.c_KV.repeat_interleave(2, -1)[..., ::2])
    assert "side by side" in why_not(*apart.asked[:3])
    half.q_C.requires_grad_()
    assert "backward" in why_not(*half.asked[:3])
    with torch.no_grad():
        assert why_not(*half.asked[:3]) is None


@pytest.mark.usefixtures("interpreted")
def test_without_triton_it_names_what_to_install(monkeypatch):
    monkeypatch.setattr(attention, "find_spec", lambda _: None)
    assert "requirements-gpu.txt" in why_not(*ONE.to(torch.float16).asked[:3])


@pytest.mark.parametrize(
    ("has", "named"),
    [
        ({"major": 7, "minor": 5}, "T4: compute capability 7.5"),
        ({"shared_memory_per_block_optin": 30000}, "T4: no tile fits its 30,000 bytes"),
        ({}, None),
    ],
)
def test_a_chip_that_is_too_small_or_too_old_is_named(monkeypatch, has, named):
    properties = {"name": "T4", "major": 9, "minor": 0, "shared_memory_per_block_optin": 232448}
    chip = type("Chip", (), properties | has)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: chip)
    half = case(128, (20,), c=512, r=64).to(torch.float16)
    said = attention._chip(half.q_C, half.keys)
    assert said == named or named in said


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k_R": None}, r"k_R has the shape None .* want \[2, 25, 16\]"),
        ({"q_R": None}, r"k_R has the shape \[2, 25, 16\] .* want None"),
        ({"c_KV": ONE.c_KV[:1]}, r"c_KV has the shape \[1, 25, 32\] .* want \[2, 25, 32\]"),
        ({"c_KV": ONE.c_KV.half()}, r"c_KV is .*float16.* the queries are .*float64"),
        ({"lengths": [20, 26]}, r"lengths \(\[20, 26\]\) must be 2 numbers from 0 to 25"),
        ({"lengths": [20]}, r"must be 2 numbers"),
        ({"pages": torch.zeros(3, 1)}, r"pages has the shape \[3, 1\] .* want \[2, 1\]"),
        ({"chosen": torch.zeros(2, 1, 4)}, r"chosen .* want \[2, 2, 4\]"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(changed, message):
    with pytest.raises(RefusedError, match=message):
        absorbed_attention(*replace(ONE, **changed).asked)
