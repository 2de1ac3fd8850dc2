"""The settings of the page notation."""

from ui.settings.parsers import Setting, one_of, words

SETTINGS = {
    "notation_search": Setting("", words(60)),
    "notation_of": Setting("all", one_of("all", "present", "cached")),
}
