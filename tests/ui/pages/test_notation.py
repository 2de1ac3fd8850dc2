"""The glossary: every cell, link, choice and file against SYMBOLS and a layer of these sizes."""

import html
import re
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from mla_engine import PRESETS, SYMBOLS, MultiHeadLatentAttention
from mla_engine.names import citation
from tests.ui.screen import csv, says, statement
from ui.words.text import catalogue

PAGE = "pages/notation.py"
HEADS = {
    "en": [
        "Symbol", "Meaning", "Formula", "Axes and sizes", "In the paper", "In transformers",
        "In DeepSeek's code", "Seen at",
    ],
    "zh": [
        "符号", "含义", "公式", "轴与尺寸", "论文出处", "transformers 中", "DeepSeek 代码中",
        "出现于",
    ],
}  # fmt: skip
QUERY_WEIGHTS = ("W_UQ", "W_QR", "W_QK", "W_IQ")
NONE = "–"


def lines(at: AppTest) -> list[list[str]]:
    """The cells of every row as they were sent, the row of the heads first."""
    table = next((m.value for m in at.markdown if m.value.startswith("| ")), "")
    return [line[2:-2].split(" | ") for line in table.splitlines() if "---" not in line]


def rows(at: AppTest) -> dict[str, list[str]]:
    """Code -> the cells of its row, without the names of the columns."""
    cells = [
        [re.fullmatch(r'<span class="on-phone">.*?</span><span>(.*)</span>', c)[1] for c in row]
        for row in lines(at)[1:]
    ]
    return {re.search(r"`(\w+)`", row[0])[1]: row for row in cells}


def plain(cell: str) -> str:
    return re.sub(r"<.*?>|`", "", cell).strip()


def place(code: str, form: str) -> str:
    found = citation(code, form)
    if not found:
        return NONE
    return f"§{found[0]}" + (f" ({found[1]})" if found[1] else "")


def at_sizes(code: str, sizes: dict[str, int], *, compressed: bool) -> str:
    letters = SYMBOLS[code].axes.split()
    if code in QUERY_WEIGHTS and not compressed:
        letters = ["d" if letter == "l" else letter for letter in letters]
    return " × ".join(f"{x}={sizes[x]:,}" if sizes.get(x) else x for x in letters)


