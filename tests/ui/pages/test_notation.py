"""The glossary by link and by hand: rows, sizes, search, links, and tooltips elsewhere."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, SYMBOLS, MultiHeadLatentAttention
from ui.words.text import catalogue

PAGE = "pages/notation.py"


def rows(at: AppTest) -> dict[str, list[str]]:
    """Code -> the cells of its row, without markup."""
    table = next((m.value for m in at.markdown if m.value.startswith("| ")), "")
    cells = [
        [re.sub(r'<span class="on-phone">.*?</span>', "", cell) for cell in line[2:-2].split(" | ")]
        for line in table.splitlines()[2:]
    ]
    return {re.search(r"`(\w+)`", row[0])[1]: row for row in cells}


def plain(cell: str) -> str:
    return re.sub(r"<.*?>|`", "", cell).strip()


def test_every_symbol_has_a_row_with_the_sizes_of_a_real_layer(opened):
    at = opened(PAGE)
    found = rows(at)
    assert list(found) == list(SYMBOLS)
    layer = MultiHeadLatentAttention(PRESETS["deepseek-v2-lite"].config, device="meta")
    for code, weight in layer.named_parameters():
        shown = [int(n.replace(",", "")) for n in re.findall(r"=([\d,]+)", found[code][3])]
        assert shown == list(weight.shape), code
    assert plain(found["c_KV"][3]) == "b × s × c=512"
    assert plain(found["k_R"][4]) == "§2.1.3 (15)"
    assert plain(found["W_UK"][6]) == "wkv_b[h, :k]"
    assert "cached" in found["k_R"][0]
    assert "cached" not in found["k_C"][0]
    assert "caches only c_KV and k_R" in at.title[0].value


@pytest.mark.parametrize(
    ("variant", "cached", "axes"),
    [
        ("mha", {"k", "v"}, "b × s × g=16 × k=128"),
        ("gqa", {"k", "v"}, "b × s × g=8 × k=128"),
        ("mqa", {"k", "v"}, "b × s × g=1 × k=128"),
        ("mla_absorbed", {"c_KV", "k_R"}, "b × s × r=64"),
    ],
)
def test_what_a_variant_caches(opened, variant, cached, axes):
    at = opened(PAGE, variant=variant, notation_of="cached")
    assert set(rows(at)) == cached
    assert plain(rows(at)["k_R" if "k_R" in cached else "k"][3]) == axes


def test_the_present_variant_has_its_own_symbols_and_formulas(opened):
    expanded = rows(opened(PAGE, notation_of="present"))
    absorbed = rows(opened(PAGE, notation_of="present", variant="mla_absorbed"))
    assert set(absorbed) - set(expanded) == {"q_C_absorbed", "o_latent"}
    assert set(expanded) - set(absorbed) == {"k_C", "v_C"}
    assert SYMBOLS["o"].step("absorbed").formula in absorbed["o"][2]
    assert SYMBOLS["o"].step("expanded").formula in expanded["o"][2]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("kv_b_proj", {"W_UK", "W_UV"}),
        ("PE_CACHE", {"k_R"}),
        ("down-projection queries", {"W_DQ"}),
        ("(10)", {"W_UK", "k_C"}),
    ],
)
def test_search_reads_names_meanings_and_citations(opened, text, codes):
    at = opened(PAGE)
    at.text_input[0].set_value(text).run()
    assert at.query_params["notation_search"] == text
    assert set(rows(at)) == codes


def test_without_query_compression_queries_come_from_h(opened):
    lite = rows(opened(PAGE, preset="deepseek-v2-lite"))
    assert r"$W^{UQ} \mathbf{h}$" in lite["q_C"][2]
    assert plain(lite["W_QR"][5]).startswith("q_proj")
    assert plain(lite["W_UQ"][6]) == "wq[h, :k]"
    compressed = rows(opened(PAGE, d_latent_q="1536"))
    assert r"$W^{UQ} \mathbf{c}^{Q}$" in compressed["q_C"][2]
    assert plain(compressed["W_UQ"][6]) == "wq_b[h, :k]"
    assert plain(compressed["W_UQ"][3]) == "h=16 × k=128 × l=1,536"


def test_nothing_found_is_said_as_typed(opened):
    at = opened(PAGE, notation_search="<b>zz")
    assert not rows(at)
    assert "&lt;b&gt;zz" in at.info[0].value


def test_links_lead_to_the_numbers(opened):
    found = rows(opened(PAGE, lang="zh", notation_of="all", seed="7"))
    link = re.search(r"\((attention_maps\?[^)]*)\)", found["q_C_absorbed"][7])[1]
    parameters = dict(pair.split("=") for pair in link.partition("?")[2].split("&"))
    assert parameters.items() >= {
        "lang": "zh", "seed": "7", "map_tensor": "q_C_absorbed", "variant": "mla_absorbed",
    }.items()  # fmt: skip
    at = opened("pages/attention_maps.py", **parameters)
    assert next(b for b in at.selectbox if b.key == "map_tensor:zh").value == "q_C_absorbed"
    assert "absorption?" in found["W_QK"][7]
    assert plain(found["b_DQ"][7]) == "–"  # no configuration here has this bias


def test_chinese_meanings(opened):
    found = rows(opened(PAGE, lang="zh"))
    assert all(plain(row[1]) == catalogue()[f"symbols.{code}"]["zh"] for code, row in found.items())


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("page", "code"),
    [
        ("pages/kv_cache.py", "c_KV"),
        ("pages/rope.py", "k_R"),
        ("pages/worked_example.py", "W_DKV"),
        ("pages/attention_maps.py", "q_C"),
        ("app.py", "k_R"),
    ],
)
def test_symbols_on_other_pages_have_their_meaning_as_tooltip(opened, page, code, language):
    topic = {"rope_topic": "merged"} if "rope" in page else {}
    at = opened(page, lang=language, **topic)
    tip = f'title="{catalogue()[f"symbols.{code}"][language]}"'
    shown = [m.value for m in at.markdown] + [part.proto.body for part in at.get("html")]
    assert any(tip in text for text in shown)
