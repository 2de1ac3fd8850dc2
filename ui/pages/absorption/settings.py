"""The settings of the page absorption."""

from ui.settings.parsers import Setting, number, one_of, power_of_two, whole

SETTINGS = {
    "ab_side": Setting("scores", one_of("scores", "output")),
    "ab_order": Setting("absorbed", one_of("absorbed", "expanded")),
    "ab_queries": Setting(1, power_of_two(1, 2**12)),
    "ab_context": Setting(2**12, power_of_two(2**4, 2**20)),
    "ab_head": Setting(0, whole(0, 127)),
    "ab_matrix": Setting("W_QK", one_of("W_QK", "W_VO")),
    "ab_type": Setting("bfloat16", one_of("float64", "float32", "bfloat16")),
    "ab_gain": Setting(2.0, number(0.25, 4)),  # length of the last word's h
}
