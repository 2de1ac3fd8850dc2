"""Slow results are computed once for all visitors, and not again after others are evicted."""

from collections.abc import Callable
from importlib import import_module

import pytest

from mla_engine import costs, mechanisms
from ui.engine import shared_cache
from ui.pages.decode.view import View
from ui.pages.sparse import view as run


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[object, str], list]:
    """`counted(module, "name")` is a list that grows with every call of that function."""

    def count(owner: object, name: str) -> list:
        calls, called = [], getattr(owner, name)

        def counting(*args: object, **kwargs: object) -> object:
            calls.append(args)
            return called(*args, **kwargs)

        monkeypatch.setattr(owner, name, counting)
        return calls

    return count


def test_the_config_of_a_published_model_is_read_once(opened, counted):
    opened("pages/after_mla.py")
    calls = counted(import_module("kvcount.models"), "read")
    at = opened("pages/after_mla.py", am_model="kimi-k3", am_kv="fp8")
    assert at.dataframe
    assert not calls


def test_where_a_way_is_lighter_is_searched_once_whatever_the_batch(opened, counted):
    shared_cache.clear()
    calls = counted(costs, "lighter_from")
    opened("pages/compute.py")
    first = len(calls)
    assert first
    opened("pages/compute.py", cost_batch="64", cost_context="65536", cost_gpu="h100")
    assert len(calls) == first
    opened("pages/compute.py", cost_queries="4")
    assert len(calls) == 2 * first


def test_decode_reckons_once_which_ways_are_run_and_from_when_one_reads_less(opened, counted):
    shared_cache.clear()
    searched, reckoned = counted(costs, "lighter_from"), counted(View, "operations")
    opened("pages/decode.py", variant="dsa")
    assert len(searched) == 1
    assert 0 < len(reckoned) <= len(mechanisms.ways()) + 1  # and once for all that are run
    opened("pages/decode.py", variant="dsa", dec_step="3")
    assert len(searched) == 1


def test_what_a_model_was_asked_outlives_a_full_cache(opened, counted):
    asked = opened("pages/sparse.py").main
    shared_cache.clear()
    calls = counted(run, "answered")
    again = opened("pages/sparse.py").main
    assert not calls
    assert [one.value for one in asked.markdown] == [one.value for one in again.markdown]
