"""Inputs of churn: what a shop knows of one shopper."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from tasks.commerce.inputs import Name, TaskInputs
from tasks.commerce.text.portuguese_numbers import decimal, read_number, reais

Count = Annotated[int, Field(ge=0, le=100_000)]
Reais = Annotated[float, Field(ge=0, le=1e9), BeforeValidator(read_number)]
Stars = Annotated[float, Field(ge=1, le=5), BeforeValidator(read_number)]


class ChurnInputs(TaskInputs):
    """Inputs of one shopper's risk."""

    state: Annotated[str, Field(pattern="^[A-Z]{2}$")] = Field(description="The shopper's state, such as SP")
    orders: Annotated[int, Field(ge=1, le=100_000)] = Field(description="Number of orders")
    category: Name | None = Field(default=None, description="Category of most of the items, such as `beleza e saúde`")
    spent: Reais = Field(description="Money spent in all, in reais")
    instalments: Annotated[int, Field(ge=1, le=100)] = Field(
        default=1, description="Instalments of the payment with the most"
    )
    silent_days: Count = Field(description="Days since the last purchase")
    last_rating: Stars | None = Field(default=None, description="Stars of the newest review")
    mean_rating: Stars | None = Field(default=None, description="Mean of all stars")
    late: Count = Field(default=0, description="Number of late deliveries")
    undelivered: Count = Field(default=0, description="Number of orders that did not arrive")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        lines = [
            instruction,
            f"Estado: {self.state}",
            f"Pedidos: {self.orders}",
            f"Categoria favorita: {self.category or 'desconhecida'}",
            f"Total gasto: {reais(self.spent)}",
            f"Máximo de parcelas: {self.instalments}",
            f"Dias desde a última compra: {self.silent_days}",
            f"Última nota: {_rating(self.last_rating, 0)}",
            f"Nota média: {_rating(self.mean_rating, 1)}",
            f"Entregas com atraso: {self.late}",
            f"Pedidos não entregues: {self.undelivered}",
        ]
        return "\n".join(lines)


def _rating(rating: float | None, places: int) -> str:
    return "sem avaliação" if rating is None else decimal(rating, places)
