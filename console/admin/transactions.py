"""Transactions (KIP-98, KIP-664): reading the open ones from partition leaders and coordinators, with notes of what
these reads may miss; aborting a hanging one; listing and describing all.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin.acls import describe_acls
from console.admin.configs import describe_configs
from console.admin.delivery import Answer, Sender, Senders, refused
from console.admin.errors import AdminError, BrokerError, failure, of_all_brokers
from console.admin.groups import COORDINATOR_MOVES, SETTLE_SECONDS, CoordinatorsOf, find_coordinators, listed_at, parts
from console.admin.halving import Halving, parted
from console.admin.link import Link, broker, until_settled
from console.admin.partitions import LATEST, leaders_of, list_offsets, place_text, topics_with
from console.admin.topics import describe_topics
from console.model import transactions
from console.model.acl import AclFilter
from console.model.changes import AbortTransaction, Outcome, ProducerTarget, Status
from console.model.codes import AclResourceType, PatternType
from console.model.config import broker_resource
from console.model.coordinators import TRANSACTIONS
from console.model.failure import Failure
from console.model.grouping import grouped
from console.wire.fields import Fields

MAX_PATTERNS = 1_000
"""Maximum number of names in ACLs on transactional ids for which rights are tested, each at each broker. If there are
more, kac can't exclude that ids are hidden from it.
"""

OFFSETS_AT_ONCE = 5_000
"""Number of partitions whose offsets are read at a time."""
MOST_RUNNING = 1_000
"""Maximum number of unfinished transactions that are described although no partition shows records of them."""

_ABORT_RIGHT = "Ask an administrator of the cluster for an ACL: ALTER or CLUSTER_ACTION on CLUSTER kafka-cluster."
_MAX_TIMEOUT = "transaction.max.timeout.ms"


async def stable_offsets(
    link: Link, places: Iterable[transactions.Place]
) -> tuple[dict[transactions.Place, transactions.StableOffsets], dict[transactions.Place, Failure]]:
    """Return (topic, partition) -> its last stable offset and high watermark, and (topic, partition) -> the failure to
    read them. Send two requests to each leader for each `OFFSETS_AT_ONCE` partitions.

    The last stable offsets are read first, so each transaction that is open then keeps its partition's last stable
    offset below the high watermark. But a last stable offset below the high watermark does not prove that a transaction
    is open: records may have been written between the two reads.
    """
    found: dict[transactions.Place, transactions.StableOffsets] = {}
    failures: dict[transactions.Place, Failure] = {}
    for chunk in parts(tuple(dict.fromkeys(places)), OFFSETS_AT_ONCE):
        stable, unstable = await list_offsets(link, dict.fromkeys(chunk, LATEST), stable=True)
        ends, endless = await list_offsets(link, dict.fromkeys(stable, LATEST))
        why = {problem.message: problem for problem in (*endless, *unstable)}
        other = next(iter(why.values()), Failure("UNKNOWN_SERVER_ERROR", "the leader did not answer"))
        for place in chunk:
            if place in ends:
                found[place] = transactions.StableOffsets(stable[place], ends[place])
            else:
                failures[place] = why.get(f"{place[0]}-{place[1]}", other)
    return found, failures


async def poll_transactions(link: Link, places: Iterable[transactions.Place]) -> transactions.Transactions:
    """Return the open transactions in these partitions, with the facts that `model.transactions.verdict` needs.

    An open transaction keeps the last stable offset below the high watermark, so only the producers of partitions in
    this state are described. They are described once more after the coordinators have answered: a transaction that is
    the same both times was open in between. Raises Unsupported before Kafka 3.0, and AdminError if the cluster is
    unreachable.
    """
    offsets, failures = await stable_offsets(link, places)
    waiting = [place for place, each in offsets.items() if each.waiting]
    (before, known), limit = await asyncio.gather(_asked(link, waiting), _max_timeout(link))
    listing, gaps = known
    open_ = list(_open(before))
    doubtful = {each.place for each in open_ if not _is_kept(each, listing)}
    if doubtful:
        gaps = (*gaps, *await _hidden(link))
        after = set(_open(await describe_producers(link, doubtful)))
        open_ = [each._replace(confirmed=_as_found(each) in map(_as_found, after)) for each in open_]
    return transactions.Transactions(
        offsets,
        tuple(sorted(open_, key=lambda each: (each.place, each.producer.start_offset))),
        listing.transactions,
        {**failures, **before.failures},
        gaps if doubtful else (),
        transactions.DEFAULT_MAX_TIMEOUT_MS if limit is None else limit,
        link.now_ms(),
    )


def _as_found(each: transactions.OpenTransaction) -> tuple[transactions.Place, int, int, int]:
    return each.place, each.producer.id, each.producer.epoch, each.producer.start_offset


def _open(listing: transactions.ProducerListing) -> Iterable[transactions.OpenTransaction]:
    return (
        transactions.OpenTransaction(*place, producer)
        for place, producers in listing.producers.items()
        for producer in producers
        if producer.start_offset >= 0
    )


def _is_kept(each: transactions.OpenTransaction, listing: transactions.TransactionListing) -> bool:
    return any(
        known.producer_id == each.producer.id and known.partitions is not None and each.place in known.partitions
        for known in listing.transactions.values()
    )


async def _asked(
    link: Link, waiting: Sequence[transactions.Place]
) -> tuple[transactions.ProducerListing, tuple[transactions.TransactionListing, tuple[Failure, ...]]]:
    """Return the producers of these partitions; and, read after them, the coordinators' transactions, with failures
    that say which ones may be missing.
    """
    producers = await describe_producers(link, waiting)
    ids = {each.producer.id for each in _open(producers)}
    before = await _coordinators(link)
    listing = await list_transactions(link)
    gaps = [
        Failure(why.name, f"{who} did not list its transactions: {why.message or why.name}", why.remedy)
        for who, why in listing.failures.items()
    ]
    known = listing.transactions.values()
    running = [each.id for each in known if each.state in transactions.UNFINISHED][:MOST_RUNNING]
    wanted = [*(each.id for each in known if each.producer_id in ids), *running]
    described = await describe_transactions(link, wanted)
    gaps += _unled(before, await _coordinators(link))
    return producers, (
        transactions.TransactionListing({**listing.transactions, **described.transactions}, described.failures),
        tuple(gaps),
    )


async def _coordinators(link: Link) -> Mapping[int, tuple[int, int]] | Failure:
    """Return partition number of the transaction log (__transaction_state) -> its leader and leader epoch. Empty if the
    topic does not exist; the failure if it can't be described.
    """
    listing = await describe_topics(link, [TRANSACTIONS])
    topic = listing.topics.get(TRANSACTIONS)
    if topic is not None:
        return {each.number: (each.leader, each.leader_epoch) for each in topic.partitions}
    why = listing.failures.get(TRANSACTIONS)
    return {} if why is None or why.name == "UNKNOWN_TOPIC_OR_PARTITION" else why


def _unled(
    before: Mapping[int, tuple[int, int]] | Failure, after: Mapping[int, tuple[int, int]] | Failure
) -> list[Failure]:
    """Return the reasons why a listing of transactions may lack those of some coordinators; empty if all coordinators
    answered.

    Args:
        before, after: partition number -> its leader and leader epoch, before and after the listing; or the failure to
        describe them.
    """
    if isinstance(before, Failure) or isinstance(after, Failure):
        why = before if isinstance(before, Failure) else after
        assert isinstance(why, Failure)
        text = f"whether every coordinator was asked can't be seen: {TRANSACTIONS} may not be described"
        return [Failure(why.name, text, f"Grant DESCRIBE on topic {TRANSACTIONS}, then refresh.")]
    down = sorted(number for number, (leader, _) in after.items() if leader < 0)
    if down:
        text = f"{len(down)} partitions of {TRANSACTIONS} have no leader, so their transactions can't be listed"
        return [Failure("COORDINATOR_NOT_AVAILABLE", text, "Bring their brokers back, then refresh.")]
    if before != after:
        return [Failure("NOT_COORDINATOR", "coordinators moved while they were asked", "Refresh.")]
    return []


async def _hidden(link: Link) -> list[Failure]:
    """Return the reasons why brokers may have hidden transactional ids from this principal; empty if it may describe
    all ids.

    Brokers silently omit ids that a principal may not describe, so kac tests the right. The ACLs on transactional ids
    divide all possible ids into classes that Kafka's authorizers treat alike (StandardAuthorizer, AclAuthorizer): each
    name in an ACL, the other ids with each prefix in an ACL, and all other ids. DescribeTransactions of one id of each
    class shows the right for the class, creates nothing, and is answered by any broker. kac sends it to each broker; a
    broker that allows all of these ids allows every id.
    """
    try:
        acls = await describe_acls(link, AclFilter(resource_type=AclResourceType.parse("TRANSACTIONAL_ID")))
    except BrokerError as error:
        if error.failure.name != "SECURITY_DISABLED":
            text = "whether all transactional ids may be described can't be known: the ACLs can't be read"
            return [Failure(error.failure.name, text, _HOW_TO_KNOW)]
        acls = ()
    names = {(acl.resource_name, acl.pattern_type) for acl in acls}
    if len(names) > MAX_PATTERNS:
        text = f"there are ACLs for {len(names):,} names of transactional ids, of which {MAX_PATTERNS:,} can be tried"
        return [Failure("TOO_MANY", text, "Look with Kafka's own command, as a super user.")]
    other = _no_ones({name for name, _ in names})
    tried = [other, *(name if pattern == PatternType.parse("LITERAL") else name + other for name, pattern in names)]
    brokers = sorted((await link.nodes()).brokers)
    answers = await asyncio.gather(*(_refused(link, id_, tried) for id_ in brokers))
    for broker_id, answer in zip(brokers, answers, strict=True):
        if isinstance(answer, Failure):
            return [Failure(answer.name, f"broker {broker_id} does not say what it leaves out: {answer}", "Refresh.")]
        if answer:
            text = "this principal may not describe all transactional ids, and those it may not are left out"
            return [Failure("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", text, _HOW_TO_KNOW)]
    return []


def _no_ones(names: Collection[str]) -> str:
    """Return an id that no ACL names and that has none of the prefixes. If possible, it is always the same id, so that
    a replay sends the same request as the recorded session. names: the names and prefixes in ACLs.
    """
    free = (each for each in transactions.NO_ONES if not any(name.startswith(each[0]) for name in names))
    return next(free, secrets.token_hex(16))


_HOW_TO_KNOW = (
    "Connect as a principal with DESCRIBE on all transactional ids ('*') and on the cluster, or as a super user; then "
    "refresh."
)


async def _refused(link: Link, broker_id: int, ids: Sequence[str]) -> bool | Failure:
    """Return whether the broker refuses to describe any of these ids; a failure if the request fails."""
    for chunk in parts(ids, IDS_AT_ONCE):
        try:
            response = await describe_ids(link, broker_id, chunk)
        except AdminError as error:
            return error.failure
        codes = {each.error_code for each in response.transaction_states}
        if ErrorCode.transactional_id_authorization_failed in codes:
            return True
    return False


async def _max_timeout(link: Link) -> int | None:
    """Return the highest transaction.max.timeout.ms of all brokers, in milliseconds; None if any broker does not return
    it.
    """
    brokers = sorted((await link.nodes()).brokers)
    try:
        listing = await describe_configs(link, map(broker_resource, brokers), keys=[_MAX_TIMEOUT], synonyms=False)
    except AdminError:
        return None
    values = [entry.value for configs in listing.sets.values() if (entry := configs.get(_MAX_TIMEOUT)) is not None]
    if len(values) < len(brokers) or not all(value is not None and value.isdigit() for value in values):
        return None
    return max((int(value) for value in values if value is not None), default=None)


# Aborting a transaction.


class _Abort(Sender[AbortTransaction, ProducerTarget]):
    """Makes a partition's leader write an abort marker that ends the open transaction of a producer.

    The transaction is described right before, also for a validation. Nothing is sent unless it is the expected
    transaction and hangs. The marker has the producer's epoch and the coordinator's epoch from the leader's state (0
    for -1, as Kafka's own command sends), and transaction version 0. It needs Alter or ClusterAction on the cluster,
    and Kafka 3.0.
    """

    def targets(self) -> tuple[ProducerTarget]:
        return (self.request.target,)

    async def refused(self) -> dict[ProducerTarget, Outcome]:
        target = self.request.target
        kept_back = _kept_back(self.request, await poll_transactions(self.link, [(target.topic, target.number)]))
        return {} if kept_back is None else {target: kept_back}

    async def prepare(self, targets: Sequence[ProducerTarget]) -> dict[ProducerTarget, Outcome]:
        by_broker, leaderless = await leaders_of(self.link, [(each.topic, each.number) for each in targets])
        if by_broker:
            self.route = broker(next(iter(by_broker)))
        return {each: Outcome(each, Status.FAILED, why) for each in targets for why in leaderless.values()}

    async def deliver(self, targets: Sequence[ProducerTarget]) -> dict[ProducerTarget, Outcome]:
        return {target: with_right_named(each) for target, each in (await super().deliver(targets)).items()}

    def fields(self, targets: Sequence[ProducerTarget]) -> Fields:
        markers = [
            {
                "producer_id": target.producer_id,
                "producer_epoch": self.request.producer_epoch,
                "transaction_result": False,
                "topics": [{"name": target.topic, "partition_indexes": (target.number,)}],
                "coordinator_epoch": max(0, self.request.coordinator_epoch),
                "transaction_version": 0,
            }
            for target in targets
        ]
        return {"markers": markers}

    def answers(self, response: Any, _targets: Sequence[ProducerTarget]) -> dict[ProducerTarget, Answer]:
        return {
            ProducerTarget(topic.name, part.partition_index, int(marker.producer_id)): (part.error_code, None)
            for marker in response.markers
            for topic in marker.topics
            for part in topic.partitions
        }

    async def describe_again(self, targets: Sequence[ProducerTarget]) -> dict[ProducerTarget, Status]:
        listing = await describe_producers(self.link, [(each.topic, each.number) for each in targets])
        return dict.fromkeys(targets, ended(self.request, listing))


SENDERS: Senders = {AbortTransaction: _Abort}


def _kept_back(request: AbortTransaction, seen: transactions.Transactions) -> Outcome | None:
    """Return the outcome that refuses to write the marker; None if the marker may be written. seen: the transaction as
    described right before.
    """
    target = request.target
    place = target.topic, target.number
    if place in seen.failures:
        return Outcome(target, Status.FAILED, seen.failures[place])
    found = seen.found(*place, target.producer_id)
    if found is None or found.producer.start_offset != request.start_offset:
        text = f"the transaction of producer {target.producer_id} has ended since: nothing was sent"
        return Outcome(target, Status.NOT_APPLIED, Failure("NOT_OPEN", text, "Discard the edit."))
    judged = transactions.verdict(found, seen)
    if judged.standing is transactions.Standing.HANGS and found.producer.epoch == request.producer_epoch:
        return None
    return refused(target, "NOT_HANGING", f"nothing was sent: {judged.why}", judged.remedy or "Discard the edit.")


def ended(request: AbortTransaction, listing: transactions.ProducerListing) -> Status:
    """Return APPLIED if the transaction is no longer open, NOT_APPLIED if it is, UNKNOWN if the partition could not be
    described. A producer that the leader has forgotten has no open transaction.
    """
    target = request.target
    producers = listing.producers.get((target.topic, target.number))
    if producers is None:
        return Status.UNKNOWN
    still = any(each.id == target.producer_id and each.start_offset == request.start_offset for each in producers)
    return Status.NOT_APPLIED if still else Status.APPLIED


def with_right_named(outcome: Outcome) -> Outcome:
    """Return the outcome; if it failed because a right is missing, the failure names that right."""
    problem = outcome.failure
    if problem is None or problem.name != "CLUSTER_AUTHORIZATION_FAILED":
        return outcome
    return Outcome(outcome.target, outcome.status, Failure(problem.name, problem.message, _ABORT_RIGHT))


PARTITIONS_AT_ONCE = 500
"""Number of partitions in one DescribeProducers request, as many as Kafka's own command sends."""
IDS_AT_ONCE = 500
"""Number of transactional ids in one FindCoordinator or DescribeTransactions request."""

