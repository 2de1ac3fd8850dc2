"""Ten things that matter, in Firefox and in WebKit as in Chromium."""

import csv
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from selenium.webdriver.common.keys import Keys

from mla_engine import worked_example
from tests.attacks.server import wait_until
from tests.browser.test_attention_maps import LINK, attention
from tests.browsers.reader import PHONE, Reader
from ui.frame import story

TOLD = story.telling("")
FIRST, LAST = 10, 17  # of the story's steps: three pages one after the other
BLUE, LATENT = (0, 99, 160), (150, 57, 111)  # of the story's button and of what a cache keeps
# Of DeepSeek-V3: layers, numbers per token and layer, bytes a number.
KEPT_BYTES = 61 * (512 + 64) * 2
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
# Words that their box cuts, unless it scrolls or is there for the ear alone.
CUT = """const found = [];
const words = document.createTreeWalker(document.querySelector(".stApp"), NodeFilter.SHOW_TEXT);
for (let text = words.nextNode(); text; text = words.nextNode()) {
  if (!text.parentElement.checkVisibility()) continue; // as in a group that is closed
  const range = document.createRange();
  range.selectNodeContents(text);
  const { left, right } = range.getBoundingClientRect();
  const boxes = [];
  for (let at = text.parentElement; !at.matches(".stApp"); at = at.parentElement) boxes.push(at);
  const box = boxes.find((one) => getComputedStyle(one).overflowX !== "visible");
  if (!box) continue;
  const style = getComputedStyle(box), own = box.getBoundingClientRect();
  if (right === left || own.width < 3 || !style.overflowX.match(/hidden|clip/)) continue;
  const spare = style.textOverflow === "ellipsis" ? 0.001 : 1;
  if (right > own.right + spare || left < own.left - 1) found.push(text.textContent);
}
return found;"""
UNDER = """const style = getComputedStyle(arguments[0]);
return [style.textDecorationLine, style.textDecorationStyle];"""
BARS = """return [...document.querySelectorAll(".modebar")].map((bar) => [bar, ...bar.children]
  .reduce((seen, one) => seen * getComputedStyle(one).opacity, 1));"""
LINE = "return document.querySelector('.js-plotly-plot').layout.shapes[0].x0;"
CELL = """const [chart, across, down] = arguments;
const area = document.querySelectorAll(".js-plotly-plot")[chart].querySelector(".nsewdrag");
area.scrollIntoView({ block: "center" });
const { x, y, width, height } = area.getBoundingClientRect();
return [x + across * width, y + down * height];"""
WIDER = "return document.documentElement.scrollWidth > innerWidth;"


def setting(reader: Reader, name: str) -> str:
    return parse_qs(urlsplit(reader.address).query)[name][0]


def test_the_first_page_is_drawn_and_painted_and_nothing_is_cut(app, reader):
    reader.open(app.url)
    reader.see("h1", "MLA is attention with a small memory")
    reader.see(".scene .block[data-code=c_KV]")
    assert reader.ask(CUT) == []
    assert reader.ask(UNDER, reader.see(".term")) == ["underline", "dotted"]
    painted = {colour: count for count, colour in reader.picture().getcolors(2**24)}
    assert painted.get(BLUE, 0) > 1_000
    assert painted.get(LATENT, 0) > 100
    reader.point(5, 5)
    reader.open(f"{app.url}/compare")
    assert reader.ask(CUT) == []
    assert set(reader.ask(BARS)) == {0}


