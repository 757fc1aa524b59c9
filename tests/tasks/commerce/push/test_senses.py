from tasks.commerce.push.campaigns import things_of
from tasks.commerce.push.senses import NO_SENSE, address_of, line_of, product_stems, sense_of
from tasks.commerce.text.categories import readable_category
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import stem


def test_every_thing_that_campaigns_sell_has_a_sense() -> None:
    categories = [line.partition("=")[0].strip() for line in read_lexicon("categories")]
    for category in categories:
        for thing in (*things_of(category), readable_category(category)):
            if category in ("la_cuisine", "market_place") or things_of(category) != [readable_category(category)]:
                assert line_of(thing) != NO_SENSE, thing


def test_a_sense_fits_its_product_and_no_other() -> None:
    assert "criancada" in sense_of("bonecas")
    assert "criancada" not in sense_of("pneus")
    assert sense_of("bonecas") < sense_of("uma coisa que ninguém vende")


def test_a_category_names_its_things() -> None:
    assert "cadernos" in sense_of("papelaria")
    assert "cadernos" not in sense_of("bonecas")


def test_an_audience_is_addressed_by_its_lines_parts() -> None:
    assert {"saudade", "bahia", "baiano"} <= address_of("clientes da BA sem compra há 30 dias")
    assert "saudade" not in address_of("clientes da BA")
    assert address_of("todos") == frozenset()


def test_things_are_known_in_singular_and_plural() -> None:
    assert {stem("ventilador"), stem("ventiladores"), stem("livro")} <= product_stems()
    assert stem("kits") not in product_stems()
