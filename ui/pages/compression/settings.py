"""The settings of the page compression."""

from ui.settings.parsers import Setting, flag, number, one_of, whole

SETTINGS = {
    "cmp_rank": Setting(128, whole(0, 2**16)),
    "cmp_heads": Setting(4, whole(1, 128)),  # that share the latent
    # "own" is a real model's; the own weights of a seeded layer are random
    "cmp_weights": Setting("own", one_of("own", "random", "spectrum")),
    "cmp_decay": Setting(1.0, number(0, 3)),
    "cmp_error": Setting("u", one_of("k", "v", "scores", "u")),
    "cmp_log": Setting(False, flag),
}
