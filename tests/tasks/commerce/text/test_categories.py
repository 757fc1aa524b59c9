from tasks.commerce.text.categories import readable_category, things_of


def test_categories_read_as_portuguese() -> None:
    assert readable_category("beleza_saude") == "beleza e saúde"
    assert readable_category("livros_importados") == "livros importados"
    assert readable_category("perfumaria") == "perfumaria"


def test_things_of_a_category_are_what_shoppers_look_for() -> None:
    assert "bonecas" in things_of("brinquedos")
    assert things_of("la_cuisine") == ()
