"""References that people gave: what a line may hold, and the sentence where it holds anything else."""

from schemas.references import ASKED_FIELDS, values_of, with_values


def test_values_go_into_a_reference_and_come_out_again() -> None:
    assert with_values("extraction", {"rating": 2, "fields": None}, {"churn_risk": 0.5}) == {
        "rating": 2,
        "fields": {"churn_risk": 0.5},
    }
    for task, fields in ASKED_FIELDS.items():
        values = dict.fromkeys(fields)
        assert values_of(task, with_values(task, {}, values)) == values
    assert values_of("push", {"product": "mala", "score": 5}) == {}
