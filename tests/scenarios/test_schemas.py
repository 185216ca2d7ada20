"""Tests of schemas in a registry: subjects, their changes and reverts, and the topics that use a schema."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from msgspec.structs import replace

from console.admin.client import AdminClient
from console.admin.schema_registry import CCOMPAT
from console.admin.settings import HttpSettings
from console.answers.describe import show
from console.answers.lists import list_kind
from console.answers.results import to_data
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Fail, Fault
from console.embedded.spec import ClusterSpec
from console.files.reading import read_files
from console.files.staging import Prune, file_edits
from console.files.subjects import WantedSubject
from console.files.wanted import Wanted, wanted_of
from console.files.writing import yaml_text
from console.language.grammar import parse
from console.language.needs import needs_of_script
from console.language.verbs.listing import List
from console.language.verbs.show import Show
from console.lint.rules import SUBJECTS
from console.model import config, schema_use
from console.model.changes import Outcome, TopicTarget
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.model.subjects import COMPATIBILITY, MODE, SchemaReference, SchemaVersion, Subject, subject_resource
from console.plan.reconcile import ApplyOptions
from console.plan.risks import risks
from console.session import applying, journal_changes, lint_reading
from console.session.reading import read_everything, read_needs
from console.session.schema_reads import read_schema_samples
from console.session.session import Session
from tests.support import changing, kafka_jars, older_brokers, patience, record_apicurio_payloads, worlds
from tests.support.apicurio import NEWEST, VERSION, apicurio, apicurio_folder
from tests.support.registry_server import Bad, RegistryServer, registry
from tests.support.staging import staged

# ----------------------------------------------------------------------------------------------------------------------
# Schemas: subjects with their versions, configs and references, changed and reverted. The embedded registry follows
# Confluent's documentation; Apicurio, a real registry, passes the same tests

TOPIC = "orders"
ACCEPTED = ApplyOptions(risks=frozenset({"irreversible", "in-use=orders-value", "nothing-checked"}))
FIRST = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
SECOND = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"note","type":"string","default":""}]}'
)
BROKEN = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"}]}'
PAYMENT = '{"type":"record","name":"Payment","namespace":"shop","fields":[{"name":"order","type":"shop.Order"}]}'

cluster = worlds.cluster(older_brokers.like("4.4", brokers=1), scope="module")


@pytest.fixture(scope="module")
def real() -> Iterator[HttpSettings]:
    yield from _apicurio(VERSION)


@pytest.fixture(scope="module")
def newest() -> Iterator[HttpSettings]:
    """Yield the settings of a registry: the newest Apicurio, the only release under test that has modes."""
    yield from _apicurio(NEWEST)


def _apicurio(version: str) -> Iterator[HttpSettings]:
    try:
        folder = apicurio_folder(version)
    except kafka_jars.BrokersUnavailableError as error:
        pytest.skip(str(error))
    with apicurio(folder) as url:
        parts = urlsplit(url)
        yield HttpSettings(parts.hostname or "", parts.port or 0, parts.path)


@pytest.fixture
def embedded() -> Iterator[RegistryServer]:
    with registry() as running:
        yield running


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("real", marks=[pytest.mark.slow, pytest.mark.takes(6)]),
        pytest.param("newest", marks=[pytest.mark.slow, pytest.mark.long]),
    ]
)
async def session(request: pytest.FixtureRequest, cluster: ThreadedCluster) -> AsyncIterator[Session]:
    """Provide a session with a registry that has no subjects, and a cluster that has the topic `TOPIC`."""
    found = request.getfixturevalue(request.param)
    settings = found if isinstance(found, HttpSettings) else found.settings
    with worlds.session_on(worlds.settings(cluster, schemas=settings)) as session:
        await asyncio.to_thread(_empty, str(settings))
        await read(session)
        await applied(session, "set schema <default> compatibility=BACKWARD", may_fail=True)
        await applied(session, f"create topic {TOPIC} partitions=1 replication=1", may_fail=True)
        yield session


def _empty(url: str) -> None:
    """Delete all subjects of a registry permanently, because Apicurio still counts references from subjects that were
    softly deleted.
    """
    for name in ("payments-value", "parts-value", "orders-value", "kept-value", "undone-value"):
        for ending in ("", "?permanent=true"):
            with suppress(HTTPError):
                urlopen(Request(f"{url}/subjects/{name}{ending}", method="DELETE"), timeout=patience.PATIENCE).close()


async def read(session: Session) -> None:
    await session.read_whole(Part.SCHEMAS)
    assert not [each for each in session.snapshot.failures if each.part == Part.SCHEMAS]


async def applied(session: Session, text: str, *, may_fail: bool = False) -> int:
    """Stage a statement and apply it; return the number of the change in the journal. If `may_fail` is set, return 0
    when the apply makes no change.
    """
    session.discard()
    report = await staged(session, text)
    if may_fail and not report.added:
        return 0
    assert report.added, report
    sent = await changing.apply_plan(session, ACCEPTED)
    assert may_fail or sent.ok, sent
    await read(session)
    return sent.change or 0


async def check_of(session: Session, text: str) -> Outcome:
    """Stage a statement, and let the registry check it without applying it; return the outcome of this check."""
    session.discard()
    await staged(session, text)
    report = await applying.check_plan(session)
    (found,) = (outcome for result in report.results for outcome in result.outcomes)
    return found


async def registered(session: Session, name: str, *texts: str) -> None:
    for text in texts:
        await applied(session, f"schema {name} '{text}'")


def live(session: Session, name: str) -> list[int]:
    subject = session.snapshot.schemas.get(name)
    return [] if subject is None else [each.number for each in subject.versions if not each.is_deleted]


def last(session: Session, name: str) -> int:
    return live(session, name)[-1]


async def test_a_subject_is_read_with_its_versions_and_topics(session: Session) -> None:
    await registered(session, "orders-value", FIRST, SECOND)
    await session.read_topics()
    old, new = live(session, "orders-value")[-2:]
    subject = session.snapshot.schemas["orders-value"]
    newest = subject.newest
    assert newest is not None
    assert (newest.kind, newest.record, newest.references) == ("AVRO", "shop.Order", ())
    assert newest.id != subject.version(old).id  # type: ignore[union-attr]
    (row,) = await listed(session, "list schemas orders-*")
    assert (row["subject"], row["type"], row["version"], row["compatibility"]) == (
        "orders-value",
        "AVRO",
        new,
        "BACKWARD",
    )
    assert row["topics"] == [TOPIC]
    told = await described(session, "orders-value")
    assert [(each["place"], each["new_readers"], each["old_readers"]) for each in told["differences"]] == [
        ("/note", 'read ""', "skip it")
    ]


async def listed(session: Session, text: str) -> list[dict[str, Any]]:
    (statement,) = parse(text)
    assert isinstance(statement, List)
    await read_needs(session, needs_of_script([statement]))
    data: Any = to_data(list_kind(statement, session.snapshot))
    return list(data["schemas"])


async def described(session: Session, name: str) -> dict[str, Any]:
    (statement,) = parse(f"describe schema {name}")
    assert isinstance(statement, Show)
    await read_needs(session, needs_of_script([statement]))
    found: Any = to_data(show(statement, subject_resource(name), session.snapshot, session.plan, None))
    return dict(found)


async def test_references_are_followed_both_ways(session: Session) -> None:
    await registered(session, "orders-value", FIRST)
    number = last(session, "orders-value")
    await applied(session, f"schema payments-value '{PAYMENT}' references=shop.Order:orders-value:{number}")
    newest = session.snapshot.schemas["payments-value"].newest
    assert newest is not None
    assert newest.references == (SchemaReference("shop.Order", "orders-value", number),)
    (row,) = await listed(session, "list schemas orders-value")
    assert row["referenced_by"] == 1
    outcome = await check_of(session, "delete schema orders-value")
    assert outcome.failure is not None
    assert outcome.failure.name == "IN_USE"
    names = {each.name for each in risks(session.plan.staged, session.snapshot)}
    assert names == {"in-use"}


async def test_a_version_that_breaks_readers_is_refused_by_the_registry_and_named_here(session: Session) -> None:
    await registered(session, "orders-value", FIRST)
    outcome = await check_of(session, f"schema orders-value '{BROKEN}'")
    (risk, other) = risks(session.plan.staged, session.snapshot)
    assert {risk.name, other.name} == {"readers-break"}
    assert "/id: string can't be read as long" in risk.text
    assert outcome.failure is not None
    assert outcome.failure.name == "INCOMPATIBLE"
    assert outcome.failure.message.startswith("not BACKWARD: ")


async def test_nothing_is_checked_where_the_level_is_none(session: Session) -> None:
    await registered(session, "orders-value", FIRST)
    await applied(session, "set schema <default> compatibility=NONE")
    session.discard()
    await staged(session, f"schema orders-value '{BROKEN}'")
    names = {each.name for each in risks(session.plan.staged, session.snapshot)}
    assert names == {"readers-break", "nothing-checked"}
    session.discard()
    await applied(session, "set schema <default> compatibility=BACKWARD")
    await staged(session, "set schema <default> compatibility=NONE")
    assert {each.name for each in risks(session.plan.staged, session.snapshot)} == {"nothing-checked"}


async def test_a_level_is_a_config_with_a_default(session: Session) -> None:
    await registered(session, "orders-value", FIRST)

    def level() -> tuple[str | None, str]:
        found = config.entry_in(session.snapshot.configs, subject_resource("orders-value"), COMPATIBILITY)
        assert found is not None
        return found.value, found.source.name

    assert level() == ("BACKWARD", "DYNAMIC_DEFAULT_SCHEMA_CONFIG")
    await applied(session, "set schema orders-value compatibility=full")
    assert level() == ("FULL", "DYNAMIC_SCHEMA_CONFIG")
    await applied(session, "unset schema orders-value compatibility")
    assert level() == ("BACKWARD", "DYNAMIC_DEFAULT_SCHEMA_CONFIG")
    refused = await staged(session, "set schema orders-value compatibility=SILLY")
    assert "SILLY is no compatibility; there are BACKWARD" in str(refused.refused[0])


async def test_a_mode_refuses_changes_until_it_is_reset(cluster: ThreadedCluster, embedded: RegistryServer) -> None:
    with worlds.session_on(worlds.settings(cluster, schemas=embedded.settings)) as session:
        await read(session)
        await registered(session, "orders-value", FIRST)

        def mode(name: str) -> tuple[str | None, str]:
            found = config.entry_in(session.snapshot.configs, subject_resource(name), MODE)
            assert found is not None
            return found.value, found.source.name

        assert mode("orders-value") == ("READWRITE", "DYNAMIC_DEFAULT_SCHEMA_CONFIG")
        change = await applied(session, "set schema orders-value mode=readonly")
        assert mode("orders-value") == ("READONLY", "DYNAMIC_SCHEMA_CONFIG")
        assert embedded.state.values["orders-value", MODE] == "READONLY"
        session.discard()
        refused = await staged(session, f"schema orders-value '{SECOND}'")
        assert "orders-value accepts no version: its mode is READONLY" in str(refused.refused[0])
        await reverted(session, change)
        assert mode("orders-value") == ("READWRITE", "DYNAMIC_DEFAULT_SCHEMA_CONFIG")
        await applied(session, "set schema orders-value mode=READONLY")
        session.discard()
        # kac sets the mode before it registers the version.
        await staged(session, f"set schema orders-value mode=READWRITE; schema orders-value '{SECOND}'")
        assert (await changing.apply_plan(session, ACCEPTED)).ok
        await read(session)
        assert live(session, "orders-value") == [1, 2]
        await applied(session, "unset schema orders-value mode")
        await applied(session, "set schema <default> mode=READONLY")
        assert mode("orders-value") == ("READONLY", "DYNAMIC_DEFAULT_SCHEMA_CONFIG")
        session.discard()
        refused = await staged(session, "delete schema orders-value")
        assert "set schema <default> mode=READWRITE allows it" in str(refused.refused[0])
        await applied(session, "unset schema <default> mode")
        assert embedded.state.values["", MODE] == "READWRITE"
        silly = await staged(session, "set schema orders-value mode=SILLY")
        assert "SILLY is no mode; there are READWRITE" in str(silly.refused[0])


async def test_a_mode_that_the_registry_refuses_meanwhile_fails_with_its_words(
    cluster: ThreadedCluster, embedded: RegistryServer
) -> None:
    with worlds.session_on(worlds.settings(cluster, schemas=embedded.settings)) as session:
        await read(session)
        await staged(session, f"schema orders-value '{FIRST}'")
        embedded.state.values["", MODE] = "READONLY"
        report = await changing.apply_plan(session, ACCEPTED)
        assert not report.ok
        (outcome,) = (each for result in report.results for each in result.outcomes)
        assert outcome.failure is not None
        assert "READONLY mode" in outcome.failure.message


@pytest.mark.slow
@pytest.mark.takes(20)
async def test_a_registry_without_modes_says_so(cluster: ThreadedCluster, real: HttpSettings) -> None:
    with worlds.session_on(worlds.settings(cluster, schemas=real)) as session:
        await read(session)
        session.discard()
        await staged(session, "set schema <default> mode=READONLY")
        report = await applying.check_plan(session)
        (outcome,) = (each for result in report.results for each in result.outcomes)
        assert outcome.failure is not None
        assert outcome.failure.message == "the registry has no modes"


async def test_a_version_is_deleted_and_registered_again(session: Session) -> None:
    await registered(session, "orders-value", FIRST, SECOND)
    number = last(session, "orders-value")
    was = session.snapshot.schemas["orders-value"].version(number)
    assert was is not None
    await applied(session, f"delete schema orders-value version {number}")
    deleted = session.snapshot.schemas["orders-value"].version(number)
    assert deleted is not None
    assert deleted.is_deleted
    await applied(session, f"undelete schema orders-value version {number}")
    newest = session.snapshot.schemas["orders-value"].newest
    assert newest is not None
    assert (newest.number, newest.id) == (number + 1, was.id)


async def test_the_same_schema_is_not_registered_twice(session: Session) -> None:
    await registered(session, "orders-value", FIRST)
    session.discard()
    report = await staged(session, f"schema orders-value '{json.dumps(json.loads(FIRST), indent=1)}'")
    assert "already" in str(report.dropped[0])


async def test_files_bring_a_registry_to_their_state(session: Session, tmp_path: Path) -> None:
    """A file with two subjects, the second of which refers to the first, is applied in this order; a prune deletes them
    in the reverse order. Apicurio keeps counting references to a deleted subject, so no other test uses these
    subjects.
    """
    # A registry that had these subjects continues their version numbers after a permanent deletion.
    await registered(session, "parts-value", FIRST)
    number = last(session, "parts-value")
    (tmp_path / "order.avsc").write_text(json.dumps(json.loads(SECOND), indent=1))
    (tmp_path / "payment.avsc").write_text(PAYMENT)
    file = tmp_path / "wanted.yaml"
    file.write_text(
        "version: 1\nschemas:\n  payments-value:\n    file: payment.avsc\n"
        f'    references: ["shop.Order:parts-value:{number + 1}"]\n'
        "  parts-value:\n    file: order.avsc\n    compatibility: FULL\n"
    )
    wanted = read_files([str(file)]).wanted
    assert wanted_edits(wanted, await read_everything(session, (), wanted.subjects)) == 3
    session.stage(file_edits(wanted, session.snapshot).edits)
    report = await changing.apply_plan(session, ACCEPTED)
    assert report.ok, report
    assert wanted_edits(wanted, await read_everything(session, (), wanted.subjects)) == 0
    exported = tmp_path / "exported.yaml"
    exported.write_text(yaml_text(wanted_of(await read_everything(session)), "title"))
    again = read_files([str(exported)]).wanted
    assert wanted_edits(again, await read_everything(session, (), again.subjects)) == 0
    session.discard()
    await registered(session, "kept-value", '"int"')
    only = replace(Wanted(), schemas={subject_resource("kept-value"): WantedSubject()})
    session.stage(file_edits(only, await read_everything(session, (), ()), (Prune("schemas"),)).edits)
    report = await changing.apply_plan(session, ACCEPTED)
    await read(session)
    assert live(session, "payments-value") == []
    # Apicurio counts the references of a softly deleted schema.
    settings = session.context.schemas
    assert settings is not None
    is_apicurio = CCOMPAT in f"{settings.path}/"
    assert report.ok is not is_apicurio
    assert bool(live(session, "parts-value")) is is_apicurio
    await applied(session, "delete schema kept-value")


def wanted_edits(wanted: Wanted, snapshot: Snapshot) -> int:
    """Return the number of edits that a file needs, without those of topics. Raises AssertionError if something in the
    file can't be applied.
    """
    found = file_edits(wanted, snapshot)
    assert found.obstacles == ()
    return sum(not isinstance(each.target, TopicTarget) for each in found.edits)


async def test_reverts_delete_and_register(session: Session) -> None:
    """The revert of a registration deletes the version; the revert of a deletion registers the schema as a newer
    version. No other test refers to this subject, because Apicurio keeps counting references to it.
    """
    await registered(session, "undone-value", FIRST)
    change = await applied(session, f"schema undone-value '{SECOND}'")
    number = last(session, "undone-value")
    await reverted(session, change)
    assert number not in live(session, "undone-value")
    change = await applied(session, "delete schema undone-value")
    assert live(session, "undone-value") == []
    await reverted(session, change)
    newest = session.snapshot.schemas["undone-value"].newest
    assert newest is not None
    assert newest.number > number


async def reverted(session: Session, change: int) -> None:
    """Revert the change with this number, and read the schemas again. Raises AssertionError if the apply fails."""
    session.discard()
    await journal_changes.stage_revert(session, change)
    report = await changing.apply_plan(session, ACCEPTED)
    assert report.ok, report
    await read(session)


async def test_a_registry_that_is_gone_is_a_failure_of_its_part_alone(cluster: ThreadedCluster) -> None:
    with registry() as running:
        settings = running.settings
    with worlds.session_on(worlds.settings(cluster, schemas=settings)) as session:
        await session.read_whole(Part.SCHEMAS)
        await session.read_topics()
        (failed,) = session.snapshot.failures
        assert failed.part == Part.SCHEMAS
        assert "the registry is not reached" in failed.failure.message
        assert session.snapshot.topics


# ----------------------------------------------------------------------------------------------------------------------
# The topics that use a schema, found by the ids in their newest records: kac reads them for `describe schema`, `whose
# topic`, Enter and a deletion, but never in a context without records

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
NEWER = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"note","type":"string","default":""}]}'
)
Written = list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]]


def by_id(number: int) -> bytes:
    """Return a record value in Confluent's framing, with this schema id."""
    return b"\0" + struct.pack(">i", number) + b"\x02"


