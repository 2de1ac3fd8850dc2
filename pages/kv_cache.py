"""kv_cache."""

from ui import page

page.setup("kv_cache")
page.footer("kv_cache")
