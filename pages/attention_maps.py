"""attention_maps."""

from ui import page

page.setup("attention_maps")
page.footer("attention_maps")
