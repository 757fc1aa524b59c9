"""Server of MLflow's pages for `tucano ui`, a process that ends with its parent, however the parent ends."""

import sys
import threading
from pathlib import Path

from tasks.lineage.mlflow.pages import serve
from tasks.policy.child import die_with_parent

if __name__ == "__main__":
    threading.Thread(target=die_with_parent, daemon=True).start()
    serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