def produce(running: ThreadedCluster, topic: str, records: Written) -> None:
    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=running.bootstrap) as producer:
            for key, value, headers in records:
                await producer.send_and_wait(topic, value, key, 0, headers=headers)

    asyncio.run(send())


@pytest.fixture(scope="module")
def schemas() -> Iterator[RegistryServer]:
    """Provide a registry with three subjects: one is named after a topic, one after a record, and the topic of the
    third one has records of other schemas.
    """
    with registry() as running:
        assert [running.register("orders-value", text) for text in (ORDER, NEWER)] == [1, 2]
        assert running.register("shop.Order", ORDER) == 1
        assert running.register("carts-value", '"int"') == 3
        yield running


@pytest.fixture(scope="module")
def sampled(schemas: RegistryServer) -> Iterator[ThreadedCluster]:
    from console.embedded.brokers import run_in_thread

    with run_in_thread(ClusterSpec(brokers=1)) as running:
        for name in ("orders", "carts", "archive", "empty"):
            running.call(worlds.topic(name, 1, brokers=(1,)))
        produce(
            running, "orders", [(b"k", by_id(1), []), (b"k", by_id(2), []), (b"k", by_id(2), []), (b"k", b"{}", [])]
        )
        produce(running, "carts", [(None, b"\0\0\0\0\x63\x02", []), (b"gone", None, [])])
        produce(running, "archive", [(by_id(1), None, [])])
        yield running


