"""Grammar of the answers on a profile, in the Lark notation of llguidance: a field leads to the value that it has.

So only the risk, the choice of fields and their directions can be wrong. The answer follows from the risk.
"""

from typing import Final

from tasks.commerce.churn.profile import MOST, CustomerProfile
from tasks.commerce.insights.grammar import literal

_FORM: Final = rf"""
start: "{{\"risk_score\":0." (stays | leaves) ",\"reasons\":[" reason ("," reason){{0,{MOST - 1}}} "]}}"
stays: /[1-4]/ ",\"churn\":false"
leaves: /[6-9]/ ",\"churn\":true"
reason: "{{\"campo\":" cited ",\"aponta\":" ("\"sai\"" | "\"fica\"") "}}"
"""


def reasons_grammar(profile: CustomerProfile) -> str:
    """Return the grammar of an answer's form on a profile: compact JSON with its keys in one order."""
    cited = " | ".join(f'{literal(name)} ",\\"valor\\":" {literal(value)}' for name, value in profile.texts.items())
    return f"{_FORM.strip()}\ncited: {cited}"
