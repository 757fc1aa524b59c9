"""One question after what was meant, for keys, profiles, columns and options alike."""

from schemas.did_you_mean import did_you_mean


def test_the_nearest_word_is_asked_after_and_none_where_none_is_near() -> None:
    assert did_you_mean("sql", ("sentiment", "sql_qa", "push")) == ", did you mean 'sql_qa'?"
    assert did_you_mean("xyz", ("sentiment", "sql_qa", "push")) == ""