async def told(sampled: ThreadedCluster, schemas: RegistryServer, text: str, **changes: Any) -> str:
    out, code = await worlds.script(sampled, text, schemas=schemas.settings, **changes)
    assert code == 0
    return out


async def test_a_subjects_topics_are_told_by_name_and_by_ids(sampled: ThreadedCluster, schemas: RegistryServer) -> None:
    out = await told(sampled, schemas, "describe schema orders-value")
    assert (
        "topic orders, value (by name: TopicNameStrategy; "
        "by the ids of 3 of the 4 newest records, value, version 1, 2)" in out
    )
    # The ids belong to other subjects too: the same schema has one id in all subjects.
    out, _ = await worlds.script(sampled, "describe schema orders-value", "json", schemas=schemas.settings)
    assert json.loads(out)["ids_in_records"] == [
        {"topic": "orders", "part": "value", "records": 3, "read": 4, "versions": [1, 2]}
    ]


async def test_a_topic_whose_records_are_others_is_told(sampled: ThreadedCluster, schemas: RegistryServer) -> None:
    out = await told(sampled, schemas, "describe schema carts-value")
    assert "topic carts, value (by name: TopicNameStrategy; none of the 2 newest records has its ids)" in out


async def test_a_records_own_name_is_looked_for_in_topics_without_a_subject(
    sampled: ThreadedCluster, schemas: RegistryServer
) -> None:
    out = await told(sampled, schemas, "describe schema shop.Order")
    assert "topic archive (by the ids of 1 of the 1 newest records, key, version 1)" in out


