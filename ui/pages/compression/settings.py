"""The settings of the page compression."""

from ui.settings.parsers import Setting, flag, number, one_of, whole

SETTINGS = {
    "cmp_rank": Setting(128, whole(0, 2**16)),
    "cmp_heads": Setting(4, whole(1, 128)),  # that share the latent
    # "auto" is a real layer's own weights or else a falling spectrum; "own" ones of a seeded layer
    # are random
    "cmp_weights": Setting("auto", one_of("auto", "own", "random", "spectrum")),
    "cmp_decay": Setting(1.0, number(0, 3)),
    "cmp_error": Setting("u", one_of("k", "v", "scores", "u")),
    "cmp_log": Setting(False, flag),
}
