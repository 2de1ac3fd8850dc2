"""The settings of the page real_models."""

from ui.settings.parsers import Setting, flag, one_of

SETTINGS = {
    "real_matrix": Setting("W_QK", one_of("W_QK", "W_UK", "W_UV")),
    "real_layers": Setting(False, flag),  # whether all layers are compared
}