async def test_whose_topic_names_its_schemas(sampled: ThreadedCluster, schemas: RegistryServer) -> None:
    out, _ = await worlds.script(sampled, "whose topic orders", "json", schemas=schemas.settings)
    uses = {(each["what"], each["who"]): (each["sure"], each["why"]) for each in json.loads(out)["uses"]}
    why = "its ids are in 3 of the 4 newest records, as value, version 1,2"
    assert uses["describes", "schema orders-value"] == ("sure", why)
    assert uses["describes", "schema shop.Order"][0] == "sure"
    out, _ = await worlds.script(sampled, "whose topic carts", "json", schemas=schemas.settings)
    uses = {(each["what"], each["who"]): (each["sure"], each["why"]) for each in json.loads(out)["uses"]}
    assert uses["describes", "schema carts-value"] == ("likely", "by name: TopicNameStrategy, value")


async def test_no_records_are_read_where_none_may_be(sampled: ThreadedCluster, schemas: RegistryServer) -> None:
    sampled.call(lambda one: one.faults.add(Fault(Fail(29), api="fetch")))
    try:
        out = await told(sampled, schemas, "describe schema orders-value", records="never")
        assert "topic orders, value (by name: TopicNameStrategy)" in out
        # The fault refuses each fetch, as for a principal without READ: kac finds the topic only by its name.
        assert "(by name: TopicNameStrategy)" in await told(sampled, schemas, "describe schema orders-value")
    finally:
        sampled.call(lambda one: one.faults.clear())
    with AdminClient(worlds.settings(sampled, schemas=schemas.settings)) as client:
        never = Context("test", "tests", client.settings, records="never")
        session = Session(client, never, "test")
        await session.read_topics()
        await session.keep(read_schema_samples(client, never, session.snapshot, ["orders"]))
        assert session.snapshot.schema_samples == {}


