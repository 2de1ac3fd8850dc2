"""The number below each title is that of the formula."""

import pytest

from tests.ui.screen import lead
from ui.frame.pages import PAGES
from ui.parts import prose

LITE = {"preset": "deepseek-v2-lite"}
HEADS, WIDTH, LATENT, ROTARY = 16, 128, 512, 64  # V2-Lite's: keys and values are equally wide
CACHED, MHA = LATENT + ROTARY, 2 * HEADS * WIDTH
CONTEXT = 4096 + 1
ABSORBED = WIDTH * LATENT + LATENT * CONTEXT  # multiply-adds a head: query into latent, scores
EXPANDED = LATENT * WIDTH * CONTEXT + WIDTH * CONTEXT  # keys out of latents, scores


@pytest.mark.parametrize(
    ("page", "link", "number"),
    [
        ("overview", LITE, f"{MHA / CACHED:.2f}× smaller"),
        ("overview", LITE | {"variant": "mha"}, f"{MHA:,} numbers"),
        ("overview", {"n_heads": "1", "d_head": "128"}, f"{CACHED / (2 * WIDTH):.2f}× larger"),
        ("overview", LITE | {"lang": "zh"}, f"MHA 是它的 {MHA / CACHED:.2f} 倍"),
        ("attention_maps", LITE | {"map_query": "0"}, "1 place"),  # nothing else to see
        ("attention_maps", {"n_heads": "1"}, "1 place"),
        ("absorption", LITE, f"{EXPANDED / ABSORBED:.0f}× less work"),
        ("kv_cache", {}, f"{61 * 2**17 * 576 * 2 / 2**30:.2f} GiB"),
        ("kv_cache", {"kv_view": "layouts"}, "576 numbers"),
        ("kv_cache", {"kv_view": "formula"}, "576 numbers"),
        ("kv_cache", {"kv_view": "parallel", "kv_ranks": "4"}, "4.00 copies"),
        ("decode", LITE | {"dec_step": "6"}, f"{(8 + 6) * CACHED * 4 / 2**10:.1f} KiB"),
        ("compare", LITE, f"{MHA / CACHED:.2f}× apart"),
        ("compare", LITE | {"vs_right_as": "own"}, "="),
        ("quiz", {"quiz_number": "2", "quiz_count": "5"}, "2 of 5"),
    ],
)
def test_the_number_is_that_of_the_formula(opened, page, link, number):
    assert lead(opened(PAGES[page].file, **link))[0].replace("\xa0", " ") == number


@pytest.mark.parametrize(
    ("number", "letters"),
    [
        ("4,096", 6),  # any number has room for five digits; an even count
        ("8.58 GiB", 10),  # 5 + 4, and one
        ("56 个序列", 12),  # 5 + 1 + 3 letters as wide as two
        ("a sequence too large for any of them", 24),
    ],
)
def test_the_number_has_room_for_whatever_digits_it_gets(number, letters):
    assert prose._letters(number) == letters
