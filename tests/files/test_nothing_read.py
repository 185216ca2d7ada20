"""Tests of files in which kac recognizes no document: for each kind of entity and each format, they change and delete
nothing.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import ClusterSpec
from console.files.foreign_form import kinds_about
from console.files.read import Read
from console.files.reading import read_files, take_text
from console.files.staging import Prune, file_edits
from console.files.subjects import WantedSubject
from console.files.wanted import KINDS, Wanted, WantedConnector, WantedTopic
from console.files.writing import yaml_text
from console.model import connect
from console.model.changes import TopicTarget
from console.model.cluster import Partition, Topic
from console.model.codes import CONNECTOR, ResourceType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, own_source, topic_resource
from console.model.connect import RUNNING, ConnectCluster, Connector, connector_resource
from console.model.entity_types import in_sections
from console.model.parts import Part
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.snapshot import Snapshot
from console.model.subjects import SchemaVersion, Subject, SubjectTarget, subject_resource
from console.model.yaml_places import FileProblems
from console.plan.plan import EMPTY, marked, stage
from console.plan.risk_rules import MOST_PRUNED, PRUNES_MANY
from console.plan.risks import risks
from tests.support import samples
from tests.support.worlds import Kac, commands_on

ENTITIES = tuple(
    ConfigResource(ResourceType(type_.number or 0), name)
    for type_ in in_sections()
    for name in (("1", "2") if type_.section == "brokers" else ("here", "there"))
)
QUOTAS = tuple(
    QuotaEntity.of(dict.fromkeys(types, name))
    for types in ((USER,), (CLIENT_ID,), (USER, CLIENT_ID), (IP,))
    for name in ("10.0.0.1", "10.0.0.2")
)
ACLS = tuple(samples.acl("User:a", name) for name in ("here", "there"))
TOPICS = ("here", "there")


def _set(resource: ConfigResource) -> ConfigSet:
    return ConfigSet((ConfigEntry("k", "1", own_source(resource)),))


CLUSTER = Snapshot(
    topics={name: Topic(name, (Partition(0, 1, (1,), (1,)),)) for name in TOPICS},
    configs={each: _set(each) for each in ENTITIES} | {topic_resource(name): ConfigSet(()) for name in TOPICS},
    quotas={entity: {"producer_byte_rate": 1.0} for entity in QUOTAS},
    acls=ACLS,
    connect={"main": ConnectCluster("main", connectors={name: Connector(name, "", RUNNING, "") for name in TOPICS})},
    schemas={name: Subject(name, (SchemaVersion(1, 1, "AVRO"),)) for name in TOPICS},
    read_at={Part.SCHEMAS: datetime(2026, 11, 20, tzinfo=UTC)},
)
"""The state of a cluster with two entities of each kind that a file can list."""
FOREIGN = {
    "topics": ("KafkaTopic", "kafka.jikkou.io/v1beta2"),
    "acls": ("KafkaPrincipalAuthorization", "kafka.jikkou.io/v1beta1"),
    "quotas": ("KafkaClientQuota", "kafka.jikkou.io/v1beta1"),
    "connectors": ("KafkaConnector", "kafka.jikkou.io/v1beta1"),
    "schemas": ("SchemaRegistrySubject", "schemaregistry.jikkou.io/v1beta2"),
    "configs": ("KafkaBroker", "kafka.jikkou.io/v1beta2"),
}
SILENT = {
    "an empty list": "apiVersion: v1\nkind: List\nitems: []\n",
    "an empty typed list": "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopicList\nitems: []\n",
    "a version alone": "version: 1\n",
    "empty sections": "version: 1\ntopics: {}\nbrokers: {}\nquotas: []\nacls: []\n",
    "an unrelated document": "apiVersion: v1\nkind: Service\nmetadata: {name: kafka}\n",
    "nothing": "",
    "a comment": "# nothing\n",
}
ASKED = tuple(map(Prune, KINDS))


def _foreign(kind: str) -> str:
    name, version = FOREIGN[kind]
    return f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: here}}\nspec: {{}}\n"


def test_every_kind_has_a_foreign_one() -> None:
    assert FOREIGN.keys() == set(KINDS)
    assert all(kind in kinds_about(FOREIGN[kind][0]) for kind in KINDS)


@pytest.mark.parametrize("text", [*SILENT.values(), *map(_foreign, KINDS)], ids=[*SILENT, *KINDS])
def test_files_of_which_nothing_is_taken_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(FileProblems):
        read_files([str(file)])


LISTED = st.builds(
    Wanted,
    st.dictionaries(st.just("here"), st.just(WantedTopic(1, 1)), max_size=1),
    st.dictionaries(st.sampled_from(ENTITIES), st.just({"k": "1"}), max_size=4),
    st.dictionaries(st.sampled_from(QUOTAS), st.just({"producer_byte_rate": 1.0}), max_size=4),
    st.frozensets(st.sampled_from(ACLS)),
    connectors=st.dictionaries(
        st.just(connector_resource("main", "here")), st.just(WantedConnector({"k": "1"})), max_size=1
    ),
    schemas=st.dictionaries(st.just(subject_resource("here")), st.just(WantedSubject()), max_size=1),
)


def _of(edit: object) -> object:
    """Return the kind of an edit's target. --prune deletes entities of a kind only if the files list one of this
    kind.
    """
    target = edit.target  # type: ignore[attr-defined]
    if isinstance(target, QuotaEntity):
        return target.types
    return target.type if isinstance(target, ConfigResource) else type(target)


@given(LISTED, st.frozensets(st.sampled_from(KINDS)))
def test_nothing_goes_of_which_the_files_say_nothing_or_are_not_all_taken(
    listed: Wanted, foreign: frozenset[str]
) -> None:
    read = Read()
    for number, text in enumerate((yaml_text(listed, ""), *map(_foreign, sorted(foreign)))):
        assert take_text(text, str(number), read) == []
    found = file_edits(read.wanted, CLUSTER, ASKED)
    said = {type(ACLS[0])} if listed.acls else set[object]()
    said |= {each.type for each in listed.configs} | {each.types for each in listed.quotas}
    gone = {_of(edit) for edit in found.edits}
    assert (connect.ConnectorTarget in gone) is (bool(listed.connectors) and "connectors" not in foreign)
    assert (SubjectTarget in gone) is (bool(listed.schemas) and "schemas" not in foreign)
    topics = gone - said - {connect.ConnectorTarget, CONNECTOR, SubjectTarget}
    assert not topics or listed.topics, "only topics have another target than their file's"
    for kind in {about for each in foreign for about in kinds_about(FOREIGN[each][0])}:
        section = {each: each for each in ("topics", "acls", "quotas", "connectors", "schemas")}.get(kind)
        assert not [each for each in found.pruned.values() if section and each.section.startswith(section)], kind
    # The other direction: entities of a listed, taken kind that the files do not name are removed.
    removed = {edit.target for edit in file_edits(listed, CLUSTER, ASKED).edits}
    assert removed >= {each for each in ENTITIES if each.type in said and each not in listed.configs}
    assert removed >= {each for each in QUOTAS if each.types in said and each not in listed.quotas}
    assert removed >= (set(ACLS) - listed.acls if listed.acls else set())
    assert (TopicTarget("there") in removed) is bool(listed.topics)


@given(st.integers(1, 40), st.integers(0, 40))
def test_many_are_removed_by_their_number_alone(kept: int, gone: int) -> None:
    """If --prune deletes more than half of the entities of a kind, or more than ten, the operator has to accept their
    number.
    """
    names = [f"t{number}" for number in range(kept + gone)]
    there = Snapshot(topics={name: Topic(name, (Partition(0, 1, (1,), (1,)),)) for name in names})
    listed = Wanted({name: WantedTopic() for name in names[:kept]})
    found = file_edits(listed, there, (Prune("topics"),))
    plan = marked(stage(EMPTY, found.edits, there).plan, found.pruned)
    warned = [each for each in risks(plan.staged, there) if each.name == PRUNES_MANY]
    many = gone > MOST_PRUNED or gone > kept
    assert [each.accepted_as for each in warned] == ([f"{PRUNES_MANY}={gone}"] if many else [])


@pytest.fixture
def kac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., object]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return lambda cluster: commands_on(cluster, capsys)


def _topics(cluster: ThreadedCluster) -> int:
    return cluster.call(lambda one: len(one.state.topics))


def test_another_tools_topics_delete_none(kac: Callable[[ThreadedCluster], Kac], tmp_path: Path) -> None:
    """If a file has topics of an API group that kac does not read, each command ends with 2 and names the API group
    that it reads.
    """
    file = tmp_path / "theirs.yaml"
    file.write_text("---\n".join((_foreign("topics"), SILENT["an unrelated document"])))
    with run_in_thread(ClusterSpec(brokers=1, scenario="quiet")) as cluster:
        before, run = _topics(cluster), kac(cluster)
        asked = ("-f", str(file), "--prune", "topics=*")
        for words in (("apply", *asked, "--yes"), ("diff", *asked, "--exit-code"), ("plan", *asked)):
            done = run(*words)
            assert (done.code, done.out) == (2, ""), done
            assert f"{file}:1: KafkaTopic of kafka.jikkou.io is not read; of kafka.strimzi.io it is" in done.complaints
            read = "KafkaTopic, KafkaUser and KafkaConnector of kafka.strimzi.io are"
            assert f"Service of v1 is not read; {read}" in done.complaints
            assert "no document was taken, so nothing is compared, changed or pruned" in done.complaints
        assert run("compare", str(file), str(file)).code == 2
        assert _topics(cluster) == before


def test_a_document_that_was_not_taken_keeps_its_kind(kac: Callable[[ThreadedCluster], Kac], tmp_path: Path) -> None:
    """If kac reads one document with topics and leaves out another, it does not prune topics, because it does not know
    all wanted ones.
    """
    (tmp_path / "ours.yaml").write_text("version: 1\ntopics:\n  a: {partitions: 1, replication: 1}\n")
    (tmp_path / "theirs.yaml").write_text(_foreign("topics"))
    with run_in_thread(ClusterSpec(brokers=1, scenario="quiet")) as cluster:
        before, run = _topics(cluster), kac(cluster)
        done = run("apply", "-f", str(tmp_path), "--prune", "topics", "--yes")
        assert done.code == 1
        assert "of topics not pruned: not all documents of that kind were taken" in done.complaints
        assert _topics(cluster) == before + 1


def test_a_kept_plan_knows_what_it_prunes(kac: Callable[[ThreadedCluster], Kac], tmp_path: Path) -> None:
    """The number of entities that a plan file deletes by --prune has to be accepted when it is applied; --yes is not
    enough.
    """
    ours, plan = tmp_path / "ours.yaml", tmp_path / "plan"
    ours.write_text("version: 1\ntopics:\n  a: {partitions: 1, replication: 1}\n")
    with run_in_thread(ClusterSpec(brokers=1, scenario="quiet")) as cluster:
        before, run = _topics(cluster), kac(cluster)
        assert run("plan", "-f", str(ours), "--prune", "topics", "--out", str(plan)).code == 0
        done = run("apply", "-f", str(plan), "--yes")
        assert done.code == 3
        assert _topics(cluster) == before
        words = done.complaints.partition("--accept ")[2].split()[0]
        assert {each.partition("=")[0] for each in words.split(",")} == {"topic-deleted", "prunes-many"}, words
        assert "prunes-many=15" in words.split(",")
        assert run("apply", "-f", str(plan), "--yes", "--accept", words).code == 0
        assert _topics(cluster) < before


def test_a_folder_that_can_not_be_listed_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)  # root, who may run the tests, can list any folder
    with pytest.raises(FileProblems, match="it can't be read: Permission denied"):
        read_files([str(tmp_path)])
