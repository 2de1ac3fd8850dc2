"""A static copy's recording, how it is packed, and what Streamlit must be for it."""

import gzip
import json
from types import SimpleNamespace

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.ui.screen import component
from ui import ROOT, STATIC
from ui.frame import story
from ui.settings.page import HOME, PAGES, Page
from ui.settings.parsers import as_text
from ui.settings.shared import LANGUAGES
from ui.site import frontend, pack
from ui.site.html import Still, document
from ui.site.index import index
from ui.site.protocol import FIELDS, LENGTH, Control, Run, Session
from ui.site.record import Recorder, jobs, own_of, step_of, views
from ui.site.store import Press, Store, address_of, parts_of
from ui.streamlit_internals import ForwardMsg

KNOWN = {
    field.name: field.number
    for message in (BackMsg, ClientState, WidgetState)
    for field in message.DESCRIPTOR.fields
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_the_script_reads_has_its_number(name):
    assert KNOWN.get(name) == FIELDS[name], f"Streamlit's {name} has changed: assets/replay.js"


@pytest.mark.parametrize("name", ["__streamlit", "BACKEND_BASE_URL", "_stcore/stream"])
def test_the_front_end_still_asks_where_the_script_answers(name):
    scripts = (STATIC / "static/js").glob("index.*.js")
    assert any(name in script.read_text("utf-8") for script in scripts), name


def drawn(text: str, run: str = "0" * LENGTH) -> bytes:
    message = ForwardMsg()
    message.metadata.run.script_run_id = run
    message.delta.new_element.markdown.body = text
    return message.SerializeToString()


def test_pieces_make_the_message_and_the_name_of_its_run_stands_alone():
    body = drawn("short") + b""
    parts = pack.pieces(body)
    assert b"".join(part.body for part in parts) == body
    assert [part.body for part in parts if part.body == pack.NAME] == [pack.NAME]
    long = "long " * 400
    parts = pack.pieces(drawn(long))
    assert long.encode() in [part.body for part in parts if not part.own]


def test_what_two_views_share_lies_in_one_file(tmp_path):
    store = Store(tmp_path / "store.db")
    shared, alone = "shared " * 300, "alone " * 300
    store.keep("overview?", Run("overview", {}, (drawn(shared), drawn(alone))))
    store.keep("notation?", Run("notation", {}, (drawn(shared),)))
    files = pack.write(store, tmp_path)
    there = {file.stem: gzip.decompress(file.read_bytes()) for file in tmp_path.glob("run/*.bin")}
    assert there.keys() == {*files.values(), pack.named(shared.encode())}
    head, _, rest = there[files["overview?"]].partition(b"\n")
    assert alone.encode() in rest
    assert shared.encode() not in rest
    rows = json.loads(head)["messages"]
    texts = {one for row in rows for one in row if isinstance(one, str)}
    assert texts == {pack.named(shared.encode())}
    assert all(row.count(None) == 1 for row in rows)


def test_a_recording_goes_on_where_it_was_broken_off(tmp_path):
    store = Store(tmp_path / "store.db")
    run = Run("rope", {"rope_topic": "yarn"}, (drawn("a"), drawn("b"), drawn("a")), {"1": "rope"})
    store.keep("rope?rope_topic=yarn", run)
    press = Press("rope?", "rope_topic", "YaRN", "rope", {"rope_topic": "yarn"})
    store.keep_press(press)
    again = Recorder("http://127.0.0.1:1", store.again(), pytest.fail)  # where nobody answers
    assert again.open("rope", {"rope_topic": "yarn"}) == run
    assert again.store.pressed("rope?", "rope_topic", "YaRN") == press
    with pytest.raises(OSError, match="refused"), Session(again.app):
        pass


@pytest.mark.parametrize("query", [{}, {"b": "2", "a": "x=y & z"}, {"text": "中文?"}])
def test_an_address_is_read_as_it_was_written(query):
    name = address_of("overview", query)
    assert parts_of(name) == ("overview", query)
    assert name == address_of("overview", dict(reversed(query.items())))


def test_a_step_of_the_story_is_recorded_in_each_language():
    page, query = step_of(2, own_of("zh"))
    assert (page, query["stop"], query["lang"]) == ("language_model", "2", "zh")
    assert "lang" not in step_of(2, own_of("en"))[1]


def test_a_page_names_what_a_preview_and_a_search_engine_show():
    still = Still("kv_cache", "A <title>", 'It "says".', "stills/kv_cache.jpg")
    text = document(still, {"lang": "en", "texts": "</script>"}, "https://example.org/mla")
    assert "<title>KV cache · MLA Explorer</title>" in text
    assert 'content="It &quot;says&quot;."' in text
    assert 'property="og:image" content="https://example.org/mla/stills/kv_cache.jpg"' in text
    assert 'href="https://example.org/mla/kv_cache/"' in text
    assert "<h1>A &lt;title&gt;</h1>" in text
    assert text.count("</script>") == text.count("<script")
    assert text.index("replay.js") < text.index('<script type="module"')
    assert '="./' not in text
    home = document(Still("overview", "", "", ""), {}, "")
    assert '="../' not in home


def test_a_page_has_an_address_of_its_own_in_each_language():
    still = Still("kv_cache", "标题", "一句话。", "stills/kv_cache.jpg", "zh")
    text = document(still, {}, "https://example.org/mla")
    assert still.place == "zh/kv_cache/"
    assert '<html lang="zh-CN">' in text
    assert "<title>KV 缓存 · MLA Explorer</title>" in text
    assert 'src="../../replay.js"' in text
    assert 'hreflang="en" href="https://example.org/mla/kv_cache/"' in text
    assert 'rel="canonical" href="https://example.org/mla/zh/kv_cache/"' in text
    assert Still("overview", "", "", "", "zh").place == "zh/"


def test_the_quiz_of_a_copy_is_asked_in_the_browser_alone(opened, monkeypatch):
    monkeypatch.setenv("MLA_RECORDED", "1")
    at = opened("pages/quiz.py", quiz_number="10")
    card = component(at, "guess")
    assert card["comes"]
    assert len(card["answers"]) == len(card["told"]) > 1
    assert card["told"][card["right"]] != card["told"][card["right"] - 1]
    (numbers,) = (one for one in at.button_group if one.key == "quiz_number")
    assert numbers.options == [str(number) for number in range(1, 11)]
    assert not at.radio
    assert not {button.label for button in at.button} & {"Reveal", "Next", "Back", "Summary"}


def test_the_front_end_is_left_without_what_no_page_draws():
    names = {name.partition("/")[2].partition(".")[0] for name in frontend.needed()}
    assert {"index", "PlotlyChart", "BidiComponent", "MaterialSymbols-Rounded"} <= names
    assert not {"DeckGlJsonChart", "EChartsChart", "GraphVizChart", "mermaid"} & names


def test_a_server_that_is_recorded_draws_nothing_that_needs_it(opened, monkeypatch):
    monkeypatch.setenv("MLA_RECORDED", "1")
    at = opened("pages/kv_cache.py")
    keys = {button.key for button in at.button}
    assert not {"class_door", "lecture_start", "share"} & keys
    assert "story_start" in keys
    assert not at.get("download_button")
    assert not at.text_area
    rests = {one.key for one in (*at.select_slider, *at.selectbox) if one.disabled}
    assert "kv_groups" in rests
    assert not next(one for one in at.button_group if one.key == "kv_view").disabled


def test_a_control_offers_what_a_copy_has_and_else_rests(opened, monkeypatch):
    monkeypatch.setenv("MLA_RECORDED", "1")
    at = opened("pages/rope.py")
    assert at.select_slider(key="rope_pair").options == ["0", "1", "2", "3"]
    assert next(one for one in at.number_input if one.key == "rope_head").disabled
    at = opened()
    offered = at.selectbox(key="preset").options
    assert len(offered) == 5
    assert "Llama-3.1-405B" in offered
    monkeypatch.delenv("MLA_RECORDED")
    at = opened()
    assert len(at.selectbox(key="preset").options) > 30


class Offering:
    """An app of three choices: b offers 3 only once a is 2."""

    def __init__(self):
        self.opened = set()

    def open(self, page, query):
        self.opened.add(address_of(page, query))
        offers = {"a": "12", "b": "123" if query.get("a") == "2" else "12", "c": "12"}
        made = [self._control(name, query, options) for name, options in offers.items()]
        return SimpleNamespace(controls=lambda: made)

    def _control(self, name, query, options):
        element = ButtonGroup(id=f"$$ID-hash-{name}", raw_values=[query.get(name, "1")])
        element.options.extend(ButtonGroup.Option(content=one) for one in options)
        return Control(name, "button_group", element)

    def press(self, page, query, control, said):
        name = control.key[0]
        after = (
            query | {name: said} if said != "1" else {n: v for n, v in query.items() if n != name}
        )
        self.open(page, after)
        return Press(address_of(page, query), control.key, said, page, after)


def test_what_is_offered_is_chosen_once_and_what_is_crossed_together():
    app = Offering()
    views(app, Page(name="rope", group="check", order=1), {})
    assert app.opened == {f"rope?{said}" for said in ("", "a=2", "b=2", "c=2", "a=2&b=3")}
    app = Offering()
    views(app, Page(name="rope", group="check", order=1, crossed=(("a", "c"),)), {})
    assert "rope?a=2&c=2" in app.opened
    assert "rope?b=2&c=2" not in app.opened
    app = Offering()
    views(app, Page(name="rope", group="check", order=1, crossed=(("a", "b", "c"),)), {})
    assert {one for one in app.opened if one.count("=") == 3} == {
        f"rope?a=2&b={b}&c=2" for b in "23"
    }
    assert app.opened >= {"rope?a=2&b=2", "rope?b=2&c=2"}


class Noting:
    """A recorder that keeps only which addresses were opened; every scene has one block, S."""

    def __init__(self):
        self.opened = set()

    def open(self, page, query):
        self.opened.add(address_of(page, query))
        return SimpleNamespace(controls=list, blocks=lambda: ["S"])


def test_every_step_link_and_block_leads_to_what_is_recorded(tmp_path):
    app = Noting()
    for job in jobs(LANGUAGES, PAGES):
        job(app)
    files = dict.fromkeys(app.opened, "file")
    found = index(Store(tmp_path / "store.db"), files, "", "")
    of_sidebar = {file.stem for file in (ROOT / "pages").glob("*.py")} | {HOME}
    for lang, said in (("en", ""), ("zh", "lang=zh")):
        steps = found["story"][lang]
        assert len(steps) == len(story.steps())
        assert set(steps) <= app.opened
        assert {f"{page}?{said}" for page in of_sidebar} <= app.opened
        for link in (link for page in PAGES.values() for link in page.links):
            values = {name: as_text(value) for name, value in link.values.items()}
            assert address_of(link.page, values | own_of(lang)) in app.opened
        beside = {"lang": lang} if said else {}
        block = {"map_tensor": "S", "variant": "kda"} | beside
        assert address_of("attention_maps", block) in app.opened
        assert address_of("kv_cache", beside) in app.opened
    assert found["insides"]["S"] == "attention_maps?map_tensor=S"
    assert found["insides"]["shelf"] == "kv_cache?"
