"""Tests of files with subjects of a schema registry: they are read, compared, planned, applied, pruned, exported, and
linted offline.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.files.compare import compare
from console.files.read import Read
from console.files.reading import read_files, take
from console.files.subjects import WantedSubject
from console.files.wanted import Wanted
from console.files.writing import yaml_text
from console.model.subjects import SchemaReference, SchemaSource, subject_resource
from console.model.yaml_places import FileProblems, read_yaml
from tests.support import worlds
from tests.support.registry_server import RegistryServer, registry
from tests.support.worlds import Kac, Ran

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
NEWER = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"note","type":"string","default":""}]}'
)
BROKEN = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"}]}'
PAYMENT = '{"type":"record","name":"Payment","namespace":"shop","fields":[{"name":"order","type":"shop.Order"}]}'

cluster = worlds.cluster(ClusterSpec(brokers=1), scope="module")


@pytest.fixture
def schemas() -> Iterator[RegistryServer]:
    with registry() as running:
        yield running


@pytest.fixture
def kac(
    cluster: ThreadedCluster,
    schemas: RegistryServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Kac:
    """Provide a function that runs a command on the cluster and its registry, through the current context."""
    file = tmp_path / "contexts.toml"
    file.write_text(
        f'current = "test"\n[contexts.test]\n"bootstrap.servers" = "{cluster.bootstrap}"\n'
        f'[contexts.test.schemas]\nurl = "{schemas.url}"\n'
    )
    monkeypatch.setenv("KAC_CONFIG", str(file))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    from console.cli import main

    def run(command: str, *arguments: str) -> Ran:
        return Ran(main.run([command, "-c", "test", *arguments]), *capsys.readouterr())

    return run


def wanted_file(folder: Path, text: str, **schemas: str) -> str:
    """Write a file with this text, and the files of schemas next to it; return its path. schemas: name of a schema file
    -> its text.
    """
    for name, content in schemas.items():
        (folder / f"{name}.avsc").write_text(content)
    file = folder / "wanted.yaml"
    file.write_text("version: 1\nschemas:\n" + text)
    return str(file)


TWO = """
  payments-value:
    file: payment.avsc
    references: ["shop.Order:orders-value:1"]
  orders-value:
    file: order.avsc
    compatibility: full
