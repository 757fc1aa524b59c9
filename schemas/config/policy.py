"""Configuration of the base model and of its supervised warm start."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from schemas.config.section import Section
from schemas.config.train_sections import LoraSection

WRITTEN_BY_THE_RENDERER = {"messages", "add_generation_prompt", "tools", "documents"}
"""Variables of a chat template that are the conversation itself."""


class PolicyConfig(Section):
    """The model that is trained."""

    stand_in: bool = False
    """Load the laptop's shipped stand-in instead of `name`."""
    name: str = "Polygl0t/Tucano2-qwen-0.5B-Instruct"
    """The base model, by hub name or folder."""
    revision: str | None = Field(default=None, min_length=1)
    """Commit, tag or branch on the hub; the newest."""
    chat_template: Literal["chatml"] | Path | None = None
    """A Jinja file, or `chatml`; the model's own."""
    chat_template_kwargs: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Fixed variables of the template, such as `{ enable_thinking = false }`."""

    @model_validator(mode="after")
    def _the_stand_in_has_its_own(self) -> "PolicyConfig":
        of_a_name = ("revision", "chat_template", "chat_template_kwargs")
        given = next((name for name in of_a_name if getattr(self, name)), None)
        if self.stand_in and given:
            raise ValueError(
                f"{given} is of a model by name, and the stand-in is shipped with a chat template of its own; "
                "leave it out, or set stand_in=false"
            )
        return self

    @field_validator("chat_template_kwargs")
    @classmethod
    def _are_variables(cls, variables: dict[str, bool | int | float | str]) -> dict[str, bool | int | float | str]:
        for name in variables:
            if not name.isidentifier() or name in WRITTEN_BY_THE_RENDERER:
                raise ValueError(f"chat_template_kwargs.{name} is no variable that a template can be given; remove it")
        return variables


class WarmStartConfig(Section):
    """Supervised fine-tuning on reference answers before GRPO."""

    steps: int = Field(default=300, ge=0)
    """Optimizer steps; 0 leaves the model as published."""
    batch_size: int = Field(default=32, ge=1)
    """Demonstrations a step."""
    accumulation: int = Field(default=1, ge=1)
    """Forward passes a step."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate; a hub model needs a tenth of it."""
    lora: LoraSection = LoraSection()
    """Size of the adapter."""
    load_in_4bit: bool = False
    """Quantize the model while the adapter learns (QLoRA, 2305.14314)."""

    @model_validator(mode="after")
    def _parts_are_whole(self) -> "WarmStartConfig":
        if self.batch_size % self.accumulation:
            raise ValueError(
                f"accumulation {self.accumulation} does not divide batch_size {self.batch_size}; set one that does"
            )
        return self