_NEEDS = "3.0"
# Producers in the state of partition leaders.


async def describe_producers(
    link: Link, places: Iterable[transactions.Place], replica: int | None = None
) -> transactions.ProducerListing:
    """Return the producers of each partition from its leader's state, or the failure to read them (KIP-664). Needs Read
    on the topic. A request has at most `PARTITIONS_AT_ONCE` partitions, and a broker gets one request at a time.

    Args:
        replica: the id of a broker to ask instead of the leaders; None for the leaders.

    Raises:
        Unsupported: the brokers are older than Kafka 3.0.
        AdminError: the cluster is unreachable.
    """
    wanted = tuple(dict.fromkeys(places))
    if not wanted:
        return transactions.ProducerListing({})
    found: dict[transactions.Place, tuple[transactions.Producer, ...]] = {}
    by_broker, failures = await leaders_of(link, wanted) if replica is None else ({replica: list(wanted)}, {})
    answers = await asyncio.gather(*(_producers_at(link, id_, mine) for id_, mine in by_broker.items()))
    for answer in answers:
        found.update(answer.producers)
        failures.update(answer.failures)
    return transactions.ProducerListing(found, failures)


async def _producers_at(
    link: Link, broker_id: int, places: Sequence[transactions.Place]
) -> transactions.ProducerListing:
    found: dict[transactions.Place, tuple[transactions.Producer, ...]] = {}
    failures: dict[transactions.Place, Failure] = {}
    await link.require("describe_producers", 0, _NEEDS, broker(broker_id))
    halving = Halving(place_text)

    async def ask(
        some: Sequence[transactions.Place],
    ) -> Mapping[transactions.Place, tuple[transactions.Producer, ...] | Failure]:
        topics = topics_with(some, numbers="partition_indexes")
        response = await link.call("describe_producers", {"topics": topics}, to=broker(broker_id))
        return {
            (topic.name, part.partition_index): failure(
                part.error_code, part.error_message or f"{topic.name}-{part.partition_index}"
            )
            if part.error_code
            else tuple(map(_producer, part.active_producers))
            for topic in response.topics
            for part in topic.partitions
        }

    for chunk in parts(places, PARTITIONS_AT_ONCE):
        try:
            answer = await halving.read(chunk, ask)
        except AdminError as error:
            failures.update(dict.fromkeys(chunk, error.failure))
            continue
        known, refused_ = parted(answer)
        found |= known
        failures |= refused_
    return transactions.ProducerListing(found, failures)


