"""One seed gives the bytes that it always gave: a store, its prompts, and the splits that curation makes of them.

After an intended change of texts or draws, put in the digests that the failure shows.
"""

import random
from hashlib import sha256
from pathlib import Path

from schemas.config.config import CurateConfig, SynthesizeConfig
from schemas.config.train_sections import PolicyConfig
from schemas.progress import silent
from schemas.store.files import TIMESTAMP_FORMAT
from schemas.store.store import FILE_NAMES
from schemas.tables.prompts import SPLITS, read_prompts
from schemas.tasks import TASK_NAMES
from tasks.curate import stage as curation
from tasks.curate.processes import in_processes
from tasks.synthesize import stage
from tasks.synthesize.simulated import simulate_store


def test_a_store_of_one_seed_is_as_it_was() -> None:
    store = simulate_store(400, random.Random("golden"))
    digest = sha256()
    for table in FILE_NAMES:
        digest.update(getattr(store, table).write_csv(datetime_format=TIMESTAMP_FORMAT).encode())
    assert digest.hexdigest()[:16] == "934eddfebf8f2d87"


def test_prompts_and_splits_of_one_seed_are_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "dataset").mkdir()
    config = SynthesizeConfig(counts=dict.fromkeys(TASK_NAMES, 60), orders=300)
    stage.run(config, 5, tmp_path / "prompts", silent)
    made = [row.prompt_id for row in read_prompts(tmp_path / "prompts" / "prompts.parquet")]
    assert sha256("".join(made).encode()).hexdigest()[:16] == "a9b46076ec9b7e07"
    curate = CurateConfig(test_per_task=4, validation_per_task=2, held_out_share=0.4, workers=1)
    policy = PolicyConfig(stand_in=True)
    curation.run(curate, policy, tmp_path / "prompts", tmp_path / "dataset", silent, in_processes(1))
    rows = [read_prompts(tmp_path / "dataset" / "data" / f"{split}.parquet") for split in SPLITS]
    ids = [" ".join(row.prompt_id for row in each) for each in rows]
    assert sha256("\n".join(ids).encode()).hexdigest()[:16] == "80957696cc8e3614"
