"""Leader elections for rows in trouble. Preferred elections are staged; for an unclean election, the command bar opens
with its command.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from console.language.quoting import quote
from console.model.cluster import Partition, Topic
from console.model.elections import needs_preferred, why_not_preferred
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import ElectPreferred
from console.plan.kinds.leaders import preferred_elections
from console.tui.editing import Editing


def elect_leaders(editing: Editing, snapshot: Snapshot, brokers: Collection[int], left_out: Sequence[str] = ()) -> None:
    """Stage elections of the preferred leader for all partitions whose preferred leader is one of these brokers; for
    all partitions if `brokers` is empty. If the topics are not read yet, only show a message.
    """
    if _are_read(editing, snapshot):
        topics = snapshot.topics
        wanted = [each for broker in brokers for each in preferred_elections(topics, broker)]
        _stage(editing, wanted if brokers else preferred_elections(topics), left_out)


def elect_everywhere(editing: Editing, snapshot: Snapshot) -> None:
    """Stage elections of preferred leaders as `elect_in` does, for all topics."""
    if _are_read(editing, snapshot):
        elect_in(editing, snapshot.topics)


def _are_read(editing: Editing, snapshot: Snapshot) -> bool:
    """Return whether the topics have been read; if not, show a message, since otherwise no election would seem
    necessary.
    """
    if Part.TOPICS in snapshot.read_at:
        return True
    editing.message.say("the topics are still being read: press the key again", "muted")
    return False


def elect_in(editing: Editing, topics: Mapping[str, Topic], left_out: Sequence[str] = ()) -> None:
    """Stage the elections of preferred leaders in these topics.

    If all of them would fail, and at least one partition has no leader, open the command bar instead, with the command
    of an unclean election of the first such partition. An unclean election may lose records, so the operator has to
    enter it.
    """
    edits = preferred_elections(topics)
    partitions = {(name, each.number): each for name, topic in topics.items() for each in topic.partitions}
    needy = [(edit, partitions[edit.topic, edit.partition]) for edit in edits]
    leaderless = next((edit for edit, partition in needy if partition.leader < 0), None)
    if leaderless is not None and all(why_not_preferred(partition) for _, partition in needy):
        editing.begin(unclean_text(leaderless.topic, leaderless.partition))
    else:
        _stage(editing, edits, left_out)


def _stage(editing: Editing, edits: Sequence[ElectPreferred], left_out: Sequence[str]) -> None:
    if edits:
        editing.stage(edits, left_out=left_out)
    else:
        editing.message.say("each partition is led by its preferred replica", "muted")


def elect_one(editing: Editing, topic: Topic, partition: Partition) -> None:
    """Stage the election of a partition's preferred leader. If the preferred replica leads already, only show a
    message. If the partition has no leader and the election would fail, open the command bar with the command of an
    unclean election.
    """
    if partition.leader < 0 and why_not_preferred(partition):
        editing.begin(unclean_text(topic.name, partition.number))
    elif needs_preferred(partition):
        editing.stage([ElectPreferred(topic.name, partition.number)])
    else:
        editing.message.say(f"broker {partition.leader}, its preferred replica, leads already", "muted")


def unclean_text(topic: str, partition: int) -> str:
    """Return the text of the command that elects a partition's leader uncleanly."""
    return f"elect unclean topic {quote(topic)} partition {partition}"
