"""A list of parts says what a file asks for or holds, and is what CycloneDX's own schema wants."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from bundle.inputs import LOCKS
from bundle.parts import PROJECT, listed, of_package, part, whole
from requirements.locked import locked, of_group

RUN, TOOLS = ((LOCKS / f"{name}.txt").read_text() for name in ("run", "tools"))
BUILD = of_group(TOOLS, "build")


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "kac.whl"
    path.write_bytes(b"wheel")
    return path


def named(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in document["components"]}


def test_a_wheel_asks_for_what_its_lock_names_by_all_of_its_hashes(wheel: Path) -> None:
    document = json.loads(of_package(wheel, "0.1.0", RUN))
    root = document["metadata"]["component"]
    assert (root["name"], root["version"], root["type"]) == (PROJECT, "0.1.0", "application")
    assert root["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"wheel").hexdigest()}]
    parts = named(document)
    assert set(parts) == {each.name for each in locked(RUN)}
    for each in locked(RUN):
        mine = parts[each.name]
        (files,) = mine["externalReferences"]
        assert mine["version"] == each.version
        assert {file["content"] for file in files["hashes"]} == set(each.hashes)
        assert mine["scope"] == ("optional" if each.marker else "required")
    assert parts["textual"]["licenses"] == [{"license": {"name": "MIT License"}}]


def test_who_asks_for_what_is_as_the_lock_says(wheel: Path) -> None:
    document = json.loads(of_package(wheel, "0.1.0", RUN))
    needs = {each["ref"]: each.get("dependsOn", []) for each in document["dependencies"]}
    assert {"textual", "aiokafka", "pyyaml"} <= set(needs[PROJECT])
    assert "rich" not in needs[PROJECT]
    assert "rich" in needs["textual"]


def test_an_sdist_also_names_what_builds_it_and_is_no_part_of_it(wheel: Path) -> None:
    parts = named(json.loads(of_package(wheel, "0.1.0", RUN, BUILD)))
    assert parts["hatchling"]["scope"] == "excluded"
    assert "hatchling" not in named(json.loads(of_package(wheel, "0.1.0", RUN)))


def test_one_commit_makes_the_same_bytes(wheel: Path) -> None:
    assert of_package(wheel, "0.1.0", RUN, BUILD) == of_package(wheel, "0.1.0", RUN, BUILD)
    serials = {
        json.loads(listed(whole("kac", "1", architecture=arch), [], {"kac": []}))["serialNumber"]
        for arch in ("x86_64", "aarch64")
    }
    assert len(serials) == 2


@pytest.mark.parametrize(
    ("licence", "said"),
    [
        ("Zlib", {"license": {"id": "Zlib"}}),
        ("Apache-2.0 WITH LLVM-exception", {"expression": "Apache-2.0 WITH LLVM-exception"}),
        ("MIT License", {"license": {"name": "MIT License"}}),
    ],
)
def test_a_licence_is_said_as_far_as_it_is_known(licence: str, said: dict[str, Any]) -> None:
    document = json.loads(listed(whole("kac", "1"), [part("one", "1", licence)], {"kac": ["one", "no part of it"]}))
    assert document["components"][0]["licenses"] == [said]
    assert {"ref": "kac", "dependsOn": ["one"]} in document["dependencies"]


def test_what_the_schema_refuses_is_not_written() -> None:
    with pytest.raises(RuntimeError, match=r"kac is not what CycloneDX"):
        listed(whole("kac", "1"), [part("one", "1", sha256="no hash")], {"kac": ["one"]})