def _producer(state: Any) -> transactions.Producer:
    return transactions.Producer(
        int(state.producer_id),
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_start_offset,
    )


# Transactions as their coordinators report them.


async def list_transactions(
    link: Link, longer_than_ms: int = -1, pattern: str | None = None
) -> transactions.TransactionListing:
    """Return all transactions that the brokers list, without their descriptions. An unreachable broker has a failure
    under the key ``broker N``.

    **Brokers silently omit transactions that the principal may not DESCRIBE.** Raises Unsupported before Kafka 3.0 or
    for an unsupported filter, AdminError if the cluster is unreachable, and the first broker's error if no broker can
    list.

    Args:
        longer_than_ms: the minimum age of a transaction in milliseconds (Kafka 3.8); -1 for any age.
        pattern: a regular expression (RE2) for transactional ids (Kafka 4.1); None for all ids.
    """
    least, needs = (2, "4.1") if pattern else (1, "3.8") if longer_than_ms >= 0 else (0, _NEEDS)
    await link.require("list_transactions", least, needs)
    ids = sorted((await link.refresh()).brokers)
    filters = {"duration_filter": longer_than_ms, "transactional_id_pattern": pattern}
    answers = await asyncio.gather(*(_listed_at(link, id_, least, needs, filters) for id_ in ids))
    listed, failures = of_all_brokers(dict(zip(ids, answers, strict=True)))
    found = {each.id: each for part in listed for each in part}
    return transactions.TransactionListing(dict(sorted(found.items())), failures)


