"""MLflow's pages for one process.

`mlflow server` starts a supervisor and workers, which outlive a parent that is killed and keep the port.
"""

import os
from pathlib import Path
from typing import Any, Final

from tasks.lineage.mlflow.client import SQLITE_PREFIX, files_folder, open_client
from tasks.lineage.mlflow.recorder import RETRAININGS

DATABASE: Final = "mlflow.db"


def pages_of(folder: Path, experiment: str) -> Any:
    """Return the ASGI application of the database in a folder; `/retrainings` shows an experiment's retrainings."""
    store = f"{SQLITE_PREFIX}{folder / DATABASE}"
    # This makes the tables where there are none yet; and without telemetry.
    client = open_client(store)
    from flask import redirect
    from mlflow.server import ARTIFACT_ROOT_ENV_VAR, ARTIFACTS_DESTINATION_ENV_VAR, BACKEND_STORE_URI_ENV_VAR
    from mlflow.server.constants import SERVE_ARTIFACTS_ENV_VAR

    artifacts = str(files_folder(folder / DATABASE))
    os.environ |= {
        BACKEND_STORE_URI_ENV_VAR: store,
        ARTIFACT_ROOT_ENV_VAR: artifacts,
        ARTIFACTS_DESTINATION_ENV_VAR: artifacts,
        SERVE_ARTIFACTS_ENV_VAR: "true",
    }
    from mlflow.server import app as pages
    from mlflow.server.fastapi_app import app

    def retrainings() -> Any:
        known = client.get_experiment_by_name(experiment)
        view = f"experiments/{known.experiment_id}/runs?viewStateShareKey={RETRAININGS}" if known else "experiments"
        return redirect(f"/#/{view}")

    pages.add_url_rule(f"/{RETRAININGS}", RETRAININGS, retrainings)
    return app
