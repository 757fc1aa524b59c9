"""Server of MLflow's pages for `tucano ui`, a process that ends with its parent, however the parent ends."""

import sys
import threading
from pathlib import Path

import uvicorn

from flows.runtime.prefect_server import HOST
from tasks.lineage.mlflow.pages import pages_of
from tasks.policy.child import die_with_parent
from tasks.serve.gateway.limits import OwnPagesOnly

if __name__ == "__main__":
    threading.Thread(target=die_with_parent, daemon=True).start()
    folder, port, experiment = sys.argv[1:]
    # MLflow's own check takes any name that begins like an address of a local network, such as 10.evil.example.
    uvicorn.run(OwnPagesOnly(pages_of(Path(folder), experiment)), host=HOST, port=int(port), log_level="warning")
