"""The settings that hold on every page, and the languages of the app."""

from mla_engine import mechanisms
from ui.settings import parsers
from ui.settings.parsers import TRAINED, Setting, flag, known, one_of, preset, room, whole, words

LANGUAGES = {"en": "English", "zh": "中文"}
VARIANTS = mechanisms.offered()

# Sizes as DeepSeek-V2-Lite has them: real, and all heads run on a laptop. d_latent_q 0 is none.
PUBLISHED = "deepseek-v2-lite"
SHARED = {
    "lang": Setting("en", one_of(*LANGUAGES)),
    "preset": Setting(TRAINED, preset),  # on a page of sizes alone: those below
    "variant": Setting("mla", one_of(*VARIANTS)),
    "d_model": Setting(2048, parsers.SIZES["d_model"]),
    "n_heads": Setting(16, parsers.SIZES["n_heads"]),
    "n_kv_heads": Setting(8, parsers.SIZES["n_kv_heads"]),
    "d_head": Setting(128, parsers.SIZES["d_head"]),
    "d_value": Setting(128, parsers.SIZES["d_value"]),
    "d_latent_kv": Setting(512, parsers.SIZES["d_latent_kv"]),
    "d_latent_q": Setting(0, parsers.SIZES["d_latent_q"]),
    "d_rope": Setting(64, parsers.SIZES["d_rope"]),
    "seed": Setting(0, whole(0, 9999)),
    "stop": Setting(0, whole(0, 99)),  # a step of the story; 0 is none
    "lecture": Setting(False, flag, personal=True),
    "room": Setting("", room, personal=True),  # the class that the reader is in
    # What the trained models read, and which of their layers is shown.
    "sentence": Setting("", known),
    "trained_layer": Setting(1, whole(0, 1)),
    # A real model's layer in the place of seeded weights; an empty source is none.
    "source": Setting("", words(200)),
    "revision": Setting("", words(100)),
    "layer": Setting(0, whole(0, 999)),
    "text": Setting("", words(2000)),
    "activations": Setting("", words(200)),
    "code": Setting("none", one_of("none", "source", "snippet")),  # shown at the page's foot
}
SIZES = tuple(parsers.SIZES)
CARRIED = "lecture", "room"  # what is the reader's own goes along wherever a way leads
TRAINED_LAYER = ("sentence", "trained_layer")
REAL_LAYER = ("source", "revision", "layer", "text", "activations")
