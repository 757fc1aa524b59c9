"""Expected failures, each with its exit code: user errors, gate refusals and interruptions; and causes of any error."""


class TucanoError(Exception):
    """An expected failure, shown to the user as one sentence and never as a traceback."""

    exit_code = 1


class InputError(TucanoError):
    """Bad usage or bad input: names the thing, the value and the remedy."""

    exit_code = 2


class GateRefused(TucanoError):
    """A gate refused: the reward audit, a preflight check or the promotion gate."""

    exit_code = 3


class Interrupted(TucanoError):
    """The work stopped before its end and the same command resumes it."""

    exit_code = 4


def causes_of(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, the nearest cause first."""
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return found
