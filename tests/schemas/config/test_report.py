"""The language of the reports: the shop's own where its data are, unless one is set."""

import re

import pytest

from schemas.config.profiles import load_config
from schemas.errors import InputError

OLIST = ("synthesize.source=olist", "synthesize.olist_dir=somewhere")


@pytest.mark.parametrize(
    ("overrides", "language"),
    [
        ((), "en"),
        (OLIST, "pt"),
        (("report.language=pt",), "pt"),
        ((*OLIST, "report.language=en"), "en"),
    ],
)
def test_reports_of_a_shops_own_data_are_in_portuguese_unless_told_otherwise(
    overrides: tuple[str, ...], language: str
) -> None:
    assert load_config("local", overrides).language == language


def test_the_setting_of_before_is_refused_by_the_name_of_the_new_one() -> None:
    said = "profile 'local': evaluate: language is that of all reports now; set report.language instead"
    with pytest.raises(InputError, match=re.escape(said)):
        load_config("local", ["evaluate.language=pt"])
