"""The settings of the page trained_heads."""

from ui.settings.parsers import Setting, one_of, whole

VARIANTS = ("mla", "mla_nope", "mha", "gqa", "mqa")
CUTS = ("head", "namesakes", "content", "rotary", "rank", "keys")
TEXTS = ("recall", "copy", "back", "agreement", "brackets")
FINISHED = -1
AUTO = "auto"  # the head that looks at the previous word most
ALONE = "alone"
HEADS = tuple(f"{layer}.{head}" for layer in range(8) for head in range(16))

SETTINGS = {
    "th_variant": Setting("mla", one_of(*VARIANTS), "segmented_control"),
    "th_beside": Setting(ALONE, one_of(ALONE, *VARIANTS), "segmented_control"),
    "th_step": Setting(FINISHED, whole(FINISHED, 10**6), "select_slider"),
    "th_head": Setting(AUTO, one_of(AUTO, *HEADS), "selectbox"),
    "th_text": Setting("recall", one_of(*TEXTS), "segmented_control"),
    "th_cut": Setting("head", one_of(*CUTS), "segmented_control"),
    "th_rank": Setting(4, whole(1, 4096), "slider"),
    "th_keys": Setting(2, whole(1, 64), "slider"),
}
