"""Attention maps: every head at a glance, one in full, and where each of its numbers comes from."""

from ui.frame import page
from ui.pages.attention_maps import PAGE, long, over_time, view, whole

with page.frame(PAGE) as frame:
    kind = long if view.is_long() else over_time if view.keeps_a_state() else whole
    frame.view = kind.scene()
