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
    """Price of an hour without preemption."""
    spot: float | None = Field(default=None, ge=0)
    """Price of an hour of a machine that may be preempted; where not set, the price on demand."""

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
    """The Prefect deployment that trains, as FLOW/DEPLOYMENT, such as `training/train`; where not set, the run trains
    by itself. Its machine reads and writes artifacts in `state.artifacts`."""
    inference: str | None = Field(default=None, pattern=r"^[^/]+/[^/]+$")
    """The Prefect deployment that runs the other work with weights, as FLOW/DEPLOYMENT: warm start, completions for
    people to score, answers and merge. Where not set, `inference/inference` if training is remote, so that the same
    pool of GPU machines does it, and otherwise the run itself."""
    concurrent_children: int = Field(default=1, ge=1)
    """Child processes of this run at once: trainings of several seeds or tasks, what the evaluation's rungs need beside
    them, and answers. On a CPU each then computes with one thread; a GPU's memory must have room for all."""
    prices: dict[str, MachinePrice] = Field(default_factory=dict)
    """Prices of the machines, by device as torch calls it, such as `NVIDIA L4`, or `cpu`."""
    reais_per_dollar: float | None = Field(default=None, gt=0)
    """Brazilian reais of a US dollar, by which costs are shown in reais too; in dollars only where not set. Another
    rate makes the reports with costs again, and nothing else."""

    @property
    def for_inference(self) -> str | None:
        """The deployment that runs work with weights other than training; None: the run itself does."""
        return self.inference or (INFERENCE_DEPLOYMENT if self.training else None)
