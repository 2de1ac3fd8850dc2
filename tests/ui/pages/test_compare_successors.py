"""A side that pools its tokens or keeps a state: caches that grow by fractions or not at all."""

import math

import numpy as np
import pytest

from tests.ui.pages.test_attention_maps_successors import N, looped, weight
from tests.ui.screen import cells, charts, lead, own, prose, says, statement

PAGE = "pages/compare.py"
SMALL = {"preset": "small"}
STATE = 4 * 16 * 16 * 4  # bytes of a state of 4 heads in float32
TAILS = 3 * 3 * 4 * 16 * 2  # of the last three tokens' q, k and v, in bf16


def sides(opened, left, right, view, **more):
    """The page with our small sizes in two variants."""
    return opened(PAGE, **SMALL, vs_left_as=left, vs_right_as=right, vs_view=view, **more)


def pooled_bytes(tokens):
    """CSA over so many tokens: window, entries, index entries, and what waits for more (bf16)."""
    full, waiting = divmod(tokens, 2)
    ahead = 2 if full else 0
    numbers = min(tokens, 3) * 32
    for width in (32, 16):
        numbers += full * width + 2 * waiting * 2 * width + 2 * ahead * width
    return 2 * numbers


@pytest.mark.parametrize(
    ("left", "right", "number", "said"),
    [
        ("mla", "kda", "0 per token", "keeps 40 numbers"),
        ("kda", "mla", "0 per token", "keeps 0 numbers"),
        ("kda", "kda", "=", "keep the same 0 numbers"),
        ("mla", "csa", "1.67× apart", "keeps 40 numbers"),
        ("hca", "csa", "3.00× apart", "keeps 8 numbers"),
    ],
)
def test_the_statement_has_what_grows_and_what_does_not(opened, left, right, number, said):
    at = sides(opened, left, right, "flow")
    assert lead(at)[0] == number
    assert said in statement(at)
    assert statement(at).count(" 5.12 KiB") == (left, right).count("kda")
    assert (says(statement(at), "compare.line_fixed")) == bool({left, right} - {"mla"})
    assert f"{(STATE + TAILS) / 1024:.2f}" == "5.12"
    fixed = at.table[0].value.loc["Fixed cache per layer"]
    names = {"kda": "5.12 KiB", "mla": "none"}
    for letter, variant in zip("AB", (left, right), strict=True):
        if variant in names:
            assert fixed[letter] == names[variant]
    assert not at.error


def test_a_fraction_of_a_number_per_token_is_written(opened):
    link = SMALL | {"d_latent_kv": "2", "d_rope": "0", "vs_left_as": "hca", "vs_right_as": "mla"}
    at = opened(PAGE, **link, vs_view="flow")
    assert at.table[0].value.loc["Numbers cached per token and layer"]["A"] == "0.500"
    assert "keeps 0.500 numbers" in statement(at)
    assert lead(at)[0] == "4.00× apart"


def test_the_caches_are_counted_part_by_part_at_every_length(opened):
    at = sides(opened, "csa", "kda", "costs", vs_context="8192")
    growth, lengths = charts(at)[0], 2 ** np.arange(6, 21)
    wanted = [pooled_bytes(int(n)) / 2**20 for n in lengths]
    np.testing.assert_allclose(growth.values("A", "y"), wanted, rtol=1e-12)
    wanted = np.full(len(lengths), (STATE + TAILS) / 2**20)
    np.testing.assert_allclose(growth.values("B", "y"), wanted, rtol=1e-12)
    low, high = growth.layout["yaxis"]["range"]
    assert math.isfinite(low)
    assert math.isfinite(high)
    held = at.table[0].value.loc["Cache of the context"]
    assert (held["A"], held["B"]) == (f"{pooled_bytes(8192) / 1024:.0f} KiB", "5.12 KiB")
    assert any(says(one.value, "compare.cost_state") for one in own(at, "caption"))


def test_a_state_stands_beside_attention_as_weights_on_one_scale(opened, downloads):
    _, x = looped("kda")
    at = sides(opened, "mla", "kda", "maps", vs_head="2", vs_map="scores")
    left, right = charts(at)
    seen = np.tri(N, dtype=bool)
    wanted = np.array(
        [[weight(x, t, s, 2) if s <= t else np.nan for s in range(N)] for t in range(N)]
    )
    np.testing.assert_allclose(right.values(0, "z"), wanted, rtol=1e-4, atol=1e-6)
    shares = left.values(0, "z")
    np.testing.assert_allclose(np.nansum(shares, -1), np.ones(N), rtol=1e-5)
    assert shares[seen].min() >= 0
    for chart in (left, right):
        heat = chart.traces[0]
        assert (heat["zmin"], heat["zmax"]) == (-1.0, 1.0)
        assert "weight %{z" in heat["hovertemplate"]
        assert says(chart.alt, "compare.alt_weights", head="2")
    apart = np.nanargmax(np.abs(shares - wanted))
    row, column = np.unravel_index(apart, (N, N))
    for chart in (left, right):
        shape = chart.layout["shapes"][0]
        assert (shape["x0"], shape["y0"]) == (column - 0.5, row - 0.5)
    assert float(cells(downloads["compare_B.csv"])[4][2]) == pytest.approx(wanted[3][1], rel=1e-3)
    assert not any(group.key.startswith("vs_map") for group in at.button_group)


@pytest.mark.parametrize("kind", ["attention", "scores"])
def test_maps_with_entries_keep_their_own_columns(opened, kind):
    _, x = looped("csa", range(N))
    at = sides(opened, "csa", "mla", "maps", vs_head="1", vs_map=kind)
    left, right = charts(at)
    assert left.values(0, "z").shape == (N, N + 5 + 1)
    assert right.values(0, "z").shape == (N, N)
    chosen = x["chosen_E"][0]
    found = left.values(0, "z")[:, N:-1][chosen]
    code = "attention_E" if kind == "attention" else "scores_E"
    np.testing.assert_allclose(found, x[code][0, 1][chosen], rtol=1e-4, atol=1e-6)
    assert left.layout["xaxis2"]["ticktext"][-1] == f"sink ({N + 5})"
    lines = [shape["x0"] for shape in left.layout["shapes"]]
    assert lines == [N - 0.5, N + 4.5], "the words end, and the entries; no cell is framed"
    assert not right.layout.get("shapes")
    assert any(says(line, "compare.other_columns") for line in prose(at))


def test_two_maps_with_the_same_columns_are_compared(opened):
    at = sides(opened, "csa", "csa", "maps")
    assert any(says(line, "compare.apart") for line in prose(at))


def test_a_flow_with_a_state_does_not_say_that_all_is_kept_of_every_token(opened):
    at = sides(opened, "mla", "kda", "flow")
    left, right = charts(at)
    assert left.traces[-1]["text"] == ["<b>▣ </b>kept in the cache for every token"]
    assert right.traces[-1]["text"] == ["<b>▣ </b>kept in the cache"]
    assert any(says(line, "compare.look_kept") for line in prose(at))
