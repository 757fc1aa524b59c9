"""The data of reasons is whole: each value of a line is in one band, and a band that points is said."""

from tasks.commerce.churn.profile import phrases
from tasks.commerce.churn.render import PLURAL


def test_bands_rise_to_one_without_an_end_and_those_that_point_have_phrases_and_a_weight() -> None:
    for field in phrases().campos:
        *ends, last = [band.ate for band in field.faixas]
        known = [end for end in ends if end is not None]
        assert last is None, field.nome
        assert len(known) == len(ends), field.nome
        assert known == sorted(set(known)), field.nome
        for band in field.faixas:
            assert len({band.aponta is None, not band.peso, not band.frases}) == 1, field.nome
            for phrase in band.frases:
                assert "{" not in PLURAL.sub("", phrase).format(valor="1")


def test_sentences_have_no_slot_that_nothing_fills() -> None:
    for text in phrases().texto.values():
        assert "{" not in text.format(conclusao="", motivos="")
