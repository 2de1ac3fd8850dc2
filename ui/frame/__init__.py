"""The frame of every page: navigation, lecture mode, story, link, code.

Whoever imports it finds the rooms open.
"""

from ui.frame.rooms import open_all

open_all()
