"""A lake that was written before its tables were Delta tables is taken along, and is as it was until that is done."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from console.cli.main import run
from console.history.schema import TABLES
from console.history.store import DamagedLake, Lake, LakeBusy, LakeError, migrate
from console.history.store import write as store_write
from console.history.store.lock import this_process
from console.history.store.write import writing
from tests.history.lake_rows import arrow_rows, rows_of, snapshot_rows

RUN = "20261121T101500Z-3f9a1c"
INPUTS = {"kraft_log:c": {"next_offset": 7, "folders": ["/x"]}}


def older_lake(folder: Path) -> tuple[Path, dict[str, list[object]]]:
    """A lake of format 1, as `CURRENT` and manifests named its files, with an older version; and the rows it holds."""
    made = Lake.create(str(folder))
    for count in (3, 12):
        with writing(made, "collect", keep=1) as write:
            names = ["a/b", "", "é ü", "x=y"]
            odd = arrow_rows(TABLES["snapshot"], ({"cluster_id": name, "entity_key": str(count)} for name in names))
            write.add_arrow("snapshot", odd)
            write.add_arrow("snapshot", snapshot_rows(count))
            rows = [{"attr": str(each)} for each in range(count)]
            write.replace("history", write.put_arrow("history", arrow_rows(TABLES["history"], rows)), whole=True)
            held = write.commit()
    rows = {name: rows_of(made, name) for name in held.tables}
    manifest = {
        "format": 1,
        "run_id": RUN,
        "parent": None,
        "created": held.created,
        "job": "collect",
        "tables": {
            name: {
                "schema": "0" * 64,
                "partitions": table.partitions,
                "files": {
                    within: [
                        [path.rpartition("/")[2], file.rows, file.bytes]
                        for path, file in table.files.items()
                        if path.rpartition("/")[0] == within
                    ]
                    for within in {path.rpartition("/")[0] for path in table.files}
                },
                "delta": None,
            }
            for name, table in held.tables.items()
        },
        "inputs": INPUTS,
    }
    shutil.rmtree(folder / "data/release")
    for log in folder.glob("data/*/_delta_log"):
        shutil.rmtree(log)
    (folder / "manifests").mkdir()
    (folder / f"manifests/{RUN}.json").write_text(json.dumps(manifest))
    (folder / "CURRENT").write_text(f"{RUN}\n")
    about = json.loads((folder / "lake.json").read_text())
    (folder / "lake.json").write_text(json.dumps({**about, "format": 1}))
    return folder, rows


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_an_older_lake_is_taken_along_without_copying_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, rows = older_lake(tmp_path / "lake")
    with pytest.raises(LakeError, match=r"kac lake migrate --lake .*/lake"):
        Lake.open(str(folder))
    with pytest.raises(LakeError, match="written by an older version of kac"):
        Lake.create(str(folder))
    before = {name: data for name, data in files_in(folder).items() if name.endswith(".parquet")}
    key = Lake.at_path(str(folder)).key()
    assert run(["lake", "migrate", "--lake", str(folder)]) == 0
    assert "no rows were copied" in capsys.readouterr().out
    lake = Lake.open(str(folder))
    held = lake.current()
    assert {name: rows_of(lake, name) for name in held.tables} == rows
    assert held.inputs == INPUTS
    assert (held.job, lake.key()) == ("migrate", key)
    now = {name: data for name, data in files_in(folder).items() if name.endswith(".parquet")}
    assert {name: now[name] for name in before} == before
    assert [name for name in now if name not in before and not name.startswith("data/release/")] == []
    assert not (folder / "CURRENT").exists()
    assert not (folder / "manifests").exists()
    assert DeltaTable(str(folder / "data/snapshot")).to_pyarrow_table().num_rows == len(rows["snapshot"])
    with writing(lake, "collect") as write:  # and goes on
        write.add_arrow("snapshot", snapshot_rows(5, first=100))
        write.commit()
    assert len(rows_of(lake, "snapshot")) == len(rows["snapshot"]) + 5
    assert run(["lake", "migrate", "--lake", str(folder)]) == 1
    assert "has the newest format already" in capsys.readouterr().err


def test_an_empty_older_lake_is_taken_along(tmp_path: Path) -> None:
    folder, _ = older_lake(tmp_path / "lake")
    shutil.rmtree(folder / "data")
    (folder / "CURRENT").write_text("-\n")
    assert migrate.migrate(Lake.at_path(str(folder))).versions == {}
    assert Lake.open(str(folder)).current().inputs == {}


def test_a_migration_that_dies_leaves_the_lake_and_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rows = older_lake(tmp_path / "lake")
    before = files_in(folder)
    put, steps = migrate.put_table, 0

    def dying(*given: object, **named: object) -> int:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        made = put(*given, **named)  # type: ignore[arg-type]
        if left == 1:
            raise KeyboardInterrupt
        left -= 2
        return made

    for module in (migrate, store_write):
        monkeypatch.setattr(module, "put_table", dying)
    while True:
        left = steps
        try:
            migrate.migrate(Lake.at_path(str(folder)))
            break
        except KeyboardInterrupt:
            steps += 1
        now = files_in(folder)
        assert {name: now.get(name) for name in before} == before | {"lock": now["lock"]}
        with pytest.raises(LakeError, match="written by an older version of kac"):
            Lake.open(str(folder))
    monkeypatch.undo()
    assert steps == 2 * (len(rows) + 1)
    lake = Lake.open(str(folder))
    assert {name: rows_of(lake, name) for name in lake.current().tables} == rows
    with writing(lake, "compact") as write:
        write.commit()
    named = {path for each in lake.releases() for table in each.tables.values() for path in table.files}
    there = {str(each.relative_to(folder)) for each in folder.glob("data/*/v=*/**/*.parquet")}
    assert {each for each in there if not each.startswith("data/release/")} == named


def test_what_can_not_be_taken_along_is_left_alone(tmp_path: Path) -> None:
    folder, _ = older_lake(tmp_path / "lake")
    manifest = folder / f"manifests/{RUN}.json"
    text = manifest.read_text()
    for broken, said in (
        ("{", "Expecting property name"),
        (text.replace("data/snapshot/v=", "data/../../v="), "outside the table"),
        (text.replace("part-0.parquet", "gone.parquet"), "gone.parquet"),
    ):
        manifest.write_text(broken)
        before = files_in(folder)
        with pytest.raises(DamagedLake, match=said):
            migrate.migrate(Lake.at_path(str(folder)))
        assert files_in(folder) == before | {"lock": b""}
    manifest.write_text(text)
    lake = Lake.at_path(str(folder))
    with lake.filesystem.lock(lake.path("lock"), this_process("", "collect")), pytest.raises(LakeBusy):
        migrate.migrate(lake)
    (folder / "lake.json").write_text('{"format": 9}')
    with pytest.raises(LakeError, match="format 9"):
        migrate.migrate(lake)
