"""Configuration of remote work and machine prices."""

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from schemas.config.section import Section

INFERENCE_DEPLOYMENT: Final = "inference/inference"
"""The deployment of prefect.yaml that runs inference for runs whose training is remote."""


class MachinePrice(Section):
    """Prices of an hour of one machine, in US dollars."""

    on_demand: float = Field(ge=0)
    """Price without preemption."""
    spot: float | None = Field(default=None, ge=0)
    """Price with preemption; the same."""

    def per_hour(self, *, spot: bool) -> float:
        """Return the price of an hour of a Spot machine, or of one on demand."""
        return self.spot if spot and self.spot is not None else self.on_demand


def price_per_hour(prices: Mapping[str, MachinePrice], device: str | None, *, spot: bool, otherwise: float) -> float:
    """Return the hourly price in US dollars of the machine with a device; `otherwise` where it has no price."""
    price = prices.get(device) if device is not None else None
    return otherwise if price is None else price.per_hour(spot=spot)


class WorkersConfig(Section):
    """Deployments that run work on other machines."""

    training: str | None = Field(default=None, pattern=r"^[^/]+/[^/]+$")
    """Prefect deployment that trains, as FLOW/DEPLOYMENT; this run."""
    inference: str | None = Field(default=None, pattern=r"^[^/]+/[^/]+$")
    """Deployment for other work with weights; `inference/inference` if training is remote."""
    concurrent_children: int = Field(default=1, ge=1)
    """Child processes of this run at once."""
    prices: dict[str, MachinePrice] = Field(default_factory=dict)
    """Prices by device, as torch calls it, or `cpu`."""
    reais_per_dollar: float | None = Field(default=None, gt=0)
    """Reais of a US dollar, by which costs are shown too."""

    @property
    def for_inference(self) -> str | None:
        """The deployment that runs work with weights other than training; None: the run itself does."""
        return self.inference or (INFERENCE_DEPLOYMENT if self.training else None)
