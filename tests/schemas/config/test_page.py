import re

from schemas.config.config import Config
from schemas.config.page import PAGE_FILE, config_page


def test_the_page_is_what_the_configuration_says() -> None:
    assert PAGE_FILE.read_text(encoding="utf-8") == config_page(), "run python -m schemas.config.page"


def test_every_field_and_section_is_on_it() -> None:
    page = config_page()
    headings = set(re.findall(r"^##+ ([\w.\[\]]+)$", page, re.MULTILINE))
    assert {name for name in Config.model_fields if name != "seed"} <= headings
    for section, declared in Config.model_json_schema()["$defs"].items():
        for field in declared.get("properties", {}):
            nested = any(re.search(rf"\.{field}(?:\[\]|\.NAME)?$", heading) for heading in headings)
            assert f"- `{field}` (" in page or nested, f"{section}.{field}"
