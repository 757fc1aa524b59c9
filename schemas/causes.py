"""Chain of causes of an error, as Python shows it in a traceback."""


def causes_of(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, the nearest cause first."""
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return found