async def _listed_at(
    link: Link,
    broker_id: int,
    least: int,
    needs: str,
    filters: Fields,
) -> list[transactions.Transaction] | AdminError:
    try:
        await link.require("list_transactions", least, needs, broker(broker_id))
        asked = {"state_filters": (), "producer_id_filters": (), **filters}
        response = await listed_at(link, "list_transactions", asked, broker_id)
    except AdminError as error:
        return error
    if response.error_code:
        return BrokerError(failure(response.error_code))
    return [
        transactions.Transaction(each.transactional_id, int(each.producer_id), each.transaction_state, broker_id)
        for each in response.transaction_states
    ]


async def _any_transaction(link: Link) -> bool:
    listing = await list_transactions(link)
    return bool(listing.transactions or listing.failures)


OF_TRANSACTIONS = CoordinatorsOf(1, TRANSACTIONS, ErrorCode.transactional_id_not_found, _any_transaction)


async def describe_transactions(link: Link, ids: Iterable[str]) -> transactions.TransactionListing:
    """Return each transaction from its coordinator's state, or the failure to read it. Needs Describe on the
    transactional id.

    Raises Unsupported before Kafka 3.0, and AdminError if the cluster is unreachable.
    """
    await link.require("describe_transactions", 0, _NEEDS)
    found: dict[str, transactions.Transaction] = {}
    failures: dict[str, Failure] = {}
    for chunk in parts(tuple(dict.fromkeys(ids)), IDS_AT_ONCE):
        coordinators, without = await find_coordinators(link, chunk, OF_TRANSACTIONS)
        by_broker = grouped((broker_id, id_) for id_, broker_id in coordinators.items())
        answers = await asyncio.gather(*(_described_at(link, broker_id, mine) for broker_id, mine in by_broker.items()))
        failures.update(without)
        for part in answers:
            found.update(part.transactions)
            failures.update(part.failures)
    return transactions.TransactionListing(found, failures)


