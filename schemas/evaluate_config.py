"""The configuration of evaluation and promotion: who answers the test split, what counts, and what it costs."""

import re
from typing import Self

from pydantic import Field, field_validator, model_validator

from schemas.endpoint_section import EndpointSection
from schemas.section import Section


class RivalConfig(EndpointSection):
    """A model at an endpoint that answers the test split too, such as a large general one.

    The test prompts, scrubbed of personal data, are sent to it; where they must not leave the house, the endpoint is
    one of its own.
    """

    price_input: float = Field(default=0.0, ge=0)
    """Its price in US dollars for a million tokens that it reads."""
    price_output: float = Field(default=0.0, ge=0)
    """Its price in US dollars for a million tokens that it writes."""


class JudgeConfig(EndpointSection):
    """A model at an endpoint that says which of two insights is the better one; it decides nothing."""

    prompts: int = Field(default=40, ge=2)
    """Test prompts, drawn at random where there are more, whose answers it compares, in both orders."""
    checked_pairs: int = Field(default=40, ge=2)
    """Pairs of completions of the audit that people scored differently, by which its agreement with people is known."""


class CostConfig(Section):
    """What an analysis costs."""

    price_per_hour: float = Field(default=0.8, ge=0)
    """Price in US dollars of an hour of the machine that serves the model."""
    api_price_per_analysis: float = Field(default=0.01, ge=0)
    """Price in US dollars of an analysis by an API, which the break-even is against; the final report's figure."""

    @property
    def price_per_day(self) -> float:
        """Price in US dollars of a day of the machine, paid whether there is work or not."""
        return self.price_per_hour * 24

    @property
    def break_even(self) -> float | None:
        """Analyses a day by the API that cost what the machine costs all day; None where the API costs nothing.

        The source project's 100 a day, from the same prices of an analysis, are no such figure: a GPU at 0.50 dollars
        an hour breaks even at 1,200. Whether the machine can answer so many is for the caller to say.
        """
        return self.price_per_day / self.api_price_per_analysis if self.api_price_per_analysis else None


class EvaluateConfig(Section):
    """Base, champion and challenger on the test split."""

    temperature: float = Field(default=0.1, gt=0)
    """Sampling temperature of the answers, the same for every model."""
    samples: int = Field(default=1, ge=1, le=64)
    """Answers of each model to each prompt."""
    batch_size: int = Field(default=48, ge=1)
    """Prompts answered at once."""
    margin: float = Field(default=0.05, ge=1e-4, lt=1)
    """Non-inferiority margin, in reward."""
    resamples: int = Field(default=10_000, ge=1000, le=1_000_000)
    """Bootstrap and permutation resamples."""
    against_champion: bool = True
    """Compare with the registry's champion too, where there is one: a challenger that is worse is held."""
    rival: RivalConfig | None = None
    """A model at an endpoint that is compared too, and decides nothing; none where not set."""
    judge: JudgeConfig | None = None
    """Who judges insights beside the rewards; nobody where not set."""
    cost: CostConfig = CostConfig()
    """Prices, by which the report says what an analysis costs."""


class PromoteConfig(Section):
    """The registered model."""

    model_name: str = Field(default="tucano2-commerce", pattern=r"^[\w.-]+$")
    """Name in MLflow's registry."""
    alias: str = Field(default="champion", pattern=r"^[\w.-]+$")
    """The alias that moves when the gate says so."""
    previous_alias: str = Field(default="previous", pattern=r"^[\w.-]+$")
    """The alias of the version that held it before, which a rollback gives it back to."""

    @field_validator("alias", "previous_alias")
    @classmethod
    def _alias_is_no_version(cls, alias: str) -> str:
        if alias.lower() == "latest" or re.fullmatch(r"[vV]\d+", alias):
            raise ValueError(f"{alias!r} is what MLflow calls versions by themselves; choose another alias")
        return alias

    @model_validator(mode="after")
    def _aliases_differ(self) -> Self:
        if self.alias == self.previous_alias:
            raise ValueError(f"alias and previous_alias are both {self.alias!r}, so that nothing could be rolled back")
        return self