def test_a_slider_goes_with_the_hand_and_by_key(app, reader):
    reader.open(f"{app.url}/kv_cache")
    rail = ".st-key-kv_context [role=group] > div"
    reader.drag(rail, 1, 0.5)
    reader.there("kv_context=")
    reader.settle()
    context = int(setting(reader, "kv_context"))
    assert 1_000 < context < 131_072
    assert reader.ask(LINE) == context
    assert held_bytes(reader) == pytest.approx(context * KEPT_BYTES, rel=5e-3)
    reader.type(Keys.ARROW_LEFT)
    reader.there(f"kv_context={context // 2}")
    reader.settle()
    assert held_bytes(reader) == pytest.approx(context // 2 * KEPT_BYTES, rel=5e-3)


def held_bytes(reader: Reader) -> float:
    number, unit = reader.see(".st-key-lead > :first-child p").text.split()
    return float(number) * UNITS[unit]


def test_a_cell_answers_with_what_it_holds(app, reader):
    reader.open(f"{app.url}/attention_maps?{urlencode(LINK)}")
    reader.point(*reader.ask(CELL, 1, 2.5 / 5, 4.5 / 5))
    reader.see(".hovertext", "sees (2)")
    wait_until(lambda: max(reader.ask(BARS)) == 1)  # with the pointer there, once it has faded in
    reader.tap()
    reader.there("map_key=2")
    reader.there("map_query=4")
    reader.settle()
    told = reader.see(".stMarkdown p", "gives").text
    share = float(re.search(r"([\d.]+)\s?%", told)[1])
    assert share == pytest.approx(100 * attention()[0, 4, 2].item(), rel=5e-3)


def test_a_text_of_ones_own_is_read(app, reader):
    reader.open(f"{app.url}/attention_maps?preset=small")
    reader.click("textarea")
    reader.type("red green blue")
    reader.type(Keys.ENTER, holding=Keys.CONTROL)
    reader.there("map_text=red")
    reader.settle()
    for word in ("red", "green", "blue"):
        reader.see(".ytick text", word)
    assert setting(reader, "map_text") == "red green blue"


def test_a_lecture_goes_on_by_page_down(app, reader):
    reader.open(f"{app.url}/{TOLD[FIRST - 1].page}?lecture=1&stop={FIRST}")
    for number in range(FIRST, LAST + 1):
        reader.see(".st-key-lecture_ways", f"{number} / {len(TOLD)}")
        reader.see(".st-key-lecture_says", TOLD[number - 1].say["en"])
        reader.settle()
        assert setting(reader, "stop") == str(number)
        assert reader.ask(CUT) == []
        reader.type(Keys.PAGE_DOWN if number < LAST else Keys.PAGE_UP)
    reader.see(".st-key-lecture_ways", f"{LAST - 1} / {len(TOLD)}")
    reader.settle()


def test_a_phone_joins_a_class_and_goes_where_its_lecturer_goes(app, reader):
    lecturer, phone = reader, reader.beside()
    lecturer.open(app.url.replace("127.0.0.1", "localhost"))  # keeps nothing for the phone to read
    lecturer.click("button", "Class")
    lecturer.click("[role=dialog] button", "Open a class")
    code = lecturer.see(".huge").text
    lecturer.click("dialog button", "Close")
    phone.open(f"{app.url}/?room={code.replace('-', '')}", PHONE)
    phone.see("[role=status]", "You follow the lecture")
    lecturer.see("[role=status]", "1 here")
    for link, name in (("RoPE", "rope"), ("Worked example", "worked_example")):
        lecturer.click(".stSidebar a", link)
        for one in (lecturer, phone):
            one.there(f"/{name}")
            one.settle()
        assert phone.see("h1").text == lecturer.see("h1").text
        assert not phone.ask(WIDER)
    lecturer.type(Keys.PAGE_DOWN)
    for one in (lecturer, phone):
        one.see(".st-key-we_stage h3", "2 of ")


def test_a_table_is_downloaded(app, reader):
    reader.open(f"{app.url}/kv_cache")
    reader.click("button", "Data as CSV")
    file = reader.browser.downloads / "kv_cache_context.csv"
    wait_until(lambda: file.exists() and file.stat().st_size, "the file is there")
    rows = list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))
    own = [
        row for row in rows if row["cache"] == "mla" and row["model"] == "DeepSeek-V3 / R1 (671B)"
    ]
    assert len(own) > 10
    for row in own:
        assert int(row["bytes"]) == int(row["context_tokens"]) * KEPT_BYTES


def test_a_static_copy_answers_and_says_what_it_has_not(copy, reader):
    reader.open(f"{copy}/")
    before = reader.see(".st-key-lead").text
    reader.click(".st-key-variant button", "MHA")
    reader.there("variant=mha")
    reader.see(".st-key-lead", "4,096")
    reader.settle()
    reader.driver.back()
    reader.see(".st-key-lead", before.split()[0])
    reader.settle()
    assert reader.see(".st-key-lead").text == before
    reader.click(".st-key-variant button", "GQA")
    reader.see("#copy-says", "This copy has not recorded that view.")
    reader.open(f"{copy}/notation/")
    reader.click("button", "Tell me the story")
    for number in (1, 2, 3):
        reader.there(f"stop={number}")
        reader.see(".st-key-story_bar", TOLD[number - 1].say["en"])
        reader.settle()
        reader.type(Keys.PAGE_DOWN if number < 3 else Keys.PAGE_UP)
    reader.there("stop=2")
    reader.settle()


def test_chinese_is_spoken_and_stays(app, reader):
    reader.open(f"{app.url}/rope")
    reader.click(".stSidebar button", "中文")
    reader.there("lang=zh")
    reader.see("h1", "旋转")
    reader.settle()
    assert reader.ask(CUT) == []
    title = reader.see("h1").text
    reader.driver.refresh()
    reader.see("h1", title)
    reader.settle()


def test_the_worked_example_goes_on_and_its_cells_answer(app, reader):
    steps = worked_example.steps("mla_completed")
    reader.open(f"{app.url}/worked_example?lang=en")
    for number, press in enumerate((Keys.PAGE_DOWN, Keys.ARROW_RIGHT, Keys.PAGE_UP), 1):
        reader.see(".st-key-we_stage h3", f"{number} of {len(steps)}: ")
        reader.settle()
        reader.type(press)
    reader.see(".st-key-we_stage h3", f"2 of {len(steps)}: ")
    reader.settle()
    reader.click("[data-cell='2,1']")
    reader.see(".written .terms", steps[1].terms(1, 0))
    reader.see(".matrix.result .chosen", worked_example.show(steps[1].result.rows[1][0]))
    reader.there("we_row=2")
    reader.settle()
