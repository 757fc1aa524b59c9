from tasks.report.number_format import p_value, signed


def test_numbers_are_written_with_signs_and_floors() -> None:
    assert [signed(value) for value in (0.1234, -0.1, 0.0, -0.0001, None)] == [
        "+0.123",
        "−0.100",
        "0.000",
        "0.000",
        "unknown",
    ]
    assert [p_value(value) for value in (0.0001, 0.001, 0.5)] == ["< 0.001", "0.001", "0.500"]
