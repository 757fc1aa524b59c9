"""Grammar of the answers on a profile, in the Lark notation of llguidance: no reason can be false, only chosen.

A field leads to the value that it has, and the value to the way that it points. The answer follows from the risk.
Reasons may still say one thing twice, since a grammar without memory cannot know.
"""

from typing import Final

from tasks.commerce.churn.profile import MOST, OTHER, CustomerProfile
from tasks.commerce.insights.grammar import literal, one_of

_FORM: Final = rf"""
start: "{{\"risk_score\":0." (stays | leaves) ",\"reasons\":[" reason ("," reason){{0,{MOST - 1}}} "]}}"
stays: /[1-4]/ ",\"churn\":false"
leaves: /[6-9]/ ",\"churn\":true"
reason: "{{\"campo\":" cited "}}"
"""


def reasons_grammar(profile: CustomerProfile) -> str:
    """Return the grammar of an answer's form on a profile: compact JSON with its keys in one order.

    Where no value points any way no reason is true, and the grammar keeps the form alone.
    """
    pointing = {name: [band.aponta] for name, band in profile.bands.items() if band.aponta}
    cited = (
        f'{literal(name)} ",\\"valor\\":" {literal(profile.texts[name])} ",\\"aponta\\":" ({one_of(ways)})'
        for name, ways in (pointing or dict.fromkeys(profile.texts, OTHER)).items()
    )
    return f"{_FORM.strip()}\ncited: {' | '.join(cited)}"
