"""The settings of the page decode."""

from ui.settings.parsers import Setting, one_of, power_of_two, whole

SETTINGS = {
    "dec_step": Setting(4, whole(1, 32)),
    "dec_prompt": Setting(8, power_of_two(1, 2**10), "select_slider"),
    # Heads to run; 0 is as many as take a moment.
    "dec_heads": Setting(0, whole(0, 128), "select_slider"),
    "dec_speed": Setting("normal", one_of("slow", "normal", "fast"), "segmented_control"),
}
