"""Questions of `tucano audit references`, in Portuguese: what is asked of each field, and the value of each key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

UNKNOWN_KEY: Final = "d"
WRITE_KEY: Final = "e"


@dataclass(frozen=True)
class FieldQuestion:
    """The wording of a question, and its answers."""

    text: str
    choices: Mapping[str, tuple[str, Any]]
    """Wording and value, by key."""
    written: bool = False
    """Whether the answer may also be written in words."""

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Return the keys of the answers with their wording."""
        write = ((WRITE_KEY, "escreve"),) if self.written else ()
        choices = tuple((key, wording) for key, (wording, _) in self.choices.items())
        return *write, *choices, (UNKNOWN_KEY, "não se sabe")


_MOODS: Final = {"1": ("negativo", "negative"), "2": ("neutro", "neutral"), "3": ("positivo", "positive")}
_STARS: Final = {str(stars): ("estrela" if stars == 1 else "estrelas", stars) for stars in range(1, 6)}
_YES_OR_NO: Final = {"s": ("sim", True), "n": ("não", False)}
_FIFTHS: Final = {
    "1": ("até 20%", 0.1),
    "2": ("20 a 40%", 0.3),
    "3": ("40 a 60%", 0.5),
    "4": ("60 a 80%", 0.7),
    "5": ("mais de 80%", 0.9),
}
_CATEGORIES: Final = {
    "1": ("entrega", "delivery"),
    "2": ("produto", "product"),
    "3": ("vendedor", "seller"),
    "4": ("preço", "price"),
    "5": ("outra", "other"),
    "0": ("nenhuma", "none"),
}
_MOOD: Final = FieldQuestion("Qual é o sentimento do cliente?", _MOODS)
_RATING: Final = FieldQuestion("Que nota o cliente daria, pelo que escreveu?", _STARS)

QUESTIONS: Final[Mapping[str, FieldQuestion]] = {
    "polarity": _MOOD,
    "score": _RATING,
    "sentiment": _MOOD,
    "sentiment_score": _RATING,
    "churn_risk": FieldQuestion("Qual é o risco de o cliente não voltar a comprar?", _FIFTHS),
    "delivery_issue": FieldQuestion("O cliente reclama da entrega?", _YES_OR_NO),
    "product_issue": FieldQuestion("O cliente reclama do produto?", _YES_OR_NO),
    "seller_issue": FieldQuestion("O cliente reclama do vendedor?", _YES_OR_NO),
    "main_complaint": FieldQuestion(
        "Qual é a queixa principal, em poucas palavras?", {"0": ("nenhuma queixa", "")}, written=True
    ),
    "complaint_category": FieldQuestion("A que se refere a queixa principal?", _CATEGORIES),
    "repeat_intent": FieldQuestion("O cliente pretende comprar de novo?", _YES_OR_NO),
    "would_recommend": FieldQuestion("O cliente recomendaria a compra?", _YES_OR_NO),
}
"""By the field's name in the reference."""
