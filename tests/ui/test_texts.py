"""The catalogue: both languages, the same placeholders, nothing missing, nothing left over."""

import re
from pathlib import Path
from string import Formatter

from mla_engine import PRESETS, SYMBOLS
from ui.frame import story
from ui.settings.shared import LANGUAGES
from ui.words import glossary
from ui.words.text import catalogue, safe, t

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "app.py", *ROOT.glob("pages/*.py"), *ROOT.glob("ui/**/*.py")]
HAN = "[\u3400-\u9fff]"
TERMS = {  # what no Chinese text says -> what it says instead
    "对数几率": "得分",  # log-odds, which a logit before a softmax is not
    "(?<!1/3 这样的)分数": "得分",  # but a fraction
    "(?<!输出 )logit": "得分",  # but the model's own output
    "热力图": "热图",
    "升维": "上投影",
    "降维": "下投影",
    "计算示例|示例": "算例",
    "(内存|显存|带宽)(带宽)?(受限|限制)": "访存受限",
    "受计算限制|算力受限": "计算受限",
    "不准确": "不精确",
    "视情况": "视条件而定",
    "(小|低|(?<!多)少) ?(多少|几|[0-9.]+|{}) ?倍": "为……的 1/n，减少到……",
    r"第 \{\} 个头": "第 {head} 头",
    "个 GPU": "张 GPU",
    "您": "你",
    "(?<!…)…(?!…)": "……",
    f"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}": "a space between Chinese and Latin",
    f"{HAN} +{HAN}|[，。；：？！、（）“”] | [，。；：？！、（）]": "no space",
    f"{HAN}[,;:?!()]|[,;:?!)]{HAN}": "full-width punctuation",
}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def texts() -> dict[str, dict[str, str]]:
    """Return all that is written in both languages: catalogue, story, glossary, notes on models."""
    said = {f"story.step_{n}": dict(step.say) for n, step in enumerate(story.steps(), start=1)}
    said |= {f"story.chapter_{step.chapter}": dict(step.title) for step in story.steps()}
    noted = {
        f"presets.{key}": dict(preset.notes_in)
        for key, preset in PRESETS.items()
        if preset.notes_in
    }
    terms = {f"glossary.{name}": dict(entry["means"]) for name, entry in glossary.terms().items()}
    return catalogue() | said | noted | terms


def test_every_language_says_it_with_the_same_values():
    wrong = {
        key: entry
        for key, entry in texts().items()
        if set(entry) != set(LANGUAGES)
        or not all(text.strip() for text in entry.values())
        or len({frozenset(placeholders(text)) for text in entry.values()}) > 1
    }
    assert not wrong


def test_a_text_without_a_translation_is_said_in_english(monkeypatch):
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "zh"})
    monkeypatch.setattr("ui.words.text.catalogue", lambda: {"page.key": {"en": "{n} heads"}})
    assert t("page.key", n=3) == "3 heads"


def test_a_name_that_ends_with_a_chinese_bracket_has_no_space_behind_it(monkeypatch):
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "zh"})
    said = t("notation.line", variant="MLA（展开）", has=24, all=141, cached="c")
    assert said == "MLA（展开）用到 141 个符号中的 24 个，缓存的是 c"


def test_chinese_has_one_term_for_one_thing():
    wrong = {
        key: f"{found[0]!r} should be {right!r}"
        for pattern, right in TERMS.items()
        for key, entry in texts().items()
        if (found := re.search(pattern, re.sub(r"\{[^}]*\}", "{}", entry["zh"])))
    }
    assert not wrong


def test_every_symbol_is_translated():
    assert {f"symbols.{code}" for code in SYMBOLS} <= set(catalogue())


def test_every_key_in_the_code_is_in_the_catalogue_and_the_other_way_round():
    code = "\n".join(path.read_text("utf-8") for path in SOURCES)
    used = set(re.findall(r'\bt\(\s*"([a-z_]+\.[A-Za-z_]+)"', code))
    assert used <= set(catalogue())
    pieces = re.findall(r'\bt\(\s*f"([^"]+)"', code)
    patterns = [re.sub(r"\\\{.*?\\\}", ".+", re.escape(piece)) for piece in pieces]
    named = set(re.findall(r'"([a-z_]+\.[A-Za-z_]+)"', code))
    for key in set(catalogue()) - used - named:
        assert any(re.fullmatch(pattern, key) for pattern in patterns), f"{key} is never shown"


def test_readers_text_is_shown_as_typed():
    shown = safe("<b>*x* $y$ `z` :smile:")
    assert not set("<>*$`:") & set(shown.replace("&#", ""))