async def test_a_deletion_of_what_records_use_says_so(sampled: ThreadedCluster, schemas: RegistryServer) -> None:
    with worlds.session_on(worlds.settings(sampled, schemas=schemas.settings)) as session:
        await staged(session, "delete schema shop.Order")
        (risk,) = risks(session.plan.staged, session.snapshot)
        assert risk.name == "in-use"
        assert "topic archive uses it, and newest records of archive have its ids" in risk.text


async def test_lint_names_topics_with_records_without_a_schema(
    sampled: ThreadedCluster, schemas: RegistryServer
) -> None:
    with worlds.session_on(worlds.settings(sampled, schemas=schemas.settings)) as session:
        await session.read_topics()
        await session.read_whole(Part.SCHEMAS)
        rule = next(each for each in dict(SUBJECTS)["Schemas"] if each.name == "records-without-schema")

        def found() -> list[str]:
            seen = lint_reading.seen_by(session.snapshot, session.clock.now(), session.context)
            return [f"{each.subject.name}: {each.what}" for each in rule.find(seen)]  # type: ignore[union-attr]

        assert found() == []
        names = ["orders", "carts", "empty"]
        await session.keep(read_schema_samples(session.client, session.context, session.snapshot, names))
        assert found() == ["orders: 1 of its 4 newest records have a value without a schema"]


