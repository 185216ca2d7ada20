"""The files of a cluster with one topic, for tests: its metadata log, its broker's request log and authorizer log, a
journal of kac, and polls. Each call of `Site.go_on` adds a round to them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from console.journal import entries
from console.lake import inputs, landing, runs
from console.lake.lake import Lake
from console.model import changes, config
from console.model.journal_lines import Origin, Request, Sending, Who
from console.plan.edits import SetConfig
from console.plan.staged import UNREAD, Staged
from tests.lake.lake_tables import held
from tests.lake.request_lines import Logged, alter_configs, produce
from tests.support.metadata_log import batch, value

CLUSTER = "small-site-of-the-tests"
KEY = b"a-planted-key-of-hmacs-of-32-by-"
PASSWORD = "planted-password-4711"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TOPIC = "jBoaEDhbVBKNssPD7v9pjw"
REQUESTS = 40
"""The number of Produce requests of alice in a round."""
DENIALS = 7
"""The number of alice's requests in a round that the authorizer denies; it allows one further request of hers."""


class Site:
    """The files of a cluster, in a directory of their own.

    Attributes:
        records, lines, checks, polls: how many metadata records, request lines, authorizer decisions and polls were
        written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rounds = self.records = self.lines = self.checks = self.polls = 0
        self.log = folder / "data" / "__cluster_metadata-0"
        self.log.mkdir(parents=True)
        (self.log.parent / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n")
        self.segment = self.log / f"{0:020}.log"
        self.request_log = folder / "requests" / "request.log"
        self.request_log.parent.mkdir()
        self.authorizer_log = self.request_log.with_name("authorizer.log")
        self.journal = folder / "journal" / f"{CLUSTER}.jsonl"
        self.journal.parent.mkdir()
        self.inputs = inputs.Inputs(
            (inputs.MetadataLog(str(self.log)),),
            (inputs.RequestLog((f"{self.request_log}*",), CLUSTER, 1),),
            (inputs.Journals(str(self.journal)),),
            authorizer_logs=(inputs.AuthorizerLog((f"{self.authorizer_log}*",), CLUSTER, 1),),
        )

    def plan(self, lake: Lake) -> runs.Plan:
        """Return the plan of a run that reads this site's files into the lake."""
        return runs.Plan(lake, self.inputs)

    @property
    def now(self) -> datetime:
        """The time of the last round."""
        return NOON + timedelta(minutes=self.rounds)

    def go_on(self, *lakes: Lake) -> None:
        """Add another round, a minute after the last one, to all files, and deliver its poll to these lakes."""
        self.rounds += 1
        text = str(self.rounds * 1000)
        self.record(*self._made_records(text))
        self.request(
            alter_configs([("retention.ms", 0, text)], at=self._clock(3), correlation_id=self.rounds),
            *(produce(1000, at=self._clock(100 + 7 * each), throttle_ms=each % 3) for each in range(REQUESTS)),
        )
        self._decide()
        self._note(text)
        rows: list[Any] = [("heartbeat", "topic,broker", None, None, None, None, False)]
        rows.append(("state", "topic", "orders", "retention.ms", text, "DYNAMIC_TOPIC_CONFIG", False))
        for lake in lakes:
            at = int((self.now + timedelta(seconds=30)).timestamp() * 1e6)
            landing.deliver(lake, [landing.Landed(CLUSTER, at, list(rows))], f"round-{self.rounds:03}")
        self.polls += 1

    def record(self, *values: bytes) -> None:
        """Append a batch with these records to the metadata log."""
        with self.segment.open("ab") as file:
            file.write(batch(self.records, values, stamp_ms=int(self.now.timestamp() * 1000)))
        self.records += len(values)

    def request(self, *lines: Logged) -> None:
        """Append lines to the request log."""
        with self.request_log.open("a") as file:
            file.writelines(each.line for each in lines)
        self.lines += len(lines)

    def _decide(self) -> None:
        with self.authorizer_log.open("a") as file:
            for number in range(DENIALS + 1):
                word, rule = ("Denied", "DefaultDeny") if number else ("Allowed", "SuperUser")
                file.write(decision(self._clock(50 * number), word, rule=rule))
        self.checks += DENIALS + 1

    def _clock(self, millis: int) -> datetime:
        return (self.now + timedelta(milliseconds=millis)).replace(tzinfo=None)

    def _made_records(self, text: str) -> Iterator[bytes]:
        if self.rounds == 1:
            yield value("TopicRecord", name="orders", topicId=TOPIC)
        password = PASSWORD + text
        yield value("ConfigRecord", resourceType=2, resourceName="orders", name="retention.ms", value=text)
        yield value("ConfigRecord", resourceType=4, resourceName="1", name="ssl.keystore.password", value=password)
        alice: dict[str, Any] = {"entityType": "user", "entityName": "alice"}
        limit = 1000.0 * self.rounds
        yield value("ClientQuotaRecord", entity=[alice], key="producer_byte_rate", value=limit, remove=False)

    def _note(self, text: str) -> None:
        entry = entries.Entry(Staged(SetConfig(config.topic_resource("orders"), "retention.ms", text), UNREAD))
        request = Request("INCREMENTAL_ALTER_CONFIGS", None, (0,))
        change = entries.Intent(
            self.now, "prod", Who("alice", "bob"), Origin("host-1", "run", 17), (entry,), (request,)
        )
        ended = entries.Answered(
            self.rounds, 0, self.now + timedelta(milliseconds=4), {0: entries.Ended(changes.Status.APPLIED)}
        )
        with self.journal.open("ab") as file:
            sending = Sending(self.rounds, 0, self.now)
            file.writelines(
                (entries.intent_line(self.rounds, change), entries.note_line(sending), entries.note_line(ended))
            )

    def problems(self, lake: Lake) -> list[str]:
        """Return a text, such as ``5 lines, not 6``, for each kind of row whose count in bronze is wrong. The list is
        empty if each line, record, check, poll and change is there exactly once.
        """
        requests = [row for row in held(lake, "request") if not row["quarantined"]]
        decisions = [row["minute"] for row in held(lake, "authorization") if row["minute"]]
        states = [row for row in held(lake, "snapshot") if row["kind"] == "heartbeat"]
        counts = {
            "records": (self.records, len({row["log_offset"] for row in held(lake, "kraft_record")})),
            "rows of records": (self.records, len(held(lake, "kraft_record"))),
            "lines": (self.lines, sum(row["lines"] for row in requests)),
            "requests": (self.lines, sum(row["second"]["requests"] for row in requests if row["second"])),
            "changes asked for": (self.rounds, sum(row["alter"] is not None for row in requests)),
            "decisions": (self.checks, sum(row["checks"] for row in decisions)),
            "changes in the journal": (self.rounds, len(held(lake, "journal"))),
            "polls": (self.polls, len(states)),
        }
        return [f"{there} {name}, not {wanted}" for name, (wanted, there) in counts.items() if wanted != there]


def decision(at: datetime, word: str, *, rule: str | None = "DefaultDeny", topic: str = "orders") -> str:
    """Return the log line in which a broker's authorizer allows or denies alice to read a topic. at: the local time,
    without a time zone. word: as ``Denied``. rule: the rule that decided; None for a line without it.
    """
    clock = at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    by = "" if rule is None else f" based on rule {rule}"
    return (
        f"[{clock}] INFO Principal = User:alice is {word} operation = READ from host = 10.0.0.7 on resource = "
        f"Topic:LITERAL:{topic} for request = Fetch with resourceRefCount = 1{by} (kafka.authorizer.logger)\n"
    )


def new_lake(where: Path, key: bytes = KEY) -> Lake:
    where.mkdir(parents=True)
    (where / "hmac.key").write_bytes(key)
    return Lake.create(str(where))


@contextmanager
def no_session() -> Iterator[Any]:
    """Raise AssertionError, in place of starting a Spark session."""
    raise AssertionError("Spark was started")
    yield
