"""MLflow's pages for one process, which open on runs and begin quietly.

`mlflow server` starts a supervisor and workers, which outlive a parent that is killed and keep the port.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tasks.lineage.mlflow.client import SQLITE_PREFIX, files_folder, open_client
from tasks.lineage.mlflow.recorder import RETRAININGS

DATABASE: Final = "mlflow.db"
REMEMBERED: Final[Mapping[str, bool | str]] = {
    "mlflow.workflowType_v1": "machine_learning",
    "mlflow.telemetry.info.alert.dismissed_v1": True,
    "mlflow.settings.telemetry.enabled_v1": False,
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,
    "mlflow.assistant.panelOpen_v1": False,
}
"""Initial values of a browser's store: the pages open on runs and models instead of an agent's traces; the notice of
usage data is untrue here, for telemetry is off; and the assistant, which knows nothing of these runs, stays closed."""


def quieted(page: str) -> str:
    """Return MLflow's page with what it remembers from the first visit on; a person's own choices stay."""
    entries = ";".join(
        f"localStorage.getItem({json.dumps(name)})??localStorage.setItem({json.dumps(name)},{json.dumps(json.dumps(value))})"
        for name, value in REMEMBERED.items()
    )
    return page.replace("<head>", f"<head><script>{entries}</script>", 1)


def pages_of(folder: Path, experiment: str) -> Any:
    """Return the ASGI application of the database in a folder; `/retrainings` shows an experiment's retrainings."""
    store = f"{SQLITE_PREFIX}{folder / DATABASE}"
    # This makes the tables where there are none yet; and without telemetry.
    client = open_client(store)
    from flask import Response, redirect, request
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

    def quiet(response: Response) -> Response:
        # The page itself, and no report of a run's files.
        if request.path == "/" and response.mimetype == "text/html":
            # A file is sent past Flask otherwise.
            response.direct_passthrough = False
            response.set_data(quieted(response.get_data(as_text=True)))
        return response

    pages.add_url_rule(f"/{RETRAININGS}", RETRAININGS, retrainings)
    pages.after_request(quiet)
    return app