async def test_apicurios_own_ids_are_looked_up(sampled: ThreadedCluster) -> None:
    recorded = json.loads(record_apicurio_payloads.RECORDED.read_text())
    (payload,) = (each for each in recorded["payloads"] if each["name"] == "avro-global")
    headers = [(name, bytes.fromhex(value)) for name, value in payload["headers"]]
    sampled.call(worlds.topic("by-apicurio", 1, brokers=(1,)))
    await asyncio.to_thread(produce, sampled, "by-apicurio", [(None, bytes.fromhex(payload["data"]), headers)])
    with registry() as running:
        for path, body in recorded["answers"].items():
            running.bad[path.partition("?")[0]] = Bad(body=body.encode())
        with worlds.session_on(
            worlds.settings(sampled, schemas=HttpSettings("127.0.0.1", running.port, "/apis/ccompat/v7"))
        ) as session:
            await session.read_topics()
            await session.keep(read_schema_samples(session.client, session.context, session.snapshot, ["by-apicurio"]))
    sample = session.snapshot.schema_samples["by-apicurio"]
    ((key, names),) = sample.subjects.items()
    assert key.of.startswith("Apicurio")
    assert len(names) > 0


def test_only_so_many_topics_are_read_for_a_subject() -> None:
    from console.model.cluster import Topic

    topics = {f"t{n:03}": Topic(f"t{n:03}", ()) for n in range(100)}
    subject = Subject("shop.Order", (SchemaVersion(1, 1, "AVRO", "shop.Order"),))
    taken = Subject("t000-value", (SchemaVersion(1, 2, "AVRO"),))
    snapshot = Snapshot(topics=topics, schemas={each.name: each for each in (subject, taken)})
    found = schema_use.candidates(snapshot, "shop.Order")
    assert len(found) == schema_use.MOST_TOPICS
    assert "t000" not in found
    assert schema_use.candidates(snapshot, "t000-value") == ["t000"]
    assert schema_use.candidates(snapshot, "unknown") == []
