"""A GGUF file behind llama.cpp's own server, until stdin ends: a process in `.venv-llama`.

`xllamacpp` brings llama.cpp built for any processor; `llama-cpp-python` would build the same here, in some ten minutes.
"""

import importlib
import sys
from pathlib import Path
from typing import Any


def main(file: Path) -> None:
    """Serve a file, and say where."""
    library: Any = importlib.import_module("xllamacpp")
    parameters = library.CommonParams()
    parameters.model.path = str(file)
    # One request at a time, and the model's own context.
    parameters.n_parallel = 1
    parameters.n_ctx = 0
    parameters.port = 0
    parameters.use_jinja = True
    server = library.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
