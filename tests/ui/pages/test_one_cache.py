"""One real model at one cache, against numpy on losses that the test writes."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.one_cache_rows import KINDS, LOSSES, rows, write
from tests.ui.screen import charts, component, csv, lead, plain, refusal, says, speech
from tests.ui.test_snippets import assert_shown, printed_numbers
from ui.classroom import questions
from ui.pages.compression import one_cache

PAGE = "pages/compression.py"
REST = ["absorbable", "weights", "the"]
NAMES = {"latent": "latent by text", "weights": "latent by weights"}
NAMES |= {"absorbable": "absorbable MLA", "averaged": "heads averaged"}


@pytest.fixture(autouse=True, scope="module")
def _rows(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_cache, "FILE", write(tmp_path_factory.mktemp("data") / "one_cache.json"))
        yield


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file that a test may change."""
    monkeypatch.setattr(one_cache, "FILE", tmp_path / "one_cache.json")
    return write(one_cache.FILE)


def perplexity(*of, kinds=KINDS):
    """The perplexity of a row, its mean and two standard errors to both sides."""
    samples = [LOSSES[of][KINDS.index(kind)] for kind in kinds]
    error = np.sqrt(sum(np.var(s, ddof=1) / len(s) for s in samples)) / len(samples)
    return np.exp(np.mean([np.mean(s) for s in samples]) + np.array([0, -2, 2]) * error)


@pytest.mark.parametrize("kind", ["both", *KINDS])
def test_the_curves_are_the_perplexities_of_the_rows(seen, kind):
    kinds = KINDS if kind == "both" else (kind,)
    at = seen(PAGE, cmp_kind=kind).at
    (chart,) = (one for one in charts(at) if one.axis("y") == "perplexity")
    itself = perplexity("whole", 384, (), kinds=kinds)
    wanted = {
        "latent": {n: perplexity("latent", n, KINDS, kinds=kinds) for n in (128, 192)},
        "weights": {128: perplexity("weights", 128, (), kinds=kinds)},
        "absorbable": {128: perplexity("absorbable", 128, KINDS, kinds=kinds)},
        "averaged": {128: perplexity("averaged", 128, (), kinds=kinds)},
    }
    for way in ("latent", "weights"):
        wanted[way][384] = itself  # at their full size they are the model
    assert sorted(chart.names) == sorted(NAMES.values())
    for way, name in NAMES.items():
        assert chart.values(name, "x").tolist() == list(wanted[way])
        mean, least, most = np.array(list(wanted[way].values())).T
        assert_allclose(chart.values(name, "y"), mean)
        bar = chart.trace(name)["error_y"]
        assert_allclose(mean - chart.values(bar, "arrayminus"), least)
        assert_allclose(mean + chart.values(bar, "array"), most)
    assert chart.layout["yaxis"]["type"] == "log"
    assert [shape["x0"] for shape in chart.layout["shapes"]] == [128]


def test_each_way_writes_what_was_measured_beside_its_perplexity(seen):
    at = seen(PAGE).at
    table = next(one.value for one in at.main.table if "cached" in one.value.columns)
    assert table["cached"].tolist() == ["384", "128", "128", "128", "128"]
    assert [text.split()[0] for text in table.iloc[:, 2]] == ["Paris&#46;", "latent", *REST]
    assert "⏎ It is &#42;large&#42;&#46;" in table.iloc[0, 2]
    mean, least, most = perplexity("averaged", 128, ())
    assert table.iloc[-1, 1] == f"{mean:,.0f} ({least:,.0f} to {most:,.0f})"


def test_at_another_size_other_words(seen):
    at = seen(PAGE, cmp_kept="192").at
    table = next(one.value for one in at.main.table if "cached" in one.value.columns)
    assert table["cached"].tolist() == ["384", "192"]
    assert "latent 192" in table.iloc[1, 2]


def test_the_findings_are_times_the_model_as_it_is(seen):
    words = speech(seen(PAGE).at)
    itself = perplexity("whole", 384, ())[0]
    times = {
        way: f"{perplexity(way, 128, fit)[0] / itself:#,.3g}".rstrip(".")
        for way, fit in (("averaged", ()), ("latent", KINDS), ("weights", ()))
    }
    assert says(
        words, "one_cache.found_averaged", averaged=times["averaged"], latent=times["latent"]
    )
    assert says(words, "one_cache.found_weights", weights=times["weights"])
    assert "and costs more" in words
    same = f"{perplexity('latent', 128, KINDS)[0]:#.3g}".rstrip(".")
    assert f"the same for all {same}, by the attention that it gets {same}." in words


def test_what_the_pieces_do_not_tell_apart_is_no_finding(opened, file):
    losses = dict(LOSSES)
    losses["absorbable", 128, KINDS] = ((3.95, 3.4, 3.6), (3.1, 3.1, 3.25))
    write(file, points=rows(losses))
    assert says(speech(opened(PAGE)), "one_cache.found_absorbable_same")


