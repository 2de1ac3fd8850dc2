"""The way of one number of a map in tables and sentences: vectors, sums and shares."""

import re

import numpy as np
import pytest

from mla_engine import PRESETS
from mla_engine.studies.words import generated_words
from tests.ui.maps import numbers_of
from tests.ui.pages.test_attention_maps import (
    CELL,
    GROUPED,
    LATENT,
    LINK,
    NAMES,
    PAGE,
    isolated,
    markdown,
    trace_of,
)
from tests.ui.screen import clicked, plain

CLOSE = 6e-4  # of four digits


def tables(app) -> list[list[list[str]]]:
    """Every table of products, cell by cell."""
    found = [element.proto.body for element in app.get("html")]
    return [
        [
            [plain(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", body)
        ]
        for body in found
        if 'class="terms"' in body
    ]


def vectors(trace, variant: str):
    """Query and key of each part for head 4, query 7 and key 2, with the names they go by."""
    if variant == "gqa":  # heads 4 and 5 share KV head 2
        return {("q", "k"): (trace.q[0, 7, 4], trace.k[0, 2, 2])}
    rotary = {("qR", "kR"): (trace.q_R[0, 7, 4], trace.k_R[0, 2])}
    if variant == "mla":
        return {("qC", "kC"): (trace.q_C[0, 7, 4], trace.k_C[0, 2, 4])} | rotary
    return {("qCabsorbed", "cKV"): (trace.q_C_absorbed[0, 7, 4], trace.c_KV[0, 2])} | rotary


@pytest.mark.parametrize("variant", NAMES)
def test_products_sums_and_the_softmax_are_written_out(opened, variant):
    app = opened(PAGE, **LINK, **CELL, variant=variant, map_temperature="0.5")
    trace, scale = trace_of(variant), (GROUPED if variant == "gqa" else LATENT).scale
    found = vectors(trace, variant)
    sums = [plain(line) for line in markdown(app) if line.startswith("The sum")]
    assert len(tables(app)) == len(sums) == len(found)
    for (header, *rows), said, (names, pair) in zip(tables(app), sums, found.items(), strict=True):
        assert header == ["", *names, "×"]
        check_products(rows, *(vector.double().numpy() for vector in pair))
        dot = float(pair[0].double() @ pair[1].double())
        assert numbers_of(said) == pytest.approx([dot, scale, scale * dot], rel=CLOSE)
    logits = trace.scores if variant == "gqa" else trace.scores_C + trace.scores_R
    seen = logits[0, 4, 7, :8].double()
    powers = ((seen - seen.max()) / 0.5).exp()
    own, total, logit, peak = map(float, (powers[2], powers.sum(), seen[2], seen.max()))
    softmax = next(line for line in markdown(app) if line.startswith("Softmax at temperature"))
    expected = [0.5, logit, peak, 0.5, own, peak, 8, total, own, total, own / total]
    assert [*map(abs, numbers_of(softmax))] == pytest.approx([*map(abs, expected)], rel=2e-3)
    if variant != "gqa":
        parts = [float(part[0, 4, 7, 2]) for part in (trace.scores_C, trace.scores_R)]
        added = next(line for line in markdown(app) if line.startswith("Content and position: "))
        assert numbers_of(added) == pytest.approx([*parts, logit], rel=CLOSE)


def check_products(rows: list[list[str]], left: np.ndarray, right: np.ndarray) -> None:
    """Six products, what the others add up to, and the sum."""
    products = left * right
    for place, row in enumerate(rows[: min(6, len(products))]):
        assert row[0] == str(place)
        expected = [left[place], right[place], products[place]]
        assert [numbers_of(cell)[0] for cell in row[1:]] == pytest.approx(expected, rel=CLOSE)
    if len(products) > 6:
        assert rows[6][0] == f"{len(products) - 6} more"
        assert numbers_of(rows[6][3]) == pytest.approx([products[6:].sum()], rel=CLOSE)
    assert rows[-1][0] == "sum"
    assert numbers_of(rows[-1][3]) == pytest.approx([products.sum()], rel=CLOSE)
    assert len(rows) == min(6, len(products)) + (len(products) > 6) + 1


def test_a_soft_cap_bounds_the_logit(opened):
    link = {"preset": "gemma-2-9b", "variant": "gqa", "d_model": "48", "n_heads": "4"}
    link |= {"n_kv_heads": "2", "d_head": "8", "d_value": "8", "map_query": "5", "map_key": "1"}
    app = opened(PAGE, **link)
    capped = next(line for line in markdown(app) if line.startswith("The soft cap"))
    cap, again, before, cap_again, logit = numbers_of(capped)
    assert cap == again == cap_again == PRESETS["gemma-2-9b"].config.logit_softcap
    assert cap * np.tanh(before / cap) == pytest.approx(logit, rel=1e-3)
    summed = next(line for line in markdown(app) if line.startswith("The sum"))
    assert numbers_of(plain(summed))[2] == before


def test_a_hidden_cell_says_which_mask_hides_it(opened):
    later = opened(PAGE, **LINK, **(CELL | {"map_query": "2", "map_key": "7"}))
    assert any("gives 0 % to" in line for line in markdown(later))
    query, key = isolated("2024"), isolated("&#96;q&#96;")
    hidden = f"“{key}” comes after “{query}”: the causal mask sets the logit to −∞"
    assert f"{hidden}, and the share is **0**." in markdown(later)
    link = {"preset": "gpt-oss-20b", "variant": "gqa", "d_model": "48", "n_heads": "4"}
    link |= {"n_kv_heads": "2", "map_generated": "256", "map_query": "200", "map_key": "72"}
    app = opened(PAGE, **link)
    query, key = (isolated(generated_words(256)[place]) for place in (200, 72))
    assert PRESETS["gpt-oss-20b"].config.sliding_window == 200 - 72
    outside = f"“{key}” lies outside the sliding window of 128 tokens that ends at “{query}”"
    assert any(line.startswith(outside) for line in markdown(app))
    assert any("gives 0 % to" in line for line in markdown(app))


def test_a_key_that_was_not_chosen_is_said_not_to_be(opened):
    link = {"preset": "small", "variant": "dsa", "map_generated": "16", "map_query": "8"}
    shown = opened(PAGE, **link)
    drawn = clicked(shown, "attention").values(0, "z")[8]
    left_out = next(place for place in range(8) if np.isnan(drawn[place]))
    assert np.isfinite(drawn).sum() == 4
    app = opened(PAGE, **link, map_key=str(left_out))
    query, key = (isolated(generated_words(16)[place]) for place in (8, left_out))
    said = f"“{key}” is not among the 4 keys that the indexer chose for “{query}”"
    assert any(line.startswith(said) for line in markdown(app))
    later = opened(PAGE, **link, map_key="12")
    assert any("comes after" in line for line in markdown(later))
