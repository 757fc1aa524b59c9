import re
from pathlib import Path

from schemas.config.config import Config
from schemas.config.json_schema import config_schema
from schemas.config.page import PAGE_FILE, config_page, write_page


def test_the_page_is_what_the_configuration_says(tmp_path: Path) -> None:
    write_page(tmp_path / "page.md")
    assert PAGE_FILE.read_bytes() == (tmp_path / "page.md").read_bytes(), "run python -m schemas.config.page"


def test_every_field_and_section_is_on_it() -> None:
    page = config_page()
    headings = set(re.findall(r"^##+ ([\w.\[\]]+)$", page, re.MULTILINE))
    assert {name for name in Config.model_fields if name != "seed"} <= headings
    for section, declared in config_schema()["$defs"].items():
        for field in declared.get("properties", {}):
            nested = any(re.search(rf"\.{field}(?:\[\]|\.NAME)?$", heading) for heading in headings)
            assert f"- `{field}` (" in page or nested, f"{section}.{field}"
