"""The row above every title: the model as a chip, and the quiet menu with all of a page's data."""

import io
import zipfile

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS
from tests.ui.screen import csv
from ui.frame.pages import PAGES


def said(at: AppTest) -> list[str]:
    """Return the labels of the popovers above the title."""
    found = []
    for block in at.main:
        sent = getattr(block, "proto", None)
        if sent is not None and sent.DESCRIPTOR.name == "Block" and sent.HasField("popover"):
            found.append(sent.popover.label)
    return found


@pytest.mark.parametrize("page", ["rope", "planner"])
def test_the_navigation_is_open_at_the_group_of_the_page(opened, page):
    groups = opened(PAGES[page].file).sidebar.expander
    titles = {"understand": "Understand", "size": "Size"}
    open_ones = [one.label for one in groups if one.proto.expanded]
    assert len(groups) == 4
    assert len(open_ones) == 1
    assert titles[PAGES[page].group] in open_ones[0]


@pytest.mark.parametrize(
    ("link", "tells"),
    [
        ({}, "d 2,048 · 16 heads · latent 512 + 64"),
        ({"variant": "gqa"}, "d 2,048 · 16 heads · 8 KV heads"),
        ({"variant": "mha"}, "d 2,048 · 16 heads"),
        ({"d_rope": "0"}, "d 2,048 · 16 heads · latent 512"),
        ({"lang": "zh"}, "d 2,048 · 16 个头 · 潜在 512 + 64"),
    ],
)
def test_the_chip_tells_the_model_apart(opened, link, tells):
    chip, menu = said(opened("pages/decode.py", preset="deepseek-v2-lite", **link))
    name, _, sizes = chip.partition(" · ")
    assert name.startswith("DeepSeek-V2-Lite")
    assert ("changed" in name) is ("d_rope" in link)
    assert sizes == tells
    assert menu == ("更多" if "lang" in link else "More")


@pytest.mark.parametrize(
    ("variant", "tells"),
    [
        ("mla", "d 24 · 4 heads · latent 9 + 4"),
        ("gqa", "d 24 · 4 heads · 2 KV heads"),
        ("mha", "d 24 · 4 heads"),
    ],
)
def test_the_chip_tells_of_a_trained_model(opened, variant, tells):
    at = opened("pages/attention_maps.py", variant=variant)
    assert said(at)[0] == f"A small trained model · {tells}"
    assert not [s for s in at.select_slider if s.key == "d_head"]


def test_the_chip_follows_a_choice_behind_it(opened):
    at = opened()
    next(box for box in at.selectbox if box.key == "preset").set_value("deepseek-v3").run()
    config = PRESETS["deepseek-v3"].config
    assert said(at)[0].endswith(f"d {config.d_model:,} · {config.n_heads} heads · latent 512 + 64")
    next(s for s in at.select_slider if s.key == "n_heads").set_value(64).run()
    assert "64 heads" in said(at)[0]
    assert dict(at.query_params) == {"preset": "deepseek-v3", "n_heads": "64"}


def test_a_real_model_gives_the_chip_its_name(real):
    at = real("absorption")
    assert "demo" in said(at)[0]
    assert not [s for s in at.select_slider if s.key == "n_heads"]


@pytest.mark.parametrize("name", ["overview", "kv_cache", "notation", "quiz"])
def test_every_page_has_the_menu_and_those_with_sizes_the_chip(opened, name):
    at = opened(PAGES[name].file)
    ways = [way for way in said(at) if way != "Embed"]  # of its panels
    assert len(ways) == 1 + PAGES[name].sizes
    labels = {button.label for button in at.button}
    assert {"Reset this page", "Reset to defaults", "QR code"} <= labels


def test_the_archive_holds_every_table_of_the_page(opened, downloads):
    at = opened("pages/compression.py", preset="small")
    tables = {name: made for name, made in downloads.items() if name.endswith(".csv")}
    assert len(tables) > 3
    assert "zip" in [button.key for button in at.get("download_button")]
    archive = zipfile.ZipFile(io.BytesIO(downloads["mla_compression.zip"]()))
    assert sorted(archive.namelist()) == sorted(tables)
    for name, made in tables.items():
        pd.testing.assert_frame_equal(csv(archive.read(name)), csv(made()))


def test_tables_of_one_name_do_not_hide_each_other(opened, downloads):
    opened("pages/compare.py", preset="small", vs_view="maps")
    files = [name for name in downloads if name.endswith(".csv")]
    archive = zipfile.ZipFile(io.BytesIO(downloads["mla_compare.zip"]()))
    assert len(archive.namelist()) == len(set(archive.namelist())) >= len(files)
