"""A transactional producer that makes each step of the protocol separately. It can also write records outside a
transaction, which no real client does.

A broker with transaction.partition.verification.enable=false accepts such records: they open a hanging transaction,
which no coordinator knows (KIP-890).
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Self

from console.model.secret import Secret
from tests.contract.client import Client
from tests.embedded.record_batches import batch
from tests.support.kafka_messages import with_fields

_TRANSACTION = 1
_PRODUCE, _ADD, _END, _INIT, _ADD_OFFSETS, _COMMIT_OFFSETS, _FETCH_OFFSETS = 9, 3, 3, 4, 3, 3, 8
"""Versions of the first protocol of transactions, in which clients name each partition to the coordinator."""
_SECONDS = timedelta(seconds=30)


class Refused(Exception):
    """A broker answered with an error code."""


class TransactionalClient:
    """A transactional producer; a context manager. addresses: broker id -> (host, port). login: user and password; None
    for no login.
    """

    def __init__(
        self,
        addresses: Mapping[int, tuple[str, int]],
        transactional_id: str,
        *,
        timeout_ms: int = 600_000,
        login: tuple[str, Secret] | None = None,
    ) -> None:
        self._clients = {id_: Client(address, login) for id_, address in addresses.items()}
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()

    def begin(self, *, goes_on: bool = False) -> None:
        """Get a producer id, or the next producer epoch, by InitProducerId; this aborts an open transaction. goes_on:
        whether to send the former producer id and epoch, to continue as the same producer (KIP-360).
        """
        mine = {"producer_id": self.producer_id, "producer_epoch": self.epoch} if goes_on else {}
        answer = self._coordinator(
            "init_producer_id",
            _INIT,
            with_fields(transactional_id=self.transactional_id, transaction_timeout=self.timeout_ms / 1000, **mine),
        )
        self.producer_id, self.epoch = int(answer.producer_id), answer.producer_epoch
        self._sequences.clear()

    def add(self, topic: str, *partitions: int) -> None:
        """Add partitions to the transaction, at the coordinator (AddPartitionsToTxn). The first call starts the
        transaction.
        """
        answer = self._coordinator(
            "add_partitions_to_txn",
            _ADD,
            with_fields(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self.producer_id,
                v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[{"name": topic, "partitions": partitions}],
            ),
        )
        for result in answer.results_by_topic_v3_and_below:
            for part in result.results_by_partition:
                _expect(part.partition_error_code, "add_partitions_to_txn")

    def write(self, topic: str, partition: int, *values: bytes, times: Sequence[int] = ()) -> int:
        """Write a transactional batch to a partition, without adding the partition at the coordinator. Return the
        offset of its first record. times: the records' timestamps, ms since 1970; empty for the same time for all.
        """
        place = topic, partition
        sequence = self._sequences.get(place, 0)
        data = batch(*values, times=times, producer=(self.producer_id, self.epoch, sequence), transactional=True)
        asked = with_fields(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout=_SECONDS,
            topic_data=[{"name": topic, "partition_data": [{"index": partition, "records": data}]}],
        )
        while True:  # the leader of a new topic may not know yet that it leads
            answer = self._clients[self._leader(topic, partition)].ask("produce", _PRODUCE, asked)
            part = answer.responses[0].partition_responses[0]
            if part.error_code != _NOT_LEADER:
                break
        _expect(part.error_code, "produce")
        self._sequences[place] = sequence + len(values)
        return int(part.base_offset)

    def add_offsets(self, group: str) -> None:
        """Add a group's offsets to the transaction, at the coordinator (AddOffsetsToTxn)."""
        answer = self._coordinator("add_offsets_to_txn", _ADD_OFFSETS, with_fields(**self._mine, group_id=group))
        _expect(answer.error_code, "add_offsets_to_txn")

    def commit_offset(self, group: str, topic: str, offset: int, version: int = _COMMIT_OFFSETS) -> None:
        """Commit a group's offset for partition 0 of a topic as part of the transaction (TxnOffsetCommit)."""
        topics = [{"name": topic, "partitions": [_offset(offset)]}]
        asked = with_fields(**self._mine, group_id=group, topics=topics)
        answer = self._at_group("txn_offset_commit", version, group, asked)
        _expect(answer.topics[0].partitions[0].error_code, "txn_offset_commit")

    def offset(self, group: str, topic: str, *, stable: bool = True) -> int:
        """Return a group's committed offset of partition 0 of a topic; -1 if no offset is committed. If the broker
        refuses, return the negated error code: -88 for an offset in an open transaction, if `stable` asks for stable
        offsets.
        """
        topics = [{"name": topic, "partition_indexes": [0]}]
        asked = with_fields(groups=[{"group_id": group, "topics": topics}], require_stable=stable)
        answer = self._at_group("offset_fetch", _FETCH_OFFSETS, group, asked)
        part = answer.groups[0].topics[0].partitions[0]
        return -int(part.error_code) if part.error_code else int(part.committed_offset)

    @property
    def _mine(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def _at_group(self, api: str, version: int, group: str, build: Any) -> Any:
        """Send a request to a group's coordinator, and return the answer. Repeat it while the coordinator moves or
        loads.
        """
        while True:
            any_ = next(iter(self._clients.values()))
            found = any_.ask("find_coordinator", 4, with_fields(key_type=0, coordinator_keys=[group])).coordinators[0]
            if found.error_code in _AGAIN:
                continue
            answer = self._clients[found.node_id].ask(api, version, build)
            codes = {part.error_code for topic in getattr(answer, "topics", ()) for part in topic.partitions}
            codes |= {each.error_code for each in getattr(answer, "groups", ())}
            if not codes & _AGAIN:
                return answer

    def end(self, *, commit: bool = True, version: int = _END, epoch: int | None = None) -> int:
        """End the transaction at the coordinator, and wait until the markers are written. Return the producer epoch in
        the response from version 5 on; -1 in older versions.

        commit: whether to commit; False aborts. epoch: the producer epoch to send; None for the current one.
        """
        answer = self._coordinator(
            "end_txn",
            version,
            with_fields(
                transactional_id=self.transactional_id,
                producer_id=self.producer_id,
                producer_epoch=self.epoch if epoch is None else epoch,
                committed=commit,
            ),
        )
        _expect(answer.error_code, "end_txn")
        while not self.state().startswith("Complete"):
            pass
        return int(getattr(answer, "producer_epoch", -1))

    def state(self) -> str:
        """Return the state of the transactional id, as its coordinator describes it."""
        answer = self._coordinator("describe_transactions", 0, with_fields(transactional_ids=[self.transactional_id]))
        return str(answer.transaction_states[0].transaction_state)

    def _coordinator(self, api: str, version: int, build: Any) -> Any:
        """Send a request to the transaction coordinator, and return the answer. Repeat it while the coordinator moves,
        loads or ends the former transaction.
        """
        while True:
            any_ = next(iter(self._clients.values()))
            found = any_.ask(
                "find_coordinator", 4, with_fields(key_type=_TRANSACTION, coordinator_keys=[self.transactional_id])
            ).coordinators[0]
            if found.error_code in _AGAIN:
                continue
            _expect(found.error_code, "find_coordinator")
            answer = self._clients[found.node_id].ask(api, version, build)
            codes = {getattr(answer, "error_code", 0)}
            for result in getattr(answer, "results_by_topic_v3_and_below", ()):
                codes |= {part.partition_error_code for part in result.results_by_partition}
            if not codes & _AGAIN:
                _expect(getattr(answer, "error_code", 0), api)
                return answer

    def _leader(self, topic: str, partition: int) -> int:
        while True:
            any_ = next(iter(self._clients.values()))
            answer = any_.ask(
                "metadata",
                9,
                with_fields(
                    topics=[topic],
                    allow_auto_topic_creation=False,
                    include_cluster_authorized_operations=False,
                    include_topic_authorized_operations=False,
                ),
            )
            for part in answer.topics[0].partitions:
                if part.partition_index == partition and part.leader_id in self._clients:
                    return int(part.leader_id)


_NOT_LEADER = 6
_AGAIN = frozenset({14, 15, 16, 51})
"""The error codes after which a request is repeated: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
NOT_COORDINATOR and CONCURRENT_TRANSACTIONS.
"""


def _expect(code: int, api: str) -> None:
    if code:
        raise Refused(f"{api}: {code}")


def _offset(offset: int) -> dict[str, Any]:
    return {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
