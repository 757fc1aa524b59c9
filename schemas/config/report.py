"""Configuration of the reports for people."""

from typing import Literal

from schemas.config.section import Section

Language = Literal["en", "pt"]


def language_of(chosen: Language | None, source: str) -> Language:
    """Return the language of reports: the chosen one, or by where the prompts come from (`synthesize.source`)."""
    return chosen or ("en" if source == "simulated" else "pt")


class ReportConfig(Section):
    """Reports for people."""

    language: Language | None = None
    """Language of reports; English for simulated data, else Portuguese."""
