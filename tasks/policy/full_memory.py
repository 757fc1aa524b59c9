"""Out-of-memory errors, by the messages of the libraries that compute on weights."""

import re
from typing import Final

from schemas.causes import causes_of

SIGNS: Final = re.compile(
    r"CUDA out of memory"
    r"|(CUDA|HIP)( driver)? error:? out of memory"
    r"|CUBLAS_STATUS_ALLOC_FAILED"
    r"|DefaultCPUAllocator: (can't allocate|not enough) memory"
    r"|Error out of memory at line",
    re.IGNORECASE,
)
"""Messages of torch, CUDA's libraries and bitsandbytes."""


def is_of_memory(error: BaseException) -> bool:
    """Return whether an error is, or was caused by, lack of memory."""
    causes = causes_of(error)
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or any(SIGNS.search(str(cause)) for cause in causes)
