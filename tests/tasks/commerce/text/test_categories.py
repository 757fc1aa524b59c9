from tasks.commerce.text.portuguese import readable_category


def test_categories_read_as_portuguese() -> None:
    assert readable_category("beleza_saude") == "beleza e saúde"
    assert readable_category("livros_importados") == "livros importados"
    assert readable_category("perfumaria") == "perfumaria"
