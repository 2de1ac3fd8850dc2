"""Answers of models trained with each cache, against arithmetic on rows that the test makes."""

import json
import statistics
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mla_engine.language_model.texts import THINGS
from tests import one_cache_rows
from tests import study_rows as made
from tests.ui.screen import (
    Chart,
    charts,
    component,
    csv,
    drawn,
    lead,
    plain,
    prose,
    says,
    speech,
    statement,
)
from tests.ui.test_snippets import assert_shown, printed_numbers
from ui.classroom import questions
from ui.pages.compression import one_cache, quality
from ui.words.numbers import TIED, error_percent

PAGE = "pages/compression.py"
OF_QUALITY = ("cache", "load", "distance", "loss", "staircase")
DRAWN = (*OF_QUALITY, "one_cache", "answers", "tasks", "errors", "spectrum", "separate", "as_mla",
         "queries")  # fmt: skip
NAMES = {"mha": "MHA 128", "gqa": "GQA 64", "mla_64": "MLA 64", "mqa": "MQA 32", "mla": "MLA 32"}
NAMES |= {"mla_16": "MLA 16"}
KINDS = {"MHA": ["mha"], "GQA": ["gqa"], "MQA": ["mqa"], "MLA": ["mla_64", "mla", "mla_16"]}
STEPS = ["MHA: 128", "no rotation: 128", "+ KV latent: 32", "+ rotary key: 32",
         "+ query latent: 32"]  # fmt: skip
OPTIONS = {"recall": len(THINGS), "brackets": 3, "agreement": 2}  # that a blind guess has
FILES = [f"mla_quality_{name}.csv" for name in OF_QUALITY]


@pytest.fixture(autouse=True, scope="module")
def _too_little_of_a_real_model(tmp_path_factory: pytest.TempPathFactory):
    """Let the page begin with these models: of the real one too little was measured for that."""
    losses = {("whole", 384, ()): one_cache_rows.LOSSES["whole", 384, ()]}
    losses |= {key: of for key, of in one_cache_rows.LOSSES.items() if key[0] == "latent"}
    file = tmp_path_factory.mktemp("measured") / "one_cache.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            one_cache, "FILE", one_cache_rows.write(file, points=one_cache_rows.rows(losses))
        )
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of trained models, as the page sees it: nothing yet."""
    monkeypatch.setattr(quality, "FOLDER", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seeds of every variant but one."""
    return made.write(tmp_path_factory.mktemp("study"), made.rows(but=("mla_queries",)))


