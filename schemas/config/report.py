"""Configuration of the reports for people."""

from typing import Literal

from schemas.config.section import Section

Language = Literal["en", "pt"]


def language_of(chosen: Language | None, source: str) -> Language:
    """Return the language of reports: the chosen one, or by where the prompts come from (`synthesize.source`)."""
    return chosen or ("en" if source == "simulated" else "pt")


class ReportConfig(Section):
    """Pages and texts of evaluation, audit, monitoring and lineage."""

    language: Language | None = None
    """Language of pages, texts and figures, and of the gates' reasons: English, or Brazilian Portuguese (`pt`). Where
    not set, Portuguese for a shop's own data, and English where `synthesize.source` is `simulated`."""
