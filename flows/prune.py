"""Flow `prune`: remove old checkpoints from the mirror and old shared artifacts."""

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.runtime import flow_run

from flows.runtime.session import mirror_address
from flows.stages.remote import open_shared
from schemas.config.config import Config
from tasks.checkpoints.address import open_mirror, trainings


@flow(name="prune", flow_run_name=lambda: f"prune-{flow_run.scheduled_start_time:%Y-%m-%d}")
def prune(config: Config) -> None:
    """Remove all but the newest and the pinned checkpoints of each training, and old artifacts on their way."""
    address = mirror_address(config)
    rows = []
    for name in trainings(address):
        pruned = open_mirror(address, name).prune(config.train.keep_checkpoints)
        rows.append({"of": name, "removed": f"{pruned.manifests} checkpoints", "bytes": pruned.bytes})
    if config.state.artifacts is not None:
        shared = open_shared(config).prune()
        rows.append({"of": config.state.artifacts, "removed": f"{shared.artifacts} artifacts", "bytes": shared.bytes})
    create_table_artifact(key="pruned", table=rows, description=f"What was removed from {address}")
