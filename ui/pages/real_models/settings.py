"""The settings of the page."""

from ui.settings.parsers import Setting, flag, one_of

MATRICES = ("W_QK", "W_UK", "W_UV")
SETTINGS = {
    "real_matrix": Setting("W_QK", one_of(*MATRICES)),
    "real_layers": Setting(False, flag),  # whether all layers are compared
}
