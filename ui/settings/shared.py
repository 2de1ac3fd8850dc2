"""The settings that hold on every page, and the languages of the app."""

from mla_engine import mechanisms
from ui.settings import parsers
from ui.settings.parsers import (
    TRAINED,
    Setting,
    flag,
    known,
    one_of,
    panel,
    preset,
    room,
    whole,
    words,
)

LANGUAGES = {"en": "English", "zh": "中文"}
TAGS = {"en": "en", "zh": "zh-CN"}  # by which browsers choose a font, screen readers a voice
VARIANTS = mechanisms.offered()


def _size(name: str, default: int) -> Setting:
    parse, label = parsers.SIZES[name], f"common.{name}"
    return Setting(default, parse, "select_slider", label, another_model=True)


# Sizes as DeepSeek-V2-Lite has them: real, and all heads run on a laptop. d_latent_q 0 is none.
PUBLISHED = "deepseek-v2-lite"
SHARED = {
    "lang": Setting(
        "en", one_of(*LANGUAGES), "segmented_control", "common.language", write=LANGUAGES.get
    ),
    # Of the trained models: on a page of only sizes those below stand for them.
    "preset": Setting(TRAINED, preset, "selectbox", "common.preset", another_model=True),
    "variant": Setting("mla", one_of(*VARIANTS), "selectbox", another_model=True),
    "d_model": _size("d_model", 2048),
    "n_heads": _size("n_heads", 16),
    "n_kv_heads": _size("n_kv_heads", 8),
    "d_head": _size("d_head", 128),
    "d_value": _size("d_value", 128),
    "d_latent_kv": _size("d_latent_kv", 512),
    "d_latent_q": _size("d_latent_q", 0),
    "d_rope": _size("d_rope", 64),
    "seed": Setting(0, whole(0, 9999), "number_input", "attention_maps.seed", another_model=True),
    # A step of the story, which is told of the made-up language; 0 is none.
    "stop": Setting(0, whole(0, 99), another_model=True),
    "panel": Setting("", panel),  # of a page, alone; a whole page without
    "lecture": Setting(False, flag, personal=True),
    "room": Setting("", room, personal=True),  # the class that the reader is in
    # A page's question comes before its answer, and does not wait to be asked for.
    "ask": Setting(False, flag, "toggle", "guess.ask"),
    # The sentence that the trained models read, and the layer that is shown.
    "sentence": Setting("", known, "text_area", another_model=True),
    "trained_layer": Setting(
        1, whole(0, 1), "segmented_control", "reader.layer", another_model=True
    ),
    # They read, also where a page opens with the app's own real model.
    "made_up": Setting(False, flag, another_model=True),
    # A real model's layer in the place of seeded weights; an empty source is none.
    "source": Setting("", words(200), "text_input", "checkpoint.location", another_model=True),
    "revision": Setting("", words(100), "text_input", "checkpoint.revision"),
    "layer": Setting(0, whole(0, 999), "selectbox"),
    "text": Setting("", words(2000), "text_area", "checkpoint.text"),
    "activations": Setting("", words(200), "text_input", "checkpoint.activations"),
    # What is shown at the page's foot.
    "code": Setting(
        "none", one_of("none", "source", "snippet"), "segmented_control", "code.behind"
    ),
}
SIZES = tuple(parsers.SIZES)
CARRIED = "lecture", "room", "ask"  # what is the reader's own goes along wherever a way leads
TRAINED_TEXT = ("sentence", "trained_layer", "made_up")
CHECKPOINT = ("source", "revision", "layer", "text", "activations")
