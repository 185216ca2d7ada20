"""An embedded cluster with a topic of JSON records, one record that is not JSON, and a group whose committed offset is
that record's.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin.link import Link
from console.admin.record_times import record_times
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import RELEASE_NAMES
from console.session.session import Session
from tests.support import worlds
from tests.support.changing import make_topic
from tests.support.older_brokers import like

TOPIC, GROUP = "orders", "billing"
POISON = 3
"""The offset of the record that is not JSON."""
TIME = 1_790_000_000_000
HOSTILE = "\x1b[2J\u202e[red]gnp\x07"
"""Text with control characters, a right-to-left override and markup."""


class OnLink:
    """A client that runs operations on a link in the same event loop. asked: the number of requests for the timestamps
    of records.
    """

    def __init__(self, link: Link) -> None:
        self.link, self.asked = link, 0

    async def run(self, operation, *args, **options):  # type: ignore[no-untyped-def]
        self.asked += operation is record_times
        return await operation(self.link, *args, **options)


def session_on(link: Link, **wanted: str) -> Session:
    """Return a session of kac whose client uses a link. wanted: fields of its context."""
    return Session(OnLink(link), Context("test", "test", link.settings, journal=False, **wanted))  # type: ignore[arg-type]


@contextmanager
def poisoned(release: str = RELEASE_NAMES[-1]) -> Iterator[ThreadedCluster]:
    """Run the cluster until the end of the block. Partition 0 has ten records, of which the one at offset `POISON` is
    not JSON; partition 1 has hostile text.
    """
    import asyncio

    with run_in_thread(like(release, brokers=1)) as running:
        asyncio.run(_fill(running))
        yield running


async def _fill(running: ThreadedCluster) -> None:
    link = Link(worlds.settings(running))
    await make_topic(link, TOPIC, partitions=2, retention_ms="-1")
    await link.close()
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap, compression_type="gzip")
    await producer.start()
    for place in range(10):
        value = b"\x00\x01\xfe poison" if place == POISON else b'{"id": %d, "items": [{"price": %d}]}' % (place, place)
        headers = [("trace", b"t-%d" % place)]
        await producer.send_and_wait(TOPIC, value, b"key-%d" % place, 0, TIME + place, headers)
    await producer.send_and_wait(TOPIC, HOSTILE.encode(), HOSTILE.encode(), 1, TIME, [(HOSTILE, HOSTILE.encode())])
    await producer.send_and_wait(TOPIC, None, b"gone", 1, TIME + 1)
    await producer.send_and_wait(TOPIC, b"x" * 900_000, None, 1, TIME + 2)
    await producer.stop()
    consumer = AIOKafkaConsumer(bootstrap_servers=running.bootstrap, group_id=GROUP, enable_auto_commit=False)
    await consumer.start()
    place = TopicPartition(TOPIC, 0)
    consumer.assign([place])
    await consumer.commit({place: POISON})
    await consumer.stop()
