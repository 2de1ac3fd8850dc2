"""Five sentences for the app's own real model, each beside a head that shows one kind of look."""

from ui.parts.examples import OF_HEADS, of_head

CODE = "def area(width, height):\n    size = width * height\n    return size * width * height"
EXAMPLES = OF_HEADS | {"code": of_head(CODE, 5, 6, 12, 5)}
