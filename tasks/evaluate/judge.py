"""A language model says which of two insights is the better one: beside the rewards, and with no say in the gate."""

from dataclasses import dataclass


@dataclass(frozen=True)
class JudgeReport:
    """What the judge said, and how far it may be believed."""

    model: str
    """The judge, by the name that its endpoint knows it by."""
    prompts: int
    """Test prompts that it compared."""
    tuned_wins: int
    """Prompts on which it preferred the tuned model's answer in both orders."""
    base_wins: int
    """Prompts on which it preferred the base's answer in both orders."""
    ties: int
    """Prompts on which it called a tie, or its preference followed the order in which it read."""
    order_flips: int
    """Of the ties, those in which the preference followed the order."""
    unread: int
    """Prompts on which an answer of the judge could not be read."""
    checked_pairs: int
    """Pairs of audited completions, scored differently by people, that it was checked by."""
    agreement: float | None
    """Share of them on which it preferred, in both orders, what people scored higher; None where there were none."""
    agreement_low: float | None
    """Lower end of the share's 95 % interval (Wilson)."""
    agreement_high: float | None
    """Upper end of it."""
    raters: str
    """Who scored those pairs: the kinds of raters, such as `human` or `rubric`."""
