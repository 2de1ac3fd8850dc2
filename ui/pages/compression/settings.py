"""The settings of the page compression."""

from ui.settings.parsers import Setting, flag, number, one_of, whole

SETTINGS = {
    # what a trained model's cache is cut to; 0 is what the trained MLA caches
    "cmp_size": Setting(0, whole(0, 2**16)),
    "cmp_rank": Setting(128, whole(0, 2**16)),
    "cmp_heads": Setting(4, whole(1, 128)),  # that share the latent
    # "auto" is a trained or real layer's own weights, else a falling spectrum; "own" ones of a
    # seeded layer are random
    "cmp_weights": Setting(
        "auto", one_of("auto", "own", "random", "spectrum"), follows=lambda _preset: "auto"
    ),
    "cmp_decay": Setting(1.0, number(0, 3)),
    "cmp_error": Setting("u", one_of("k", "v", "scores", "u")),
    "cmp_log": Setting(False, flag),
}
