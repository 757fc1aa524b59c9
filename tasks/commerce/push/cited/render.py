"""Text of a push in phrases: what a customer reads, or why nothing is sent."""

from tasks.commerce.evidence.render import Rendered
from tasks.commerce.push.cited.checker import PushFault, fault_of, fill, read_campaign


def render(completion: str, prompt: str) -> Rendered:
    """Check an answer to a prompt and fill it in; nothing of one with a fault is shown."""
    campaign = read_campaign(prompt)
    fault = PushFault.CAMPAIGN if campaign is None else fault_of(completion, campaign)
    if campaign is None or fault:
        return Rendered(None, False, fault)
    return Rendered(fill(completion, campaign), True, None)