@pytest.fixture
def trained(study: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """These rows, as the page sees them."""
    monkeypatch.setattr(quality, "FOLDER", study)
    return study


def percents(code: str, task: str | None = None, load: int | None = None) -> np.ndarray:
    """Return each seed's percents; the mean of loads, or of all tasks, where none is named."""
    seeds = range(made.PLANNED)
    if load is not None:
        return 100 * np.array([made.share(code, n, task, load) for n in seeds])
    return 100 * np.array([made.mean(code, n, task) for n in seeds])


def reach(chart: Chart, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest of a series' bars."""
    y, bar = chart.values(name, "y"), chart.trace(name)["error_y"]
    return y - chart.values(bar, "arrayminus"), y + chart.values(bar, "array")


@pytest.mark.parametrize(
    ("link", "task", "load"),
    [
        ({}, None, None),
        ({"quality_task": "recall", "quality_load": "4"}, "recall", 4),
        ({"quality_task": "brackets"}, "brackets", None),
        ({"quality_task": "agreement", "quality_load": "0", "lang": "zh"}, "agreement", 0),
    ],
)
def test_marks_over_the_cache_are_the_rows_means_and_ends(seen, trained, link, task, load):
    chart = drawn(seen(PAGE, **link).at, DRAWN)["cache"]
    assert chart.names == list(KINDS)
    levels = [shape["y0"] for shape in chart.layout.get("shapes", ())]
    assert levels == ([pytest.approx(100 / OPTIONS[task])] if task else [])
    if "lang" not in link:
        assert chart.axis("x") == "numbers cached per token and layer"
        assert chart.axis("y").startswith("right answers, %")
    least = min(percents(code, task, load).min() for code in NAMES)
    assert chart.layout["yaxis"]["range"][0] == (50 if not task and least > 50 else 0)
    for kind, codes in KINDS.items():
        shares = [percents(code, task, load) for code in codes]
        assert_allclose(chart.values(kind, "y"), [each.mean() for each in shares])
        low, high = reach(chart, kind)
        assert_allclose(low, [each.min() for each in shares])
        assert_allclose(high, [each.max() for each in shares])
        cached = chart.values(kind, "customdata")[:, 0]
        assert_allclose(cached, [made.CACHED[code] for code in codes])
    for code, name in NAMES.items():
        mean = error_percent(percents(code, task, load).mean() / 100)
        assert f"{name} {mean.replace(TIED, '') if 'lang' in link else mean}" in chart.alt


@pytest.mark.parametrize(("task", "loads"), made.LOADS.items())
def test_lines_over_the_load(seen, trained, task, loads):
    chart = drawn(seen(PAGE, quality_task=task).at, DRAWN)["load"]
    assert chart.names == list(NAMES.values())
    for code, name in NAMES.items():
        assert_allclose(chart.values(name, "x"), loads)
        assert_allclose(chart.values(name, "y"), [percents(code, task, n).mean() for n in loads])
    assert chart.layout["xaxis"]["ticktext"] == [str(load) for load in loads]
    assert chart.axis("y") == "right answers, %"
    assert chart.axis("x").startswith("load: ")


def test_of_all_tasks_the_lines_go_over_levels_of_load(seen, trained):
    chart = drawn(seen(PAGE).at, DRAWN)["load"]
    for code, name in NAMES.items():
        assert_allclose(chart.values(name, "x"), [1, 2, 3, 4])
        means = [
            np.mean([percents(code, task, loads[place]) for task, loads in made.LOADS.items()])
            for place in range(4)
        ]
        assert_allclose(chart.values(name, "y"), means)


def test_recall_by_distance_and_the_loss(seen, trained):
    shown = drawn(seen(PAGE).at, DRAWN)
    for code, name in NAMES.items():
        rows = [made.row(code, seed) for seed in range(made.PLANNED)]
        bins = [[100 * share for *_, share in row["by_distance"]] for row in rows]
        assert_allclose(shown["distance"].values(name, "x"), [0, 8, 24])
        assert_allclose(shown["distance"].values(name, "y"), np.mean(bins, axis=0))
        curves = [{p["step"]: p["loss"] for p in row["curve"] if p["step"]} for row in rows]
        assert_allclose(shown["loss"].values(name, "x"), [50, 100])
        means = [statistics.fmean(curve[step] for curve in curves) for step in (50, 100)]
        assert_allclose(shown["loss"].values(name, "y"), means)
        thin = [t for t in shown["loss"].traces if t.get("legendgroup") == name]
        sent = [shown["loss"].values(t, "y").tolist() for t in thin]
        assert sent == [pytest.approx(list(curve.values())) for curve in curves]


def test_the_staircase_names_each_change_and_what_was_not_run(seen, trained):
    at = seen(PAGE).at
    chart = drawn(at, DRAWN)["staircase"]
    bar, words = chart.traces
    assert chart.layout["yaxis"]["ticktext"] == STEPS
    found, codes = chart.values(bar, "x"), made.STAIRCASE
    means = [percents(code).mean() for code in codes[:-1]]
    assert_allclose(found[:-1], means)
    assert np.isnan(found[-1])
    shares = [error_percent(mean / 100) for mean in means]
    assert [text.strip() for text in chart.values(words, "text")] == [*shares, "not run"]
    table = at.main.table[-1].value  # the last part of the page
    assert table.index.tolist() == ["MLA with query latent"]
    assert table.to_numpy().tolist() == [["3", "0", "0, 1, 2"]]
    assert "27 of 30" in speech(at)
    assert says(speech(at), "quality.anew", most="3", n="2")


def test_every_chart_hands_out_its_numbers(seen, trained):
    shown = {name: csv(seen(PAGE).files[name]) for name in FILES}
    cache = shown[FILES[0]].set_index("variant")
    assert cache["mean"].tolist() == pytest.approx([percents(code).mean() / 100 for code in NAMES])
    assert cache["cached_per_token"].to_dict() == {code: made.CACHED[code] for code in NAMES}
    assert len(shown[FILES[1]]) == len(NAMES) * 4
    assert shown[FILES[2]]["distance_from"].tolist() == [0, 8, 24] * len(NAMES)
    assert len(shown[FILES[3]]) == len(NAMES) * (2 + 3 + 4)
    stairs = shown[FILES[4]].set_index("variant")["seeds"]
    assert stairs.to_dict() == dict.fromkeys(made.STAIRCASE, 3) | {"mla_queries": 0}


def lossy(noise: float = 0.01, **means: float) -> made.Share:
    return lambda code, seed, *_: means.get(code, 0.97) + noise * (seed - 1)


@pytest.mark.parametrize(
    ("shares", "seeds", "found", "why", "loser"),
    [
        (lossy(mqa=0.5, mla=0.9), 3, "Every seed of MLA is above every seed of MQA.",
         "MLA 32 answers more than MQA 32", "MQA 32"),
        (lossy(mqa=0.9, mla=0.5), 3, "Every seed of MQA is above every seed of MLA.",
         "MQA 32 answers more than MLA 32", "MLA 32"),
        (lossy(mqa=0.7, mla=0.71), 3, "No clear difference between MQA and MLA.",
         "their seeds overlap", "neither: no clear difference"),
        (lossy(mqa=0.5, mla=0.9), 2, "Too few seeds yet to tell MQA from MLA.",
         "it takes 3 seeds of each", "neither: no clear difference"),
    ],
    ids=["MQA", "MLA", "overlap", "few seeds"],
)  # fmt: skip
def test_what_is_found_follows_from_the_rows(opened, folder, shares, seeds, found, why, loser):
    made.write(folder, made.rows(shares, seeds))
    at = opened(PAGE, room="7KQMW3XD")
    card = component(at, "guess")
    assert plain(statement(at)).endswith(found)
    assert why in card["why"]
    assert why in speech(at)
    at.session_state[questions.LEADS] = "7KQMW3XD"
    asked = json.loads(component(at.run(), "class_offer")["offer"]["text"])
    assert asked["words"]["en"]["answers"][asked["right"]] == loser


def test_the_guess_is_drawn_over_the_points_of_the_chart(seen, trained):
    at = seen(PAGE).at
    card, chart = component(at, "guess"), drawn(at, DRAWN)["cache"]
    shared, latent = card["drawing"]["lines"]
    assert [dot["name"] for dot in shared] == ["MHA 128", "GQA 64", "MQA 32"]
    assert [dot["name"] for dot in latent] == ["MLA 64", "MLA 32", "MLA 16"]
    assert [dot["given"] for dot in shared] == [True, False, False]
    names = {name: code for code, name in NAMES.items()}
    for dot in (*shared, *latent):
        assert dot["true"] == pytest.approx(percents(names[dot["name"]]).mean())
        assert chart.values(dot["trace"], "y")[dot["place"]] == pytest.approx(dot["true"])
    assert card["right"] == [dot["true"] for dot in (*shared[1:], *latent)]
    assert "MQA {1} %, MLA {3} %" in card["told"][0], "the places of these two among what is drawn"
    assert card["drawing"]["chart"] == ".st-key-quality-cache"
    hidden = {
        ".st-key-lead",
        ".st-key-quality_below",
        ".st-key-quality_verdict",
        ".st-key-quality-load",
    }
    assert hidden <= set(card["hides"])
    assert ".st-key-quality-cache" not in card["hides"], "its axes are drawn on"


def test_the_number_on_top_is_mlas_beside_mqas_and_mhas(seen, trained):
    for link, task, where in (
        ({}, None, "all tasks and loads"),
        ({"quality_task": "copy"}, "copy", "task “copy”, all loads"),
    ):
        number, line = map(plain, lead(seen(PAGE, **link).at))
        mla, mqa, mha = (
            plain(error_percent(percents(code, task).mean() / 100))
            for code in ("mla", "mqa", "mha")
        )
        assert number == mla
        assert says(line, "quality.line", cached="32", mqa=mqa, all="128", mha=mha, where=where)


def test_two_variants_that_differ_are_told_with_their_ranges(seen, trained):
    ends = [percents(code) / 100 for code in ("mla", "mqa")]
    ranges = [f"{error_percent(e.min())} to {error_percent(e.max())}" for e in ends]
    assert plain(f"({ranges[0]}, against {ranges[1]})") in speech(seen(PAGE).at)


@pytest.mark.parametrize(
    ("shares", "seeds", "told"),
    [
        (lossy(mqa=0.5, mla_16=0.9), 3,
         "Fewer right answers than MHA in every seed: MQA 32, MLA 16."),
        (lossy(mqa=0.96), 3, "No smaller cache answers less than MHA in every seed."),
        (lossy(mqa=0.5), 2, None),
    ],
    ids=["two", "none", "few seeds"],
)  # fmt: skip
def test_caches_that_cost_answers_in_every_seed_are_named(opened, folder, shares, seeds, told):
    made.write(folder, made.rows(shares, seeds))
    text = speech(opened(PAGE))
    assert told in text if told else "than MHA in every seed" not in text


@pytest.mark.parametrize(
    ("shares", "seeds", "told"),
    [
        (lossy(mha_nope=0.2, mla_nope=0.2, mla=0.975), 3,
         ["Beyond the spread of the seeds: no rotation (−77.0 points), ",
          ", + rotary key (+77.5 points).",
          "Within the spread of the seeds: + KV latent (0.0 points), + query latent (−0.5"]),
        (lossy(mha_nope=0.2), 2, ["No step can be judged yet: it takes 3 seeds"]),
    ],
    ids=["three seeds", "two"],
)  # fmt: skip
def test_steps_beyond_the_seeds_spread_are_told_apart(opened, folder, shares, seeds, told):
    made.write(folder, made.rows(shares, seeds))
    text = speech(opened(PAGE))
    assert all(part in text for part in told), text


def test_half_a_rotation_is_compared_in_this_small_setting(seen, trained):
    (told,) = (plain(text) for text in prose(seen(PAGE).at) if "rotates half" in text)
    whole, half = (percents(code) for code in ("mha", "mha_partial"))
    assert half.max() < whole.min()
    assert "MHA 128 answers more than MHA, half rotated" in told
    assert "small setting" in told


def test_what_the_models_are_stands_beside_them(seen, trained):
    (told,) = (note.value for note in seen(PAGE).at.main.caption if "Decoders" in note.value)
    for part in ("two layers", "88 thousand weights", "`make train`", "100 to 200 steps",
                 "seeds 0, 1, 2", "200 fresh texts", "torch 2.13.0", "Python 3.12.14",
                 "2026-11-20, 2026-11-21, 2026-11-22"):  # fmt: skip
        assert part in told


def test_a_damaged_row_is_named_and_the_page_goes_on(opened, folder):
    made.write(folder, made.rows(but=("mla_queries",)))
    (folder / "study" / "mqa-1.json").write_text("{}", "utf-8")
    at = opened(PAGE)
    (error,) = at.error
    assert "mqa-1.json" in plain(error.value)
    shares = [made.mean("mqa", seed) for seed in (0, 2)]
    assert_allclose(drawn(at, DRAWN)["cache"].values("MQA", "y"), [100 * statistics.fmean(shares)])
    assert "26 of 30" in speech(at)


def test_a_row_that_comes_is_shown_at_once(opened, folder):
    made.write(folder, made.rows(but=("mqa",)))
    assert "MQA" not in drawn(opened(PAGE), DRAWN)["cache"].names
    made.write(folder, made.rows())
    assert "MQA" in drawn(opened(PAGE), DRAWN)["cache"].names


@pytest.mark.parametrize(("lang", "count"), [("en", "0 of 30"), ("zh", "0 / 30")])
def test_before_anything_is_trained_the_page_says_how(opened, folder, lang, count):
    made.write(folder, [])
    at = opened(PAGE, lang=lang)
    assert charts(at)[0].axis("y") == ("perplexity" if lang == "en" else "困惑度")
    assert "make train" in statement(at)
    assert "make train" in at.info[0].value
    assert len(at.main.table[-1].value) == len(made.CACHED)
    assert not [e for e in at.get("bidi_component") if e.proto.component_name == "guess"]
    assert lead(at)[0] == count


def test_without_a_plan_the_page_says_how(opened, folder):
    at = opened(PAGE)
    assert charts(at)[0].axis("y") == "perplexity", "none of trained models"
    assert "make train" in plain(at.error[0].value)


def test_another_task_begins_with_its_own_load(opened, trained):
    at = opened(PAGE, quality_task="recall", quality_load="4")
    assert "load 4" in plain(statement(at))
    task = next(box for box in at.selectbox if box.key == "quality_task")
    task.set_value("copy").run()
    assert not at.exception
    assert says(plain(statement(at)), "quality.where_one_every", task="copy")
    loads = next(group for group in at.button_group if group.key == "quality_load")
    loads.set_value(4).run()
    assert "task “copy”, load 4" in plain(statement(at))
    assert drawn(at, DRAWN)["cache"].values("MHA", "y") == pytest.approx(
        percents("mha", "copy", 4).mean()
    )


@pytest.mark.parametrize(
    ("seeds", "link"), [(3, {}), (3, {"quality_task": "copy", "quality_load": "8"}), (0, {})]
)
def test_the_snippet_makes_the_numbers_on_top(opened, folder, capsys, seeds, link):
    made.write(folder, made.rows(seeds=seeds))
    at = opened(PAGE, code="snippet", **link)
    capsys.readouterr()
    exec(at.code[0].value, {})
    printed = printed_numbers(capsys.readouterr().out.splitlines()[-1])
    assert_shown(" ".join(lead(at)) if seeds else statement(at), printed)


def copied_later(code: str, seed: int, task: str, load: int) -> float:
    """All tasks are right but copying, which the larger of two caches has learned less of."""
    right = {"mla_64": (0.5, 0.6, 0.7), "mla": (0.6, 0.7, 0.98)}.get(code, (1, 1, 1))
    return right[seed] if task == "copy" else 1.0


@pytest.mark.parametrize("finished", [0, 1])
def test_that_a_larger_cache_answers_less_is_told_as_noise_where_seeds_overlap(
    opened, folder, finished
):
    rows = made.rows(copied_later)
    done = [row for row in rows if row["variant"] == "mla"][2 : 2 + finished]
    made.write(folder, [row | {"finished": row in done} for row in rows])
    told = speech(opened(PAGE))
    means = {code: np.mean([copied_later(code, n, "copy", 4) for n in range(3)])
             for code in ("mla_64", "mla")}  # fmt: skip
    shares = [error_percent((4 + mean) / 5) for mean in means.values()]
    copies = [error_percent(mean) for mean in means.values()]
    ranges = [f"{error_percent((4 + low) / 5)} to {error_percent((4 + high) / 5)}"
              for low, high in ((0.5, 0.7), (0.6, 0.98))]  # fmt: skip
    means = {"more_mean": shares[0], "less_mean": shares[1]}
    of_seeds = {"more_range": ranges[0], "less_range": ranges[1]}
    assert says(told, "quality.less_null", more="MLA 64", less="MLA 32", **means, **of_seeds)
    assert plain(f"in the task “copy” ({copies[0]} against {copies[1]})") in told
    assert says(
        told,
        "quality.less_unfinished",
        more_ended="3",
        more_runs="3",
        more="MLA 64",
        less_ended=3 - finished,
        less_runs="3",
        less="MLA 32",
    )


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        (lossy(mla_64=0.5), True),
        (lossy(), False),
        (lossy(0, mla_64=0.97, mla=0.97001), False),
    ],
    ids=["every seed", "none", "less than is written"],
)
def test_a_larger_cache_that_loses_in_every_seed_is_told_so(opened, folder, shares, told):
    made.write(folder, made.rows(shares))
    text = speech(opened(PAGE))
    assert not says(text, "quality.less_null")
    assert says(text, "quality.less_clear", more="MLA 64", less="MLA 32") == told
    assert says(text, "quality.less_clear") == told


def test_below_the_real_model_these_models_have_a_line_of_their_own(opened, trained, monkeypatch):
    whole = one_cache_rows.write(trained.parent / "one_cache.json")
    monkeypatch.setattr(one_cache, "FILE", whole)
    at = opened(PAGE)
    mla = plain(error_percent(percents("mla").mean() / 100))
    assert f"**{mla}**" in speech(at)
    assert says(speech(at), "quality.line", cached=32)
    assert lead(at)[0] != mla
    assert charts(at)[0].axis("y") == "perplexity"
    assert component(at, "guess")["key"] == "one_cache", "the page has one question"
