"""The quiz in a real browser: predict, reveal, go on by clicker, reload."""

import pytest
from playwright.sync_api import expect

from mla_engine import quiz
from tests.browser.conftest import STATEMENT, Show
from tests.browser.waiting import settle

pytestmark = pytest.mark.browser


def test_a_reader_predicts_reveals_and_goes_on(show: Show) -> None:
    kinds = quiz.order(5)
    page = show("quiz?quiz_seed=5&quiz_count=4")
    expect(page.locator(STATEMENT)).to_have_text("Question 1 of 4: what do you predict?")
    expect(page.get_by_role("button", name="Reveal")).to_be_enabled()
    first = quiz.question(5, kinds[0])
    page.locator('[data-testid="stRadio"] label').nth(1 + first.answer).click()
    settle(page)
    page.get_by_role("button", name="Reveal").click()
    settle(page)
    expect(page.locator(".quiz-choices li.right")).to_contain_text("your prediction")
    expect(page.locator(STATEMENT)).to_contain_text("1 of 1 predicted right")

    page.locator("h1").click()
    page.keyboard.press("PageDown")
    settle(page)
    expect(page.locator(STATEMENT)).to_contain_text("Question 2 of 4")
    second = quiz.question(5, kinds[1])
    wrong = (second.answer + 1) % len(second.choices)
    page.locator('[data-testid="stRadio"] label').nth(1 + wrong).click()
    settle(page)
    page.keyboard.press("PageDown")  # reveals first
    settle(page)
    expect(page.locator(".quiz-choices li.wrong")).to_contain_text("your prediction")
    expect(page.locator(STATEMENT)).to_contain_text("1 of 2 predicted right")

    page.reload()
    settle(page)
    expect(page.locator(STATEMENT)).to_have_text("Question 2 of 4: 1 of 2 predicted right so far")
    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    settle(page)
    expect(page.locator(STATEMENT)).to_contain_text("预测对 1 题")
    expect(page.locator(".quiz-board li")).to_have_count(4)


