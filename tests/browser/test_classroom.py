"""A class in real browsers: a lecturer and two followers, in one process and with Redis."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocketRoute, expect

from tests.attacks.server import running
from tests.browser.conftest import PROJECTOR, new_context
from tests.browser.looks import PHONE
from tests.browser.waiting import door, settle
from tests.classroom import redis_server

pytestmark = pytest.mark.browser
KEY = "() => JSON.parse(sessionStorage['mla-class-tab']).key"
TOP = """part => {
  const { left, top, width, height } = part.getBoundingClientRect();
  return part.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}"""
WIDE = "() => document.documentElement.scrollWidth > innerWidth"


@contextmanager
def classroom(browser: Browser) -> Iterator[tuple[Page, Page, Page]]:
    """Open a lecturer at the projector and two phones, the second in Chinese."""
    contexts = [new_context(browser, PROJECTOR), new_context(browser, PHONE)]
    contexts.append(new_context(browser, PHONE, locale="zh-CN"))
    lecturer, first, second = (context.new_page() for context in contexts)
    yield lecturer, first, second
    for context in contexts:
        context.close()


def over(page: Page) -> Locator:
    """Return the element that the class draws over the page."""
    return page.locator(".mla-class")


def press(page: Page, name: str) -> None:
    over(page).get_by_role("button", name=name, exact=True).click()


def opened(page: Page, url: str) -> str:
    """Open a class as a lecturer, and return its code as it stands on the screen."""
    page.goto(url)
    settle(page)
    page.get_by_role("button", name="Class").click()
    page.get_by_role("dialog").get_by_role("button", name="Open a class").click()
    large = over(page).get_by_role("dialog", name="The code for the class")
    code = large.locator(".huge").inner_text()
    assert f"room={code.replace('-', '')}" in page.url
    height = large.locator(".huge").bounding_box()["height"]
    assert height > PROJECTOR["height"] / 8  # read from the last row
    assert large.locator("img").bounding_box()["height"] > PROJECTOR["height"] / 2
    press(page, "Close")
    return code


def joined(page: Page, url: str, code: str, says: str) -> None:
    page.goto(f"{url}/?room={code.replace('-', '')}")
    expect(over(page).get_by_role("status").first).to_contain_text(says)
    assert not page.evaluate(WIDE)


def goes(page: Page, link: str) -> None:
    door(page, link).click()


def at(name: str) -> re.Pattern:
    return re.compile(rf"/{name}(\?|$)")


def test_a_class_follows_answers_and_looks_around(app_url, chromium):
    with classroom(chromium) as (lecturer, first, second):
        code = opened(lecturer, app_url)
        joined(first, app_url, code, "You follow the lecture")
        joined(second, app_url, code, "正在跟随讲课")
        expect(over(lecturer)).to_contain_text("2 here")
        goes(lecturer, "KV cache")
        for page in (first, second):
            expect(page).to_have_url(at("kv_cache"))
            settle(page)
        expect(second.locator("h1")).to_have_text("缓存随每个词元增长")
        assert "lang" not in first.url
        follow_question(lecturer, first, second)
        # What the lecturer chooses is not for a follower to change.
        first.get_by_text("GPU memory", exact=True).click()
        expect(over(first)).to_contain_text("The lecturer chooses here")
        views = first.locator(".st-key-kv_view [aria-checked=true]")
        expect(views).to_have_text("By context")
        # One looks around: the next page of the lecturer disturbs nothing.
        press(first, "Look around on my own")
        expect(over(first)).to_contain_text("On your own")
        settle(first)
        first.get_by_text("GPU memory", exact=True).click()
        first.wait_for_url("**kv_view=memory**")
        goes(lecturer, "RoPE")
        expect(second).to_have_url(at("rope"))
        expect(first).to_have_url(at("kv_cache"))
        press(first, "Back to the lecture")
        expect(first).to_have_url(at("rope"))
        settle(first)
        expect(first.locator("h1").first).to_contain_text("After rotation")
        # A reload of each keeps all, and the lecturer leads on.
        for page in (lecturer, first):
            page.reload()
            settle(page)
        expect(over(lecturer).locator(".code")).to_have_text(code)
        goes(lecturer, "Overview")
        for page in (first, second):
            page.wait_for_url(re.compile(r"/\?"))
        over(lecturer).locator(".code").click()
        press(lecturer, "End the class")
        press(lecturer, "End it for all?")
        expect(over(first)).to_contain_text("The class has ended")
        press(first, "Leave the class")
        expect(over(first)).to_have_count(0)
        settle(first)
        assert "room" not in first.url


def follow_question(lecturer: Page, first: Page, second: Page) -> None:
    press(lecturer, "Ask the class")
    card, main = over(lecturer).locator(".card"), lecturer.get_by_test_id("stMain")
    expect(card).to_be_visible()
    assert card.bounding_box()["x"] >= main.bounding_box()["x"]  # not below the sidebar
    for page, send in ((first, "Send my answer"), (second, "提交回答")):
        slider = over(page).get_by_role("slider")
        slider.fill("20" if page is first else "90")
        press(page, send)
        expect(slider).to_be_disabled()
        assert not page.evaluate(WIDE)
    expect(over(lecturer)).to_contain_text("2 of 2 have answered")
    filled = "bars => bars.map(bar => Number(bar.style.getPropertyValue('--share')))"
    shares = over(lecturer).locator(".fill").evaluate_all(filled)
    assert {at: share for at, share in enumerate(shares) if share} == {20: 1, 90: 1}
    expect(over(first).locator(".fill")).to_have_count(0)  # until the reveal
    press(lecturer, "Reveal")
    expect(over(first).locator(".why")).to_contain_text("It is")
    expect(over(second).locator(".why")).to_contain_text("答案是")
    assert over(second).locator(".fill").evaluate_all(filled) == shares
    press(lecturer, "Close the question")
    expect(over(first).locator(".card")).to_be_hidden()
    card = first.locator(".st-key-guess")  # the page asks nobody again, and knows what was said
    expect(card).to_contain_text("You said")
    expect(card.locator("form")).to_have_count(0)


def test_who_comes_late_or_loses_the_line_is_where_the_lecturer_is(app_url, chromium):
    lines = []
    with classroom(chromium) as (lecturer, first, late):
        code = opened(lecturer, app_url)
        first.route_web_socket(re.compile("/_class/"), lambda line: lines.append(cut_by_us(line)))
        joined(first, app_url, code, "You follow the lecture")
        goes(lecturer, "RoPE")
        expect(first).to_have_url(at("rope"))
        lines[-1].close()
        expect(over(first)).to_contain_text("The class cannot be reached")
        goes(lecturer, "Notation")
        expect(first).to_have_url(at("notation"))
        expect(over(first)).to_contain_text("You follow the lecture")
        full = {"status": 429, "json": {"refused": "crowd"}}
        late.route("**/join", lambda route: route.fulfill(**full))  # many join at once
        late.goto(f"{app_url}/?room={code.replace('-', '')}")
        expect(late.get_by_role("status")).to_have_text("正在加入课堂")
        late.unroute("**/join")
        expect(over(late)).to_contain_text("正在跟随讲课")
        expect(late).to_have_url(at("notation"))
        expect(late.locator("h1")).to_have_text("每个张量一个名字、一种颜色")
        assert len(lines) == 2


def test_a_phone_that_joins_by_the_drawer_sees_the_lecture(app_url, chromium):
    with classroom(chromium) as (lecturer, phone, _):
        code = opened(lecturer, app_url)
        goes(lecturer, "RoPE")
        phone.goto(app_url)
        settle(phone)
        drawer = phone.get_by_test_id("stSidebar")
        phone.get_by_test_id("stExpandSidebarButton").click()
        expect(drawer).to_have_attribute("data-collapsed", "false")
        drawer.get_by_role("button", name="Class").click()
        dialog = phone.get_by_role("dialog")
        dialog.get_by_role("textbox").first.fill(code)
        dialog.get_by_role("button", name="Join the class").click()
        expect(over(phone)).to_contain_text("You follow the lecture")
        expect(phone).to_have_url(at("rope"))
        expect(phone.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
        settle(phone)
        assert phone.locator("h1").first.evaluate(TOP)


def test_a_second_device_asks_before_it_takes_the_class_over(app_url, chromium):
    with classroom(chromium) as (lecturer, follower, second):
        code = opened(lecturer, app_url)
        joined(follower, app_url, code, "You follow the lecture")
        goes(lecturer, "RoPE")
        expect(follower).to_have_url(at("rope"))
        key = lecturer.evaluate(KEY)
        second.set_viewport_size(PROJECTOR)
        second.goto(f"{app_url}/notation?lang=en")
        settle(second)
        second.get_by_role("button", name="Class").click()
        dialog = second.get_by_role("dialog")
        dialog.get_by_text("Lead a class that is open").click()
        dialog.get_by_label("The lecturer's key").fill(key)
        dialog.get_by_role("button", name="Lead on").click()
        expect(over(second)).to_contain_text("Another device leads this class now")
        expect(over(lecturer)).to_contain_text("1 here")
        expect(follower).to_have_url(at("rope"))  # nobody has moved
        press(second, "Take over")
        expect(second).to_have_url(at("rope"))  # where the class is
        settle(second)
        assert over(second).locator("dialog[open]").count() == 0, "the code covers the page"
        expect(over(lecturer)).to_contain_text("Another device has taken over")
        expect(over(second)).to_contain_text("1 here")
        goes(lecturer, "Overview")
        expect(lecturer).to_have_url(re.compile(r"/\?"))
        settle(lecturer)
        goes(second, "Notation")
        expect(follower).to_have_url(at("notation"))
        lecturer.reload()  # and is the same device after it
        expect(over(lecturer)).to_contain_text("Another device has taken over")
        press(lecturer, "Take it back")
        expect(follower).to_have_url(re.compile(r"/\?"))
        expect(over(second)).to_contain_text("Another device has taken over")


def test_who_leads_goes_on_leading_at_an_address_without_the_class(app_url, chromium):
    with classroom(chromium) as (lecturer, follower, _):
        code = opened(lecturer, app_url)
        joined(follower, app_url, code, "You follow the lecture")
        lecturer.goto(f"{app_url}/rope")  # typed, or a bookmark
        expect(over(lecturer).locator(".code")).to_have_text(code)
        expect(over(lecturer)).to_contain_text("1 here")
        expect(follower).to_have_url(at("rope"))
        assert code.replace("-", "") in lecturer.url
        goes(lecturer, "KV cache")
        expect(follower).to_have_url(at("kv_cache"))
        settle(lecturer)
        # In the history, too, addresses from before the class lead no way out of it.
        lecturer.go_back()
        expect(follower).to_have_url(at("rope"))
        settle(lecturer)
        lecturer.evaluate("history.pushState({}, '', '/absorption')")
        goes(lecturer, "Notation")
        expect(follower).to_have_url(at("notation"))
        settle(lecturer)
        lecturer.go_back()
        expect(follower).to_have_url(at("absorption"))
        expect(over(lecturer).locator(".code")).to_have_text(code)
        # A link to another class leads there, and the way back stays.
        other = new_context(chromium)
        another = opened(other.new_page(), app_url)
        lecturer.goto(f"{app_url}/?room={another.replace('-', '')}")
        expect(over(lecturer)).to_contain_text("You follow the lecture")
        press(lecturer, "Back to the class that I lead")
        expect(over(lecturer).locator(".code")).to_have_text(code)
        other.close()


def test_who_is_behind_is_told_and_asks_until_the_pages_agree(app_url, chromium):
    with classroom(chromium) as (lecturer, follower, _):
        code, lost = opened(lecturer, app_url), []
        follower.route_web_socket(re.compile("/_class/"), partial(without_pages, lost))
        joined(follower, app_url, code, "You follow the lecture")
        settle(follower)
        lost.append("the next page")
        goes(lecturer, "RoPE")
        expect(over(follower)).to_contain_text("Catching up with the lecture")
        assert lost == []
        expect(follower).to_have_url(at("rope"))
        expect(over(follower)).to_contain_text("You follow the lecture")


def without_pages(lost: list[str], line: WebSocketRoute) -> None:
    """Let a socket through but for the pages that are to be lost."""
    server = line.connect_to_server()

    def hand_on(said: str | bytes) -> None:
        if isinstance(said, bytes) and lost:
            lost.pop()
        else:
            line.send(said)

    server.on_message(hand_on)


def test_silence_of_the_server_is_said_in_three_seconds(project, chromium):
    with (
        running({}, folder=project, root=project) as app,
        classroom(chromium) as (lecturer, follower, _),
    ):
        for page in (lecturer, follower):
            page.clock.install()
        code = opened(lecturer, app.url)
        joined(follower, app.url, code, "You follow the lecture")
        expect(over(lecturer)).to_contain_text("1 here")
        app.process.send_signal(signal.SIGSTOP)
        for page in (lecturer, follower):
            page.clock.run_for(3000)  # by the browser's own clock, whatever the machine does
            assert "cannot be reached" in over(page).locator(".bar").inner_text()
        app.process.send_signal(signal.SIGCONT)
        expect(over(follower)).to_contain_text("You follow the lecture")
        expect(over(lecturer)).to_contain_text("1 here")


def cut_by_us(line: WebSocketRoute) -> WebSocketRoute:
    """Let a socket through; it can be closed from here."""
    line.connect_to_server()
    return line


def test_a_wrong_code_is_told_by_the_door_and_by_a_link(app_url, browser_page):
    page = browser_page
    page.goto(app_url)
    settle(page)
    page.get_by_role("button", name="Class").click()
    dialog = page.get_by_role("dialog")
    for typed, says in (("2222-2222", "there is no class with the code"), ("hello", "8 letters")):
        dialog.get_by_role("textbox").first.fill(typed)
        dialog.get_by_role("button", name="Join the class").click()
        expect(dialog).to_contain_text(says)
    page.goto(f"{app_url}/?room=22222222")
    expect(over(page)).to_contain_text("There is no class with the code 2222-2222")
    press(page, "Leave the class")
    expect(over(page)).to_have_count(0)


def test_redis_goes_in_the_middle_of_a_lecture_and_the_class_comes_back(
    project, chromium, tmp_path
):
    with (
        redis_server.running(tmp_path) as redis,
        running({"MLA_REDIS_URL": redis.url}, folder=project, root=project) as app,
        classroom(chromium) as (lecturer, first, second),
    ):
        code = opened(lecturer, app.url)
        joined(first, app.url, code, "You follow the lecture")
        joined(second, app.url, code, "正在跟随讲课")
        redis.kill()
        expect(over(first)).to_contain_text("The class cannot be reached")
        expect(over(second)).to_contain_text("暂时连不上课堂")
        expect(over(lecturer)).to_contain_text("your screen goes on")
        goes(lecturer, "Notation")
        expect(lecturer).to_have_url(at("notation"))
        settle(lecturer)
        redis.start()  # it kept nothing: the lecturer's browser brings the class back
        for page in (first, second):
            expect(page).to_have_url(at("notation"))
        expect(over(first)).to_contain_text("You follow the lecture")
        expect(over(lecturer)).to_contain_text("2 here")
        assert redis.url not in app.log
