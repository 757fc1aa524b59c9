from schemas.config.page import PAGE_FILE, config_page


def test_the_page_is_what_the_configuration_says() -> None:
    assert PAGE_FILE.read_text(encoding="utf-8") == config_page(), "run python -m schemas.config.page"
