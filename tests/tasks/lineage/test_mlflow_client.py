"""MLflow is quiet: what it says of itself is in no document that a command prints."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

ENDS_A_RUN_ON_A_SERVER = """
from types import SimpleNamespace
from tasks.lineage.mlflow_client import open_client
client = open_client("http://127.0.0.1:9")
store = client._tracking_client.store
run = SimpleNamespace(data=SimpleNamespace(tags={}), info=SimpleNamespace(experiment_id="0", run_name="r", run_id="1"))
store.get_run = lambda run_id: run
store.update_run_info = lambda *_, **__: None
client.set_terminated("1")
"""


def test_the_end_of_a_run_on_a_server_is_not_printed() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS_A_RUN_ON_A_SERVER], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
