"""worked_example."""

from ui import page

page.setup("worked_example")
page.footer("worked_example")
