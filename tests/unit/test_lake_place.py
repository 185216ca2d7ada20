"""Tests of where kac looks for the lake: the option, else the environment, else the context, else the user's data
folder.
"""

from pathlib import Path

import pytest

from console.contexts import ContextError, load, resolve
from console.contexts.context import lake_place

HOME = Path("/home/alice")


@pytest.mark.parametrize(
    ("flag", "environ", "setting", "place"),
    [
        ("/a", {"KAC_LAKE": "/b"}, "/c", "/a"),
        (None, {"KAC_LAKE": "/b"}, "/c", "/b"),
        (None, {"KAC_LAKE": ""}, "/c", "/c"),
        (None, {"XDG_DATA_HOME": "/data"}, None, "/data/kac/lake"),
        (None, {"XDG_DATA_HOME": "not/absolute"}, None, "/home/alice/.local/share/kac/lake"),
        (None, {}, None, "/home/alice/.local/share/kac/lake"),
        ("~/lake", {}, None, "/home/alice/lake"),
        (None, {}, "s3a://bucket/lake", "s3a://bucket/lake"),
    ],
)
def test_the_nearest_to_the_operator_names_it(
    flag: str | None, environ: dict[str, str], setting: str | None, place: str
) -> None:
    assert lake_place(flag, environ, setting, HOME) == place


@pytest.mark.parametrize(
    ("setting", "place"),
    [('"lake"', "{folder}/lake"), ('"~/lake"', "{home}/lake"), ('"s3a://b/lake"', "s3a://b/lake"), ('"/l"', "/l")],
)
def test_a_context_names_one_from_its_own_folder(tmp_path: Path, setting: str, place: str) -> None:
    folder = tmp_path / ".config" / "kac"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'[contexts.a]\nbootstrap.servers = "b:1"\nlake = {setting}\n')
    assert resolve(load({}, tmp_path)).lake == place.format(folder=folder, home=tmp_path)


def test_a_lake_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[contexts.a]\nbootstrap.servers = "b:1"\nlake = 5\n')
    with pytest.raises(ContextError, match=r"config.toml:3: lake is a text in quotes, not 5"):
        resolve(load({"KAC_CONFIG": str(file)}, tmp_path))
