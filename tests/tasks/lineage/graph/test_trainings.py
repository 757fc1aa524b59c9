import pytest

from tasks.lineage.graph.trainings import MirroredTraining, TrainingCheckpoint, training_graph, trainings_of
from tests.tasks.lineage.small_world import NOON, World, make_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world") / "artifacts")


def test_a_training_is_known_for_a_policy_s_by_the_bytes_of_its_weights(world: World) -> None:
    base = world.made["base"].sha256
    checkpoint = TrainingCheckpoint(4, 1, NOON, base, None, frozenset({"0" * 64}))
    other = MirroredTraining("train-1", (), (checkpoint,))
    assert trainings_of(world.made["train"], [other, world.training]) == [world.training]
    assert not training_graph(world.made["train"], [other]).nodes


def test_the_machines_of_a_policy_are_known_when_its_mirror_is_gone(world: World) -> None:
    segments = {world.training.name: world.training.segments}
    policy = world.made["train"].model_copy(update={"stretches": segments})
    assert trainings_of(policy, [world.training]) == [world.training]
    [training] = trainings_of(policy, [])
    assert training.segments == world.training.segments
