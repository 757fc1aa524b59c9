"""Configuration of the reports for people."""

from typing import Literal

from schemas.config.section import Section

Language = Literal["en", "pt"]


class ReportConfig(Section):
    """Pages and texts of evaluation, audit, monitoring and lineage."""

    language: Language | None = None
    """Language of pages, texts and figures, and of the gates' reasons: English, or Brazilian Portuguese (`pt`). Where
    not set, Portuguese for a shop's own data, and English where `synthesize.source` is `simulated`."""
