"""Overview: what MLA is for, what flows through it, and what it saves at the chosen sizes."""

from ui import page

page.setup("overview")
page.title("MLA", "")
page.footer("overview")