"""


def test_a_registry_becomes_as_its_file_wants_it(kac: Kac, schemas: RegistryServer, tmp_path: Path) -> None:
    file = wanted_file(tmp_path, TWO, order=ORDER, payment=PAYMENT)
    code, out, complaints = kac("plan", "-f", file, "--exit-code")
    assert (code, complaints) == (3, "")
    assert "payments-value" in out
    code, out, complaints = kac("apply", "-f", file, "--yes")
    assert (code, complaints) == (0, "")
    assert [*schemas.state.subjects] == ["orders-value", "payments-value"]
    assert schemas.state.values["orders-value", "compatibility"] == "FULL"
    assert kac("diff", "-f", file, "--exit-code") == (0, "no changes\n", "")


def test_what_was_exported_changes_nothing_and_builds_a_registry(
    kac: Kac, schemas: RegistryServer, tmp_path: Path
) -> None:
    of_orders = {"name": "shop.Order", "subject": "orders-value", "version": 1}
    schemas.register("orders-value", ORDER)
    schemas.register("payments-value", PAYMENT, references=(of_orders,))
    schemas.register("told-value", 'syntax = "proto3"; message Told { string it\'s = 1; }\n', "PROTOBUF")
    schemas.state.values["orders-value", "mode"] = "READONLY"
    exported = tmp_path / "exported.yaml"
    assert kac("export", "--output", str(exported)) == (0, "", "")
    assert f"    schema: '{ORDER}'\n" in exported.read_text()
    assert kac("diff", "-f", str(exported), "--exit-code") == (0, "no changes\n", "")
    schemas.state.subjects.clear()
    del schemas.state.values["orders-value", "mode"]
    code, _, complaints = kac("apply", "-f", str(exported), "--yes")
    assert code == 1
    assert "in mode READONLY no new version is accepted: leave the mode out until it is registered" in complaints
    text = exported.read_text().replace('    mode: "READONLY"\n', "")
    exported.write_text(text)
    assert kac("apply", "-f", str(exported), "--yes")[0] == 0
    assert kac("diff", "-f", str(exported), "--exit-code") == (0, "no changes\n", "")


def test_a_level_that_a_listed_subject_leaves_out_is_removed(kac: Kac, schemas: RegistryServer, tmp_path: Path) -> None:
    schemas.register("orders-value", ORDER)
    schemas.state.values["orders-value", "compatibility"] = "NONE"
    file = wanted_file(tmp_path, "  orders-value: {}\n  <default>:\n    compatibility: FULL\n")
    assert kac("apply", "-f", file, "--yes")[0] == 0
    assert schemas.state.values == {("", "compatibility"): "FULL", ("", "mode"): "READWRITE"}


def test_an_older_version_is_no_new_one(kac: Kac, schemas: RegistryServer, tmp_path: Path) -> None:
    schemas.register("orders-value", ORDER)
    schemas.register("orders-value", NEWER)
    file = wanted_file(tmp_path, "  orders-value:\n    file: order.avsc\n", order=ORDER)
    code, _, complaints = kac("diff", "-f", file)
    assert code == 1
    assert f"{file}:3: it is version 1 of orders-value, and the newest is 2" in complaints


def test_prune_deletes_subjects_that_refer_to_others_first(kac: Kac, schemas: RegistryServer, tmp_path: Path) -> None:
    schemas.register("kept-value", '"int"')
    schemas.register("a-value", ORDER)
    schemas.register("b-value", PAYMENT, references=({"name": "shop.Order", "subject": "a-value", "version": 1},))
    file = wanted_file(tmp_path, "  kept-value: {}\n")
    code, _, complaints = kac("apply", "-f", file, "--prune", "schemas", "--yes", "--accept", "prunes-many=2")
    assert (code, complaints) == (0, "")
    assert schemas.state.answer("GET", "/subjects").body == ["kept-value"]


def test_a_context_without_a_registry_is_named(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = wanted_file(tmp_path, "  orders-value:\n    file: order.avsc\n", order=ORDER)
    code, _, complaints = worlds.commands_on(cluster, capsys)("diff", "-f", file)
    assert code == 1
    assert f"{file}:3: the context has no schema registry: add its address" in complaints


def test_a_registry_that_is_gone_is_unread(kac: Kac, schemas: RegistryServer, tmp_path: Path) -> None:
    from tests.support.registry_server import Bad

    schemas.bad["/subjects"] = Bad(500)
    file = wanted_file(tmp_path, "  orders-value:\n    file: order.avsc\n", order=ORDER)
    code, out, complaints = kac("apply", "-f", file, "--yes")
    assert code == 1
    assert "the registry answers 500" in complaints
    assert schemas.state.subjects == {}
    assert "register" not in out


def test_two_registries_are_compared_by_their_schemas(kac: Kac, schemas: RegistryServer, tmp_path: Path) -> None:
    schemas.register("orders-value", ORDER)
    file = wanted_file(
        tmp_path, "  orders-value:\n    file: order.avsc\n", order=json.dumps(json.loads(ORDER), indent=1)
    )
    _, out, _ = kac("compare", "test", file, "--output", "json")
    keys = {(each["entity"], each["key"]) for each in json.loads(out)["differences"]}
    assert not [each for each in keys if each[0] == "schema orders-value"]
    (tmp_path / "order.avsc").write_text(NEWER)
    _, out, _ = kac("compare", "test", file, "--output", "json")
    assert ("schema orders-value", "schema") in {
        (each["entity"], each["key"]) for each in json.loads(out)["differences"]
    }


# -- invalid schema files ----------------------------------------------------------------------------------------------


def problems_of(file: str) -> str:
    with pytest.raises(FileProblems) as raised:
        read_files([file])
    return "\n".join(str(each) for each in raised.value.problems)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file: ../secret.avsc", "a file is named by its path below the folder of this file"),
        ("file: /etc/passwd", "a file is named by its path below the folder of this file"),
        ("file: link.avsc", "a link leads out of the folder of this file"),
        ("file: gone.avsc", "gone.avsc: it can't be read: No such file or directory"),
        ("file: sub", "it can't be read"),
        ("file: pipe", "it can't be read"),
        ("file: large.avsc", "it is larger than 1,048,576 bytes"),
        ("file: blank.avsc", "blank.avsc: it is empty"),
        ("file: order.avsc\n    schema: '\"int\"'", "here or in a file, not both"),
        ("references: [\"a:b:1\"]", "of a schema, which is missing"),
        ("file: order.avsc\n    references: [\"a:b\"]", "is no reference: write NAME:SUBJECT:VERSION"),
        ("compatibility: SILLY", "'SILLY' is no compatibility; one of BACKWARD"),
        ("schema: \" \"", "the schema is empty"),
        ("earlier: [order.avsc]", "earlier versions are compared with a schema"),
        ("fiel: order.avsc", "file"),
    ],
)  # fmt: skip
def test_a_file_is_refused_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    import os

    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "secret.avsc").write_text('"long"')
    (folder / "link.avsc").symlink_to(tmp_path / "secret.avsc")
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "large.avsc").write_text(" " * ((1 << 20) + 1))
    file = wanted_file(folder, f"  orders-value:\n    {text}\n", order=ORDER, blank="\n")
    said = problems_of(file)
    assert why in said
    assert said.startswith(f"{file}:")
    assert "long" not in said


def test_standard_input_names_no_files() -> None:
    read = Read()
    (problem,) = take(read_yaml("version: 1\nschemas:\n  a:\n    file: b.avsc\n", "standard input"), read)
    assert "standard input has no folder" in str(problem)


SOURCE = st.builds(
    SchemaSource,
    st.sampled_from(["AVRO", "PROTOBUF", "JSON"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip),
    st.lists(
        st.builds(SchemaReference, st.just("a.B"), st.sampled_from(["x", "y:z"]), st.integers(1, 9)), max_size=3
    ).map(tuple),
)
SUBJECT = st.builds(
    WantedSubject,
    st.none() | SOURCE,
    st.fixed_dictionaries({}, optional={"compatibility": st.sampled_from(["FULL", "NONE"]), "mode": st.just("IMPORT")}),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.dictionaries(NAMES.map(subject_resource), SUBJECT, max_size=4))
def test_what_is_written_is_read_back(found: dict[object, WantedSubject]) -> None:
    wanted = Wanted(schemas=found)  # type: ignore[arg-type]
    read = Read()
    text = yaml_text(wanted, "title")
    assert all(char.isprintable() or char == "\n" for char in text)
    assert take(read_yaml(text, "here"), read) == []
    assert read.schemas == found
    assert compare(read.wanted, wanted) == ()


def found_by(ran: Ran) -> dict[str, str]:
    """Return rule -> its finding, for the findings about subjects in an output of lint."""
    report = json.loads(ran.out)
    return {each["rule"]: each["what"] for each in report["findings"] if each["subject"].startswith("schema ")}


def test_files_are_judged_by_the_registry(kac: Kac, schemas: RegistryServer, tmp_path: Path) -> None:
    schemas.register("orders-value", ORDER)
    file = wanted_file(tmp_path, "  orders-value:\n    file: order.avsc\n", order=BROKEN)
    ran = kac("lint", "-f", file, "--output", "json", "--exit-code")
    assert ran.code == 3
    assert "version 2 is not BACKWARD" in found_by(ran)["schema-refused"]
    assert "long can't be read as string" in found_by(ran)["schema-refused"]
    (tmp_path / "order.avsc").write_text(NEWER)
    assert found_by(kac("lint", "-f", file, "--output", "json")) == {"schema-unused": found_by(ran)["schema-unused"]}


def test_files_alone_are_judged_by_their_earlier_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from console.cli import main

    text = "  orders-value:\n    file: order.avsc\n    earlier: [first.avsc]\n    compatibility: FORWARD\n"
    file = wanted_file(tmp_path, text, order=BROKEN, first=ORDER)
    code = main.run(["lint", "--offline", "-f", file, "--output", "json", "--exit-code", "--skip", "schema-unused"])
    ran = Ran(code, *capsys.readouterr())
    assert ran.code == 3
    assert "version 2 is not FORWARD" in found_by(ran)["schema-refused"]
    assert json.loads(ran.out)["findings"][0]["place"] == f"{file}:3"


def test_what_no_rule_compares_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from console.cli import main

    text = (
        "  orders-value:\n    file: order.avsc\n"
        '  told-value:\n    type: JSON\n    schema: "{}"\n'
        '  payments-value:\n    file: payment.avsc\n    references: ["shop.Order:elsewhere:1"]\n'
        '  wrong-value:\n    schema: \'{"type": "recrd"}\'\n    type: AVRO\n'
    )
    file = wanted_file(tmp_path, text, order=ORDER, payment=PAYMENT)
    code = main.run(["lint", "--offline", "-f", file])
    out, complaints = capsys.readouterr()
    assert code == 1
    assert f"{file}:11: it is no Avro schema: " in complaints
    assert "schemas of told-value were compared with nothing: kac compares Avro" in out
    assert "schemas of orders-value, payments-value, wrong-value were compared with no former version" in out
    assert "schema payments-value was compared with nothing: it refers to elsewhere version 1, which was not" in out