STATES = {  # link, form, size of every letter, whether queries are compressed
    "mla_absorbed": (
        {"d_latent_q": "1536", "n_heads": "8", "d_value": "96"}, "absorbed",
        {"d": 2048, "h": 8, "k": 128, "r": 64, "v": 96, "c": 512, "l": 1536}, True,
    ),
    "mla": ({}, "expanded", {"d": 2048, "h": 16, "k": 128, "r": 64, "v": 128, "c": 512}, False),
    "gqa": (
        {"n_heads": "12", "n_kv_heads": "4", "d_head": "64"}, "grouped",
        {"d": 2048, "h": 12, "g": 4, "k": 64, "v": 128}, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("variant", "lang"), [*((v, "en") for v in STATES), ("mla", "zh")])
def test_every_cell_of_every_row(opened, downloads, variant, lang):
    link, form, sizes, compressed = STATES[variant]
    at = opened(PAGE, variant=variant, lang=lang, notation_of="all", **link)
    assert [re.sub("<.*?>", "", cell) for cell in lines(at)[0]] == HEADS[lang]
    for row in lines(at)[1:]:
        heads = [re.match(r'<span class="on-phone">(.*?)</span>', cell)[1] for cell in row]
        assert heads == HEADS[lang]
    found, table = rows(at), csv(downloads["notation.csv"])
    assert list(found) == list(table["code"]) == list(SYMBOLS)
    file = {row["code"]: row for row in table.to_dict("records")}
    for code, symbol in SYMBOLS.items():
        own, transformers, deepseek = symbol.step(form), symbol.alias, symbol.deepseek
        formula = own.formula
        if set(QUERY_WEIGHTS) & set(own.inputs) and not compressed:
            formula = formula.replace(SYMBOLS["c_Q"].latex, SYMBOLS["h"].latex)
        if code in QUERY_WEIGHTS and not compressed:
            transformers = transformers.replace("q_b_proj", "q_proj")
            deepseek = deepseek and re.sub("^wq_b", "wq", deepseek)  # not that of an indexer
        cached = {"en": "cached", "zh": "缓存"}[lang]
        kept = f'<br><span class="kept">{cached}</span>' * symbol.cached
        name = f'<span class="tensor {symbol.role}">${symbol.latex}$</span><br>`{code}`{kept}'
        meaning = catalogue()[f"symbols.{code}"][lang]
        axes, cited = at_sizes(code, sizes, compressed=compressed), place(code, form)
        quoted = [f"`{one}`" if one else NONE for one in (transformers, deepseek)]
        latex = f"${formula}$" if formula else NONE
        assert found[code][:7] == [name, meaning, latex, axes, cited, *quoted]
        assert file[code] == {
            "code": code, "meaning": meaning, "formula": formula, "axes": axes, "paper": cited,
            "transformers": transformers or NONE, "deepseek": deepseek or NONE,
            "cached": symbol.cached,
        }  # fmt: skip


def test_sizes_are_those_of_a_real_layers_weights(opened):
    found = rows(opened(PAGE))
    layer = MultiHeadLatentAttention(PRESETS["deepseek-v2-lite"].config, device="meta")
    for code, weight in layer.named_parameters():
        shown = [int(n.replace(",", "")) for n in re.findall(r"=([\d,]+)", found[code][3])]
        assert shown == list(weight.shape), code
    assert found["c_KV"][3] == "b × s × c=512"
    assert found["k_R"][4] == "§2.1.3 (15)"
    assert plain(found["W_UK"][6]) == "wkv_b[h, :k]"


@pytest.mark.parametrize(
    ("variant", "name", "cached"),
    [
        ("mha", ("MHA", "MHA"), ["k", "v"]),
        ("gqa", ("GQA", "GQA"), ["k", "v"]),
        ("mla", ("MLA, expanded", "MLA（展开）"), ["c_KV", "k_R"]),
        ("mla_absorbed", ("MLA, absorbed", "MLA（吸收）"), ["c_KV", "k_R"]),
        (
            "csa",
            ("CSA", "CSA"),
            ["kv_T", "c_E", "z_E", "kv_E", "c_IE", "z_IE", "k_E"],
        ),
    ],
)
def test_what_a_variant_has_and_caches(opened, variant, name, cached):
    at = opened(PAGE, variant=variant, notation_of="cached")
    assert list(rows(at)) == [code for code in SYMBOLS if code in cached]
    has = len(rows(opened(PAGE, variant=variant, notation_of="present")))
    order = [code for code in SYMBOLS if code in cached]
    assert says(
        said(at),
        "notation.line",
        variant=name[0],
        has=has,
        all=len(SYMBOLS),
        cached=", ".join(order),
    )
    assert statement(at).count('<span class="tensor ') == len(order)
    zh = opened(PAGE, variant=variant, lang="zh", notation_of="cached")
    told = f"{name[1]} 用到 {len(SYMBOLS)} 个符号中的 {has} 个，缓存的是 {'、'.join(order)}"
    assert said(zh) == told.replace("） ", "）")


def said(at) -> str:
    """The statement with its symbols written as their codes."""
    text = re.sub(r"</?sp[^>]*>|</su[bp]>", "", statement(at))
    return re.sub(r"<su[bp]>", "_", text)


def test_another_variant_than_mla_begins_with_its_own_symbols(opened):
    of = next(b for b in opened(PAGE, variant="csa").button_group if b.key == "notation_of")
    assert of.value == "present"
    own = rows(opened(PAGE, variant="csa"))
    assert list(own) == list(rows(opened(PAGE, variant="csa", notation_of="present")))
    assert "c_KV" not in own
    every = opened(PAGE, variant="csa", notation_of="all")
    assert list(rows(every)) == list(rows(opened(PAGE))) == list(SYMBOLS)
    assert every.query_params["notation_of"] == "all"


def test_the_present_variant_has_its_own_symbols(opened):
    expanded = rows(opened(PAGE, notation_of="present"))
    absorbed = rows(opened(PAGE, notation_of="present", variant="mla_absorbed"))
    layer = MultiHeadLatentAttention(PRESETS["deepseek-v2-lite"].config, device="meta")
    weights = set(dict(layer.named_parameters()))
    assert weights | {"mask", "c_KV", "k_C", "u"} <= set(expanded)
    assert "W_DQ" not in expanded  # nothing compresses the queries here
    assert set(absorbed) - set(expanded) == {"q_C_absorbed", "o_latent"}
    assert set(expanded) - set(absorbed) == {"k_C", "v_C"}


ROLES = {
    "en": ["query", "key", "value", "latent", "rotated part", "output"],
    "zh": ["查询", "键", "值", "潜在向量", "旋转部分", "输出"],
}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_each_role_has_its_word_in_its_colour(opened, lang):
    said = next(m.value for m in opened(PAGE, lang=lang).markdown if 'tensor query"' in m.value)
    found = re.findall(r'<span class="tensor (\w+)">(.*?)</span>', said)
    classes = ["query", "key", "value", "latent", "rope", "output"]
    assert found == list(zip(classes, ROLES[lang], strict=True))


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
    sought(at).set_value(text).run()
    assert at.query_params["notation_search"] == text
    assert set(rows(at)) == codes


def test_search_reads_both_languages(opened):
    assert set(rows(opened(PAGE, lang="zh", notation_search="down-projection queries"))) == {"W_DQ"}
    assert "W_DQ" in rows(opened(PAGE, lang="zh", notation_search="下投影"))


@pytest.mark.parametrize("typed", ["<b>*x*_y_`$1`|", "[a](b) #~ :smile: &amp;"])
def test_nothing_found_is_said_as_typed(opened, downloads, typed):
    at = opened(PAGE, notation_search=typed)
    assert not rows(at)
    assert not downloads.keys() & {"notation.csv"}
    said = at.info[0].value
    assert says(html.unescape(said), "notation.nothing", text=typed)
    quoted = re.search("“(.*)”", said)[1]
    assert not set("<>*_`$|[]()~:") & set(re.sub(r"&\w+;|&#\d+;", "", quoted))


def test_without_query_compression_queries_come_from_h(opened):
    lite = rows(opened(PAGE, preset="deepseek-v2-lite"))
    assert r"$W^{UQ} \mathbf{h}$" in lite["q_C"][2]
    assert plain(lite["W_QR"][5]).startswith("q_proj")
    assert plain(lite["W_UQ"][6]) == "wq[h, :k]"
    compressed = rows(opened(PAGE, d_latent_q="1536"))
    assert r"$W^{UQ} \mathbf{c}^{Q}$" in compressed["q_C"][2]
    assert plain(compressed["W_UQ"][6]) == "wq_b[h, :k]"
    assert compressed["W_UQ"][3] == "h=16 × k=128 × l=1,536"


BESIDE = {  # code -> the other page on which it is seen, and with what
    "W_QK": ("Absorption", "absorption", {"ab_matrix": "W_QK"}),
    "W_VO": ("Absorption", "absorption", {"ab_matrix": "W_VO"}),
    "c_KV": ("KV cache", "kv_cache", {}),
    "k_R": ("RoPE", "rope", {"rope_topic": "merged"}),
    "q_R": ("RoPE", "rope", {"rope_topic": "turning"}),
}


def test_links_lead_to_the_numbers_with_the_present_settings(opened):
    found = rows(opened(PAGE, seed="7", variant="mla_absorbed", n_heads="8", notation_of="all"))
    here = {"lang": "en", "seed": "7", "n_heads": "8", "notation_of": "all"}
    homes = {"q_C_absorbed": "mla_absorbed", "W_UK": "mla_absorbed", "k_C": "mla", "W_K": "mha"}
    for code, row in found.items():
        links = re.findall(r"\[(.*?)\]\((\w+)\?(.*?)\)", row[7])
        on_maps = [dict(parse_qsl(query)) for _, page, query in links if page == "attention_maps"]
        if code in homes:
            assert on_maps == [here | {"map_tensor": code, "variant": homes[code]}]
        others = [
            (name, page, dict(parse_qsl(query)))
            for name, page, query in links
            if page != "attention_maps"
        ]
        if code in BESIDE:
            name, page, values = BESIDE[code]
            assert others == [(name, page, here | {"variant": "mla_absorbed"} | values)]
        else:
            assert not others
        assert {page: name for name, page, _ in links}.get("attention_maps", "Attention maps") == (
            "Attention maps"
        )
    assert found["b_DQ"][7] == found["mask"][7] == NONE  # in no configuration here, no tensor
    assert found["c_KV"][7].count("<br>") == 1


def test_a_link_opens_the_tensor_in_the_readers_language(opened):
    row = rows(opened(PAGE, lang="zh", variant="mla"))["q_C_absorbed"]
    link = dict(parse_qsl(re.search(r"\[注意力图\]\(attention_maps\?(.*?)\)", row[7])[1]))
    assert link.items() >= {"map_tensor": "q_C_absorbed", "variant": "mla_absorbed"}.items()
    at = opened("pages/attention_maps.py", **link)
    assert next(b for b in at.selectbox if b.key == "map_tensor").value == "q_C_absorbed"


def test_code_and_snippet_are_of_the_present_variant(opened):
    def shown(variant: str) -> list[str]:
        at = opened(PAGE, variant=variant, code="source")
        return [m.value.split("`")[1] for m in at.markdown if " · mla_engine/" in m.value]

    expanded, absorbed = shown("mla"), shown("mla_absorbed")
    assert expanded[:2] == absorbed[:2] == ["Symbol.step", "citation"]
    assert set(expanded) != set(absorbed)
    snippet = opened(PAGE, variant="mla_absorbed", code="snippet").code[0].value
    assert "layer.forward_absorbed(" in snippet
    assert 'PRESETS["deepseek-v2-lite"].config' in snippet


def sought(at: AppTest) -> TextInput:
    """The search field, beside that for a model's name."""
    return next(one for one in at.text_input if one.key.startswith("notation_search"))
