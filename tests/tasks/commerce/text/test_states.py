import pytest

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese import StateCode
from tasks.synthesize.market import STATES


@pytest.mark.parametrize(
    ("code", "of", "at", "to"),
    [
        ("RJ", "do RJ", "no RJ", "para o RJ"),
        ("BA", "da BA", "na BA", "para a BA"),
        ("SP", "de SP", "em SP", "para SP"),
        ("PB", "da PB", "na PB", "para a PB"),
        ("MT", "de MT", "em MT", "para MT"),
        ("XX", "de XX", "em XX", "para XX"),
    ],
)
def test_a_state_has_its_article(code: str, of: str, at: str, to: str) -> None:
    state = StateCode(code)
    assert (f"{state:de}", f"{state:em}", f"{state:para}", f"{state}") == (of, at, to, code)


def test_two_states_are_feminine_and_every_state_is_known() -> None:
    codes = {line.partition(" = ")[0] for line in read_lexicon("states")}
    assert codes == {state.code for state in STATES}
    assert {code for code in codes if f"{StateCode(code):de}".startswith("da ")} == {"BA", "PB"}
    assert {code for code in codes if f"{StateCode(code):de}".startswith("de ")} == {
        *("AL", "GO", "MG", "MS", "MT", "PE", "RO", "RR", "SC", "SE", "SP")
    }
