"""Inputs of push: a product, an offer, and whom it is for."""

from pydantic import Field

from tasks.commerce.inputs import Name, TaskInputs


class PushInputs(TaskInputs):
    """Inputs of one push notification."""

    product: Name = Field(description="The product or group of products, such as `fone de ouvido`")
    offer: Name = Field(description="The offer, such as `20% de desconto`")
    segment: Name = Field(description="Whom it is for, such as `clientes que não compram há 60 dias`")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return push_prompt(instruction, self.product, self.offer, self.segment)


def push_prompt(instruction: str, product: str, offer: str, segment: str) -> str:
    """Return the prompt for an offer; each text has one line."""
    return f"{instruction}\nProduto: {product}\nOferta: {offer}\nPúblico: {segment}"
