"""Brokers' registrations: removing that of a broker which will not come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from console.model.changes import BrokerTarget, UnregisterBroker
from console.model.cluster import Broker
from console.model.nodes import controller_named
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, Removal, Reversal, Stage, each_line
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import apart
from console.plan.risk_rules import REPLICAS_REMAIN, Judged, RiskNeeds, RiskRule

# -- the edits ---------------------------------------------------------------------------------------------------------


class RemoveRegistration(Edit, frozen=True):
    """Unregister a broker that is down (UnregisterBroker)."""

    broker_id: int

    @property
    def target(self) -> BrokerTarget:
        """The registration of the broker."""
        return BrokerTarget(self.broker_id)


NAMED = 3
"""Maximum number of partitions that a warning names."""


# -- warnings ----------------------------------------------------------------------------------------------------------


def _replicas_remain(edit: RemoveRegistration, judged: Judged) -> Iterator[str]:
    places = [
        (topic.name, partition.number)
        for topic in judged.before.topics.values()
        for partition in topic.partitions
        if edit.broker_id in partition.replicas
    ]
    if places:
        examples = ", ".join(f"{topic}/{number}" for topic, number in islice(places, NAMED))
        more = ", …" if len(places) > NAMED else ""
        yield (
            f"{len(places):,} {'partition has' if len(places) == 1 else 'partitions have'} a replica on broker "
            f"{edit.broker_id} ({examples}{more}) and stay under-replicated until moved away from it"
        )


# -- requests ----------------------------------------------------------------------------------------------------------


def _predict(snapshot: Snapshot, edits: Sequence[RemoveRegistration]) -> Snapshot:
    gone = {edit.broker_id for edit in edits}
    left = tuple(broker for broker in snapshot.cluster.brokers if broker.id not in gone)
    return replace(snapshot, cluster=replace(snapshot.cluster, brokers=left))


def _command(edit: RemoveRegistration, _line: DiffLine) -> Command:
    note = "before Kafka 4.2 it takes --config instead of --command-config"
    return Command(("kafka-cluster", "unregister", "--id", str(edit.broker_id)), note=note)


# -- the kinds of edits ------------------------------------------------------------------------------------------------

UNREGISTERING = Batch(
    stage=Stage.REGISTRATIONS_GONE,
    steps=apart(lambda edit: UnregisterBroker(edit.broker_id)),
    predict=_predict,
    commands=each_line(_command),
)


class _RemoveRegistrationKind(Removal):
    edit = RemoveRegistration
    verb = "unregister"
    words = "unregister: the cluster forgets the broker"
    state = Broker
    batch = UNREGISTERING
    risks = (RiskRule(REPLICAS_REMAIN, _replicas_remain, lambda _edit: RiskNeeds(every_topic=True)),)

    def judge(self, edit: RemoveRegistration, draft: plan_staged.Draft) -> plan_staged.Verdict:
        was = self.current(edit, draft)
        if was is None:
            what = controller_named(draft.snapshot, str(edit.broker_id))
            return plan_staged.Dropped(edit, what or f"broker {edit.broker_id} is not registered")
        if isinstance(was, Broker) and not was.fenced:
            raise plan_staged.Refused(
                f"broker {edit.broker_id} is alive, at {was.host}:{was.port}: unregistered, it would run on outside of "
                "the cluster, and its partitions would lose their leader",
                "Move its partitions away and stop it first.",
            )
        return plan_staged.Staged(edit, was)

    def current(self, edit: RemoveRegistration, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the broker; None if it is not registered. Before Kafka 4.0 a cluster does not describe brokers that
        are down; the result is then a broker without an address, whether it is registered or not.
        """
        cluster = seen.snapshot.cluster
        found = next((broker for broker in cluster.brokers if broker.id == edit.broker_id), None)
        if found is not None or not seen.read(Part.CLUSTER):
            return seen.found(found, Part.CLUSTER)
        # Return a placeholder: None would mean that the broker is not registered, and the edit would be dropped.
        return None if cluster.shows_fenced else Broker(edit.broker_id, "", -1, fenced=True)

    def moved(self, _edit: object, was: Broker | None, now: Broker | None) -> bool:
        """Return whether the broker is no longer registered, or is up again."""
        return was is None or now is None or was.fenced != now.fenced

    def wanted(self, _edit: object, now: Broker | None) -> bool | None:
        """Return whether the broker is no longer registered; None if the cluster does not show it."""
        return True if now is None else None if now.port < 0 else False

    def before(self, _edit: object, there: Broker | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue("down")

    def note(self, _edit: object, there: Broker | None, _old: object, _inheritance: object) -> str:
        shown = there is None or there.port >= 0
        return (
            "" if shown else "this Kafka does not describe brokers that are down: whether it is registered is unknown"
        )

    def effects(self, edit: RemoveRegistration, seen: plan_staged.Described) -> tuple[str, ...]:
        quorum = seen.snapshot.quorum
        if quorum is None or edit.broker_id not in {voter.id for voter in quorum.voters}:
            return ()
        return (f"node {edit.broker_id} stays a voter of the quorum: this concerns it as a broker only",)

    def reversal(self, edit: RemoveRegistration, _was: object, _recorded: object) -> Reversal:
        return Reversal(
            (), plan_staged.UNREAD, f"broker {edit.broker_id} registers again when it starts, and not before"
        )


KINDS = (_RemoveRegistrationKind(),)
