"""The configuration: every profile loads, nothing unknown is let in, and importing it is cheap."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config import PROFILES_FOLDER, Config, Section, load_config
from schemas.errors import InputError


@pytest.mark.parametrize("profile", sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml")))
def test_every_profile_loads(profile: str) -> None:
    assert load_config(profile).synthesize.counts


def test_importing_the_configuration_pulls_in_no_heavy_library() -> None:
    program = (
        "import sys, schemas.config, flows.cli;"
        "heavy = ('torch', 'trl', 'transformers', 'mlflow', 'prefect', 'polars');"
        "print([name for name in heavy if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def _sections(section: type[Section]) -> list[type[Section]]:
    inner = [
        field.annotation
        for field in section.model_fields.values()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    ]
    return [section, *(deeper for each in inner for deeper in _sections(each))]


def test_every_field_says_what_it_is_for() -> None:
    source = Path(sys.modules["schemas.config"].__file__ or "").read_text(encoding="utf-8").splitlines()
    for section in _sections(Config):
        start = source.index(f"class {section.__name__}(Section):")
        for name in section.model_fields:
            line = next(number for number in range(start, len(source)) if source[number].startswith(f"    {name}: "))
            assert source[line + 1].strip().startswith('"""'), f"{section.__name__}.{name} has no docstring"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("train.unknown=1", "train.unknown: unknown key"),
        ("unknown.max_steps=1", "unknown: unknown key"),
        ("train.max_steps=many", "train.max_steps: Input should be a valid integer"),
        ("train.max_steps=0", "greater than or equal to 1"),
        ("train.max_steps", "not of the form a.b=c"),
        ("seed.x=1", "'seed' is a value, not a section"),
        ("synthesize.counts.guessing=5", "Input should be 'extraction', 'sql_qa'"),
        ("synthesize.counts.push=20", "raise the count or lower curate.test_per_task"),
        ("synthesize.source=olist", "synthesize.olist_dir=FOLDER"),
    ],
)
def test_a_wrong_override_is_refused_in_one_sentence_that_names_it(override: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config("local", [override])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no profile 'locl'; use one of: .*local"):
        load_config("locl")


def test_a_profile_that_is_not_toml_is_refused(tmp_path: Path) -> None:
    profile = tmp_path / "broken.toml"
    profile.write_text("seed = ", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        load_config(str(profile))


@given(st.integers(min_value=0, max_value=2**31))
def test_an_override_is_what_the_configuration_holds(seed: int) -> None:
    assert load_config("local", [f"seed={seed}"]).seed == seed


def test_text_needs_no_quotes_in_an_override() -> None:
    config = load_config("local", ["synthesize.source=olist", "synthesize.olist_dir=some/folder"])
    assert config.synthesize.olist_dir == Path("some/folder")


def test_digests_follow_values() -> None:
    same, other = load_config("local"), load_config("local", ["train.max_steps=7"])
    assert load_config("local").train.digest() == same.train.digest()
    assert same.train.digest() != other.train.digest()
