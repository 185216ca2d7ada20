"""What producers wrote lately, as the leaders have it: sizes of batches, records without keys."""

from __future__ import annotations

from console.admin.link import Link
from console.admin.newest_batches import counted, newest_batches
from console.admin.topics import describe_topics
from console.contexts.context import NEVER
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Fail, Fault
from console.model.config import topic_resource
from console.model.records import NewestBatches
from console.plan import risk_rules
from console.plan.edits import SetConfig
from console.plan.risks import risks
from console.session.plan_facts import read_for_risks
from tests.embedded.poisoned import TOPIC, poisoned, session_on
from tests.embedded.record_batches import batch
from tests.support import worlds

running = worlds.running(poisoned, scope="module")

link = worlds.link("running", worlds.mend)


async def test_the_newest_batches_of_a_topic(running: ThreadedCluster, link: Link) -> None:
    topic = (await describe_topics(link, [TOPIC])).topics[TOPIC]
    (found,) = (await newest_batches(link, [topic])).values()
    assert found.largest > 0
    assert 0 < found.keyless <= found.records
    running.call(lambda one: one.faults.add(Fault(Fail(29), api="fetch")))
    assert await newest_batches(link, [topic]) == {}, "they may not be read"


async def test_a_warning_has_what_was_read(link: Link) -> None:
    session = session_on(link)
    (staged,) = session.stage([SetConfig(topic_resource(TOPIC), "cleanup.policy", "compact")]).plan.staged
    facts = await read_for_risks(session, [staged])
    assert facts.batches[TOPIC].keyless
    assert [each.name for each in risks([staged], session.snapshot, facts)] == [risk_rules.KEYLESS_RECORDS]


async def test_a_context_that_forbids_records_reads_none_for_a_warning(link: Link) -> None:
    session = session_on(link, records=NEVER)
    (staged,) = session.stage([SetConfig(topic_resource(TOPIC), "cleanup.policy", "compact")]).plan.staged
    assert (await read_for_risks(session, [staged])).batches == {}


def test_records_before_the_offset_are_not_counted() -> None:
    data = batch(b"a", b"b", b"c", key=None)
    assert counted(data, 1) == NewestBatches(len(data), 2, 2)
    assert counted(data, 3) == NewestBatches()
    assert counted(data[:-2] + b"\xff\xff", 0) == NewestBatches(), "its checksum is wrong"
