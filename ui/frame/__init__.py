"""The frame of every page: navigation, lecture mode, story, link, code.

Whoever imports it finds the pages open.
"""

from ui.frame.pages import open_all

open_all()
