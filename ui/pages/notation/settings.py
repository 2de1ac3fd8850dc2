"""The settings of the page notation."""

from ui.settings.parsers import Setting, one_of, words

AUTO = "auto"  # all symbols, or those of another variant than MLA

SETTINGS = {
    "notation_search": Setting("", words(60)),
    "notation_of": Setting(AUTO, one_of(AUTO, "all", "present", "cached")),
}
