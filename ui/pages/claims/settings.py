"""The settings of the page claims."""

from ui.settings.parsers import Setting, one_of, words

SETTINGS = {
    "claims_verdict": Setting(
        "all", one_of("all", "holds", "fails", "imprecise", "depends", "not_decidable")
    ),
    "claims_source": Setting("all", one_of("all", "N", "T", "S", "P", "C")),
    "claims_text": Setting("", words(60)),
}
