"""Storage that is copied: each node's is its own, with one log directory or several."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kafka_storage import META, copy_storage
from tests.support.server_properties import properties_of

FORMATTED = "#\n#Fri Nov 27 01:26:08 UTC 2026\nnode.id=1\ndirectory.id={}\nversion=1\ncluster.id=theirs\n"


@pytest.fixture
def formatted(tmp_path: Path) -> Path:
    folder = tmp_path / "formatted"
    (folder / "__cluster_metadata-0").mkdir(parents=True)
    (folder / "__cluster_metadata-0" / "0-0.checkpoint").touch()
    (folder / "bootstrap.checkpoint").touch()
    (folder / META).write_text(FORMATTED.format("x"))
    return folder


def made(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_each_directory_has_an_id_and_the_first_the_metadata(formatted: Path, tmp_path: Path) -> None:
    file, one, two = tmp_path / "server.properties", tmp_path / "one", tmp_path / "two"
    file.write_text(f"# a comment\nlog.dirs={one},{two}\n")
    copy_storage(formatted, file, "ours", 7, "mine")
    metas = [properties_of(each / META) for each in (one, two)]
    assert [(meta["cluster.id"], meta["node.id"], meta["version"]) for meta in metas] == [("ours", "7", "1")] * 2
    assert metas[0]["directory.id"] == "mine"
    assert metas[1]["directory.id"] not in ("mine", "x")
    assert made(one) - made(two) == {"__cluster_metadata-0"}
    assert "bootstrap.checkpoint" in made(two)


def test_the_metadata_has_its_own_directory_where_that_is_named(formatted: Path, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={tmp_path / 'one'}\nmetadata.log.dir={tmp_path / 'metadata'}\n")
    copy_storage(formatted, file, "ours", 7, "mine")
    assert properties_of(tmp_path / "metadata" / META)["directory.id"] == "mine"
    assert "__cluster_metadata-0" not in made(tmp_path / "one")


def test_what_a_release_does_not_know_is_not_added(formatted: Path, tmp_path: Path) -> None:
    (formatted / META).write_text("version=1\ncluster.id=theirs\nnode.id=1\n")
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={tmp_path / 'one'}\n")
    copy_storage(formatted, file, "ours", 7, "mine")
    assert properties_of(tmp_path / "one" / META) == {"version": "1", "cluster.id": "ours", "node.id": "7"}
