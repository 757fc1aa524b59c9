"""Grammar of the answers on a profile, in the Lark notation of llguidance: no reason can be false, only chosen.

A field leads to its value, and that to the way that it points. Only the risk, which decides the answer, is free.
"""

from typing import Final

from tasks.commerce.churn.profile import MOST, OTHER, CustomerProfile
from tasks.commerce.grammar import literals

_FORM: Final = rf"""
start: "{{\"risk_score\":0." (stays | leaves) ",\"reasons\":[" reason ("," reason){{0,{MOST - 1}}} "]}}"
stays: /[1-4]/ ",\"churn\":false"
leaves: /[6-9]/ ",\"churn\":true"
reason: "{{\"campo\":" cited "}}"
"""


def reasons_grammar(profile: CustomerProfile) -> str:
    """Return the grammar of an answer on a profile; where no value points any way, it keeps the form alone."""
    pointing = {name: [band.aponta] for name, band in profile.bands.items() if band.aponta}
    cited = (
        f'{literals([name])} ",\\"valor\\":" {literals([profile.texts[name]])} ",\\"aponta\\":" ({literals(ways)})'
        for name, ways in (pointing or {name: [*OTHER] for name in profile.texts}).items()
    )
    return f"{_FORM.strip()}\ncited: {' | '.join(cited)}"