async def _described_at(link: Link, broker_id: int, ids: Sequence[str]) -> transactions.TransactionListing:
    async def ask(some: Sequence[str]) -> Mapping[str, transactions.Transaction | Failure]:
        response = await until_settled(
            lambda: describe_ids(link, broker_id, some),
            lambda answer: any(each.error_code in COORDINATOR_MOVES for each in answer.transaction_states),
            within=SETTLE_SECONDS,
        )
        return {
            each.transactional_id: failure(each.error_code, each.transactional_id)
            if each.error_code
            else _described(each, broker_id)
            for each in response.transaction_states
        }

    try:
        return transactions.TransactionListing(*parted(await Halving().read(ids, ask)))
    except AdminError as error:
        return transactions.TransactionListing({}, dict.fromkeys(ids, error.failure))


def describe_ids(link: Link, broker_id: int, ids: Sequence[str]) -> Awaitable[Any]:
    """Send DescribeTransactions for these transactional ids to one broker and return the decoded response."""
    return link.call("describe_transactions", {"transactional_ids": tuple(ids)}, to=broker(broker_id))


def _described(state: Any, coordinator: int) -> transactions.Transaction:
    return transactions.Transaction(
        state.transactional_id,
        int(state.producer_id),
        state.transaction_state,
        coordinator,
        state.producer_epoch,
        round(state.transaction_timeout.total_seconds() * 1000),
        state.transaction_start_time,
        frozenset((topic.topic, number) for topic in state.topics for number in topic.partitions),
    )