def test_fitted_to_one_kind_it_is_measured_on_both(seen):
    at = seen(PAGE).at
    table = next(one.value for one in at.main.table if "on novels" in one.value.columns)
    assert table.index.tolist() == [
        f"128 numbers, fitted to: {kind}" for kind in (*KINDS, "both kinds")
    ]
    for name, fit in zip(table.index, [(KINDS[0],), (KINDS[1],), KINDS], strict=True):
        for kind in KINDS:
            mean = perplexity("latent", 128, fit, kinds=(kind,))[0]
            assert table.loc[name, f"on {kind}"].startswith(f"{mean:#.3g}".rstrip("."))


def test_the_table_has_every_row(seen):
    shown = csv(seen(PAGE).files["mla_one_cache.csv"])
    assert len(shown) == len(LOSSES) + 1
    whole = shown.set_index("way").loc["whole"]
    assert_allclose(
        whole[["both_mean", "both_least", "both_most"]].astype(float), perplexity("whole", 384, ())
    )


def test_where_nothing_is_measured_the_page_says_so(opened, file):
    file.unlink()
    at = opened(PAGE)
    assert "run make measure-real" in refusal(at)
    assert says(lead(at)[1], "quality.line"), "it begins with the trained models"
    file.write_text("{", "utf-8")
    assert "one_cache.json is damaged" in refusal(opened(PAGE))


def written(value: float) -> str:
    return f"{value:#,.3g}".rstrip(".") if value < 1000 else f"{value:,.0f}"


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ("128", "of 128 numbers per token per layer; as it is, with 384: {whole}. With its "
         "heads averaged to one, at the same 128 numbers: **{averaged}**"),
        ("192", "of 192 numbers per token per layer; as it is, with 384: {whole}. With its "
         "heads averaged to one, 128 numbers: **{averaged}**"),
        ("384", "as it is, with 384 numbers per token per layer. With its heads averaged to one, "
         "128 numbers, it is **{averaged}**; with a latent of 128, {latent}"),
    ],
)  # fmt: skip
def test_the_page_begins_with_a_latent_beside_averaged_heads(seen, size, says):
    at = seen(PAGE, cmp_kept=size).at
    number, line = map(plain, lead(at))
    rows = {"whole": ("whole", 384, ()), "averaged": ("averaged", 128, ())}
    rows |= {"latent": ("latent", 128, KINDS)}
    means = {name: written(perplexity(*row)[0]) for name, row in rows.items()}
    shown = ("whole", 384, ()) if size == "384" else ("latent", int(size), KINDS)
    assert number == written(perplexity(*shown)[0])
    assert line.endswith(says.format(**means))


def test_both_are_asked_for_on_the_axis_of_the_picture(seen):
    at = seen(PAGE).at
    card, chart = component(at, "guess"), charts(at)[0]
    latents, (averaged,) = card["drawing"]["lines"]
    assert card["drawing"]["chart"] == ".st-key-cmp-one_cache"
    assert card["drawing"]["unit"] == "", "no percentages"
    assert [dot["given"] for dot in (*latents, averaged)] == [True, False, False]
    wanted = ("whole", 384, ()), ("latent", 128, KINDS), ("averaged", 128, ())
    for dot, row in zip((*latents, averaged), wanted, strict=True):
        assert dot["true"] == pytest.approx(perplexity(*row)[0])
        assert chart.values(dot["trace"], "x")[dot["place"]] == row[1]
        assert chart.values(dot["trace"], "y")[dot["place"]] == pytest.approx(dot["true"])
    assert card["right"] == [latents[1]["true"], averaged["true"]]
    assert "averaged {1}, latent {0}." in card["told"][0]


def test_a_class_is_asked_for_averaged_heads_on_a_scale(opened):
    at = opened(PAGE, room="7KQMW3XD")
    at.session_state[questions.LEADS] = "7KQMW3XD"
    asked = json.loads(component(at.run(), "class_offer")["offer"]["text"])
    assert asked["scale"]
    low, high = (float(asked["words"]["en"]["answers"][n].replace(",", "")) for n in (0, -1))
    share = asked["right"] / (len(asked["words"]["en"]["answers"]) - 1)
    said = np.exp(np.log(low) + share * np.log(high / low))
    assert said == pytest.approx(perplexity("averaged", 128, ())[0], rel=1e-3)
    assert {"cmp-one_cache", "lead"} <= set(asked["hides"])


def test_the_first_snippet_makes_the_number_on_top(opened, file, tmp_path, monkeypatch, capsys):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "one_cache.json").write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    for size in ("128", "192", "384"):
        at = opened(PAGE, code="snippet", cmp_kept=size)
        capsys.readouterr()
        exec(at.code[0].value, {})
        printed = printed_numbers(capsys.readouterr().out.splitlines()[-1])
        assert_shown(" ".join(lead(at)[:2]), printed)


def test_every_part_has_a_way_to_it(seen):
    at = seen(PAGE).at
    (line,) = (one.proto.body for one in at.get("html") if 'class="contents"' in one.proto.body)
    ways = re.findall(r'href="#(\w+)"', line)
    assert len(ways) == 7
    keys = [str(getattr(block.proto, "id", "")) for block in at.main]
    assert all(any(key.endswith(f"-{way}") for key in keys) for way in ways)
