"""The settings of the page."""

from itertools import chain

from ui.settings.parsers import Setting, flag, one_of

MATRICES = {  # by the mechanism of a layer
    "latent": ("W_QK", "W_UK", "W_UV"),
    "pooled": ("W_UQ", "W_DO", "W_VO"),
    "delta": ("W_Q", "W_K", "W_V", "W_O", "W_A"),
}
SETTINGS = {
    "real_matrix": Setting(
        "W_QK", one_of(*chain(*MATRICES.values())), "segmented_control", write=str
    ),
    "real_layers": Setting(False, flag),  # whether all layers are compared
}
