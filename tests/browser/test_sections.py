"""Sections that load when they are reached: by scrolling, by keys, by their button, for paper."""

import pytest
from playwright.sync_api import expect

from tests.browser.looks import PHONE
from tests.browser.waiting import door, everything, frames, settle, until

pytestmark = pytest.mark.browser
PLOTS = ".js-plotly-plot"
PLACES = ".waits"
HEARD = "document.mlaSections?.sends.size"  # places whose buttons do something
GONE = """() => {
  const waiting = document.mlaSections, place = document.createElement("div");
  const asked = [];
  for (const one of waiting.sends.values()) one.send = () => asked.push(one.name);
  waiting.add(place, "gone", () => asked.push("gone"));
  waiting.look();
  waiting.sends.delete(place);
  return asked;
}"""
PLACED_AGAIN = """() => {
  const waiting = document.mlaSections;
  for (const [place, { name, send }] of [...waiting.sends]) {
    waiting.drop(place);
    waiting.add(place, name, send);
  }
}"""
# How often places ask as one comes near, before a link is pressed and until its page comes.
ASKS_BEFORE_A_LINK_AND_AFTER = """(place, link) => {
  const waiting = document.mlaSections, asks = [];
  let sent = 0;
  for (const one of waiting.sends.values()) one.send = () => { sent += 1; };
  const near = () => {
    waiting.sentAt = 0;
    place.scrollIntoView();
    waiting.look();
    asks.push(sent);
  };
  near();
  link.click();
  near();
  return asks;
}"""


def test_a_section_is_there_when_it_is_reached(show):
    page = show("absorption?lecture=1", {"width": 1280, "height": 720})
    places, plots = page.locator(PLACES), page.locator(PLOTS)
    expect(places.nth(1)).to_be_attached()
    waiting, drawn = places.count(), plots.count()
    assert drawn < 9
    headings = page.locator(".stHeading h3").all_inner_texts()
    for _ in headings:
        page.keyboard.press("PageDown")
        settle(page)
    expect(places).to_have_count(0)
    assert plots.count() > drawn + waiting
    assert page.locator(".stHeading h3").all_inner_texts() == headings


def test_no_section_asks_on_a_page_that_is_being_left(show):
    page = show("absorption?lecture=1", {"width": 1280, "height": 720})
    expect(page.locator(PLACES).nth(1)).to_be_attached()
    settle(page)  # those that are near are drawn
    waiting, asked = page.locator(PLACES).count(), page.evaluate("window.asked")
    page.evaluate("history.replaceState({}, '', '/kv_cache')")
    page.locator(PLACES).last.scroll_into_view_if_needed()
    frames(page, 60)
    assert (page.locator(PLACES).count(), page.evaluate("window.asked")) == (waiting, asked)
    page.evaluate("history.replaceState({}, '', '/absorption?lecture=1')")
    page.locator("h1").scroll_into_view_if_needed()
    page.locator(PLACES).last.scroll_into_view_if_needed()
    expect(page.locator(PLACES)).to_have_count(0)


def test_a_place_that_has_left_the_page_asks_for_none(show):
    """It has no room, and would be near; React tells of its leaving a little later."""
    page = show("absorption?lecture=1", {"width": 1280, "height": 720})
    expect(page.locator(PLACES).nth(1)).to_be_attached()
    settle(page)
    assert page.evaluate(GONE) == []


def test_no_section_asks_between_a_link_and_its_page(show):
    """Else Streamlit, while it has not begun, joins both requests into one for the page of now."""
    page = show("absorption", {"width": 1280, "height": 300})
    expect(page.locator(PLACES).nth(1)).to_be_attached()
    way = door(page, "Notation").element_handle()
    assert page.locator(PLACES).first.evaluate(ASKS_BEFORE_A_LINK_AND_AFTER, way) == [1, 1]
    page.wait_for_url("**/notation**")
    settle(page)
    assert page.locator("h1").inner_text() == "Every tensor has one name and one colour"


def test_its_button_and_paper_ask_for_a_section(show, app_url):
    page = show("compute?lang=zh", {"width": 1280, "height": 720})
    places = page.locator(PLACES)
    expect(places.first).to_be_attached()
    settle(page)
    until(page, lambda: page.evaluate(HEARD) == places.count())
    page.get_by_role("button", name="显示本节").last.evaluate("button => button.click()")
    page.evaluate(PLACED_AGAIN)  # as by a run of the whole page: what was asked for stays so
    expect(places).to_have_count(0)
    page.goto(f"{app_url}/absorption")
    settle(page)
    expect(places.nth(1)).to_be_attached()
    everything(page)
    expect(places).to_have_count(0)
    expect(page.locator("[class*=st-key-absorption-norm] .main-svg").first).to_be_attached()


def test_on_a_phone_the_navigation_closes_and_controls_stand_by_their_picture(show):
    page = show("kv_cache", PHONE)
    page.get_by_test_id("stExpandSidebarButton").click()
    way = door(page, "Absorption")
    expect(way).to_be_in_viewport()
    way.click()
    page.wait_for_url("**/absorption**")
    expect(way).not_to_be_in_viewport()
    settle(page)
    parts = ("absorption-brackets", "ab_queries-en", "absorption-adds")
    tops = [page.locator(f".st-key-{part}").bounding_box()["y"] for part in parts]
    assert tops == sorted(tops)
    chip, menu = (page.locator(f".st-key-{key}").bounding_box() for key in ("model_chip", "menu"))
    assert chip["x"] + chip["width"] <= menu["x"]
    assert menu["x"] + menu["width"] <= 390
