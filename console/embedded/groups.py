"""Groups of the classic protocol, with members, generations and rebalances; and the committed offsets of groups of all
protocols (ClassicGroup).

No method waits: a member that joins or syncs before the others gets a future of its response. Call `pass_time` when
`next_deadline` is reached.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.newer_groups import NewerGroup

Protocols = tuple[tuple[str, bytes], ...]
"""Pairs of a protocol name and the member's metadata for it, in the member's order of preference."""
NO_GENERATION = -1


class JoinRequest(NamedTuple):
    """The content of a JoinGroup request. Timeouts are in seconds."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocol_type: str
    protocols: Protocols
    new_id: str
    """The member id that a member without one gets."""
    needs_id: bool = False
    """Whether a member without an id is refused with `new_id`, and has to join again with that id (KIP-394)."""
    skips_assignment: bool = False


class Joined(NamedTuple):
    """The content of a JoinGroup response."""

    code: int
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    """Each member's id, instance id (None if it has none) and metadata, if the receiver is the leader; otherwise empty.
    """
    skip_assignment: bool = False


class Synced(NamedTuple):
    """The content of a SyncGroup response."""

    code: int
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol: str | None = None


@dataclass(slots=True, eq=False)
class Member:
    """A member of a classic group, with the requests to which it has no response yet."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: Protocols
    deadline: float = inf
    """The time, by the cluster's clock, at which the member's session ends; infinite for a member of a scenario, which
    has no client.
    """
    assignment: bytes = b""
    joining: asyncio.Future[Joined] | None = None
    """The future of the response to the member's JoinGroup request; None if the member does not wait for one."""
    syncing: asyncio.Future[Synced] | None = None
    """The future of the response to the member's SyncGroup request; None if the member does not wait for one."""

    @property
    def stands_in(self) -> bool:
        """Whether the member was made by a scenario and has no client."""
        return self.session_timeout == inf

    @property
    def is_waiting(self) -> bool:
        """Whether the member waits for a response to JoinGroup or SyncGroup."""
        return self.joining is not None or self.syncing is not None

    def heard(self, now: float) -> None:
        """Restart the session timeout, since the member was heard from. now: seconds since 1970."""
        self.deadline = now + self.session_timeout

    def metadata(self, protocol: str | None) -> bytes:
        """Return the member's metadata for a protocol; ``b""`` if it does not support the protocol."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def end_join(self, answer: Joined) -> None:
        """Send this response to the member's JoinGroup request, if it waits for one."""
        future, self.joining = self.joining, None
        if future is not None and not future.done():
            future.set_result(answer)

    def end_sync(self, answer: Synced) -> None:
        """Send this response to the member's SyncGroup request, if it waits for one."""
        future, self.syncing = self.syncing, None
        if future is not None and not future.done():
            future.set_result(answer)


def chosen_protocol(members: list[Member]) -> str | None:
    """Return the name of the protocol that all members support and most members prefer (ClassicGroup.selectProtocol);
    None if there are no members, or they have no protocol in common.
    """
    if not members:
        return None
    common = set.intersection(*({name for name, _ in member.protocols} for member in members))
    votes: dict[str, int] = {}
    for member in members:
        vote = next((name for name, _ in member.protocols if name in common), None)
        if vote is not None:
            votes[vote] = votes.get(vote, 0) + 1
    return max(votes, key=lambda name: votes[name], default=None)


class GroupState(StrEnum):
    """The states of a classic group, with Kafka's names."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class Committed:
    """An offset that a group committed."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""
    at: float = 0.0
    """The time of the commit, in seconds since 1970."""


@dataclass(slots=True, eq=False)
class Group:
    """A group of the classic protocol, and the committed offsets of a group of any protocol."""

    id: str
    initial_delay: float = 0.0
    """The seconds that the first rebalance of an empty group waits for more members."""
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    offsets: dict[tuple[str, int], Committed] = field(default_factory=dict)
    unstable: dict[int, dict[tuple[str, int], Committed]] = field(default_factory=dict)
    """Producer id -> (topic, partition) -> the offset that the producer's open transaction will commit."""
    pending: dict[str, float] = field(default_factory=dict)
    """Member id that was assigned but has not joined yet -> the time at which it expires, in seconds since 1970."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever `next_deadline` may have changed."""
    gathering: float = inf
    """The time, in seconds since 1970, until which the current rebalance waits for members; infinite without a
    rebalance.
    """
    for_more: bool = False
    """Whether the current rebalance waits until `gathering` even if all known members have joined; only the first
    rebalance of an empty group does so.
    """
    syncing_until: float = inf
    last_moment: float = inf
    joined_late: bool = False
    watched: bool = False
    """Whether a background task calls `pass_time`."""
    written: bool = False
    """Whether the group is in the coordinator's log, since it had assignments or committed an offset."""
    newer: NewerGroup | None = None
    """The state of a group of a newer protocol (consumer, share or streams); None for a classic group."""

    @property
    def type(self) -> str:
        """Kafka's name of the group's type."""
        return self.newer.type if self.newer is not None else "classic"

    @property
    def shown_state(self) -> str:
        """Kafka's name of the group's state."""
        return self.newer.state if self.newer is not None else str(self.state)

    @property
    def has_members(self) -> bool:
        """Whether the group has members, by whatever protocol."""
        return bool(self.members) or (self.newer is not None and bool(self.newer.members))

    # Requests.

    def join(self, wish: JoinRequest, now: float) -> Joined | asyncio.Future[Joined]:
        """Add a member, or let a known member join again.

        Args:
            wish: the request.
            now: the present time, seconds since 1970.

        Returns:
            The response, or a future that gets it when the rebalance is complete.
        """
        if not _agrees(self, wish):
            return Joined(ErrorCode.inconsistent_group_protocol, wish.member_id)
        if not wish.member_id:
            return self._join_new(wish, now)
        # This is the second request of a new member, with its assigned id.
        if wish.member_id in self.pending:
            del self.pending[wish.member_id]
            return self._add(wish.member_id, wish, now)
        code = self.unknown(wish.member_id, wish.instance_id)
        if code:
            return Joined(code, wish.member_id)
        member = self.members[wish.member_id]
        member.heard(now)
        same = member.protocols == wish.protocols
        steady = (self.state == GroupState.STABLE and member.id != self.leader) or self.state == GroupState.COMPLETING
        # Nothing changes, so the group does not rebalance: the response is that of the current generation. If a leader
        # joins again, however, it requests a rebalance, as its subscription's partitions may have changed.
        if same and steady:
            return _joined(self, member)
        return self._rejoin(member, wish, now)

    def _join_new(self, wish: JoinRequest, now: float) -> Joined | asyncio.Future[Joined]:
        was = self._static(wish.instance_id)
        if was is not None:
            return self._replace(was, wish, now)
        # The coordinator assigns the id first (KIP-394). Otherwise clients that reconnect without an id would leave
        # members behind that stay until their sessions expire.
        if wish.needs_id:
            self.pending[wish.new_id] = now + wish.session_timeout
            self.changed.set()
            return Joined(ErrorCode.member_id_required, wish.new_id)
        return self._add(wish.new_id, wish, now)

    def _add(self, member_id: str, wish: JoinRequest, now: float) -> asyncio.Future[Joined]:
        member = Member(
            member_id,
            wish.instance_id,
            wish.client_id,
            wish.client_host,
            wish.session_timeout,
            wish.rebalance_timeout,
            wish.protocols,
        )
        if not self.members:
            self.protocol_type = wish.protocol_type
        self.members[member_id] = member
        if self.state == GroupState.PREPARING:
            self.joined_late = True
        return self._rejoin(member, wish, now)

    def _rejoin(self, member: Member, wish: JoinRequest, now: float) -> asyncio.Future[Joined]:
        member.heard(now)
        member.protocols = wish.protocols
        member.session_timeout, member.rebalance_timeout = wish.session_timeout, wish.rebalance_timeout
        member.end_join(Joined(ErrorCode.rebalance_in_progress, member.id))  # only the last request counts
        member.joining = asyncio.get_running_loop().create_future()
        future = member.joining
        if self.state != GroupState.PREPARING:
            self._rebalance(now)
        self._try_complete(now)
        return future

    def _replace(self, was: Member, wish: JoinRequest, now: float) -> Joined | asyncio.Future[Joined]:
        """Give a static member that joined without its member id a new one, so that the old id is fenced (KIP-345)."""
        del self.members[was.id]
        was.end_join(Joined(ErrorCode.fenced_instance_id, was.id))
        was.end_sync(Synced(ErrorCode.fenced_instance_id))
        old_leader, led = self.leader, was.id == self.leader
        same = was.protocols == wish.protocols
        was.id, was.client_id, was.client_host = wish.new_id, wish.client_id, wish.client_host
        self.members[was.id] = was
        if led:
            self.leader = was.id
        was.heard(now)
        # A restarted static member takes its old assignment without a rebalance (KIP-345).
        if not (self.state == GroupState.STABLE and same):
            return self._rejoin(was, wish, now)
        answer = _joined(self, was)
        if led and wish.skips_assignment:
            return answer._replace(skip_assignment=True)
        # Before KIP-814, a leader could not skip the assignment. The response then names the leader's old id, so that
        # the new member behaves as a follower.
        return answer._replace(leader=old_leader or "", members=())

    def sync(
        self,
        member_id: str,
        instance_id: str | None,
        generation: int,
        protocol: tuple[str | None, str | None],
        assignments: dict[str, bytes],
        now: float,
    ) -> Synced | asyncio.Future[Synced]:
        """Return the response for a member: its assignment or an error; before the leader has sent the assignments, a
        future of the response. If the member is the leader, the assignments are stored and all waiting members get
        theirs.

        Args:
            instance_id: the group.instance.id of a static member; None for a dynamic member.
            protocol: the protocol type and name; None for each that the request's version lacks.
            assignments: member id -> its assignment, from the leader; empty from other members.
            now: the present time, seconds since 1970.
        """
        code = self.unknown(member_id, instance_id)
        asked_type, asked_name = protocol
        if not code and generation != self.generation:
            code = ErrorCode.illegal_generation
        if not code and (asked_type not in (None, self.protocol_type) or asked_name not in (None, self.protocol)):
            code = ErrorCode.inconsistent_group_protocol
        if not code and self.state == GroupState.PREPARING:
            code = ErrorCode.rebalance_in_progress
        if code:
            return Synced(code)
        member = self.members[member_id]
        member.heard(now)
        if self.state == GroupState.STABLE:
            return _synced(self, member)
        member.syncing = asyncio.get_running_loop().create_future()
        future = member.syncing
        if member_id == self.leader:
            self._stable(assignments, now)
        return future

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: float) -> int:
        """Extend a member's session. Return 0; REBALANCE_IN_PROGRESS if the member has to join again; or the error code
        for an unknown or fenced member or another generation. now: seconds since 1970.
        """
        code = self.unknown(member_id, instance_id)
        if code:
            return code
        if generation != self.generation:
            return ErrorCode.illegal_generation
        self.members[member_id].heard(now)
        return ErrorCode.rebalance_in_progress if self.state == GroupState.PREPARING else 0

    def leave(self, member_id: str, instance_id: str | None, now: float) -> int:
        """Remove a member. Return 0, or the error code for an unknown or fenced member. A static member may be named by
        its instance id alone. now: seconds since 1970.
        """
        if member_id in self.pending:
            del self.pending[member_id]
            self._try_complete(now)
            return 0
        if not member_id and instance_id is not None:
            member = self._static(instance_id)
            if member is None:
                return ErrorCode.unknown_member_id
            member_id = member.id
        code = self.unknown(member_id, instance_id)
        if not code:
            self._remove(self.members[member_id], now)
        return code

    def committed(self, member_id: str, instance_id: str | None, generation: int, now: float) -> int:
        """Return the error code for an offset commit; 0 if it is allowed (ClassicGroup.validateOffsetCommit). An
        allowed commit also restarts the session timeout of the member. A client without a member id may commit
        only while the group has no members.
        """
        # Consumers that assign partitions to themselves, and admin clients, are not members: they may commit while the
        # group has no members.
        if generation < 0 and not member_id and instance_id is None:
            return ErrorCode.unknown_member_id if self.has_members else 0
        code = self.unknown(member_id, instance_id)
        if code:
            return code
        if generation != self.generation:
            return ErrorCode.illegal_generation
        if self.state == GroupState.COMPLETING:
            return ErrorCode.rebalance_in_progress
        self.members[member_id].heard(now)
        return 0

    def unknown(self, member_id: str, instance_id: str | None) -> int:
        """Return the error code for a member that is unknown or fenced; 0 for one that is neither."""
        if instance_id is not None:
            member = self._static(instance_id)
            if member is None:
                return ErrorCode.unknown_member_id
            return 0 if member.id == member_id else ErrorCode.fenced_instance_id
        return 0 if member_id in self.members else ErrorCode.unknown_member_id

    def _static(self, instance_id: str | None) -> Member | None:
        if instance_id is None:
            return None
        return next((member for member in self.members.values() if member.instance_id == instance_id), None)

    # Timers.

    @property
    def next_deadline(self) -> float | None:
        """The next time at which to call `pass_time`, seconds since 1970; None if nothing has to happen."""
        moments = [*self.pending.values(), self.gathering, self.syncing_until]
        # A client can't send heartbeats while its request is pending, so its session does not expire meanwhile.
        moments += [member.deadline for member in self.members.values() if not member.is_waiting]
        soonest = min(moments)
        return None if soonest == inf else soonest

    def pass_time(self, now: float) -> None:
        """Remove the members whose sessions have ended, and complete rebalances whose time is over. now: seconds since
        1970.
        """
        self.pending = {member_id: until for member_id, until in self.pending.items() if until > now}
        if self.state == GroupState.COMPLETING and self.syncing_until <= now:
            for member in [member for member in self.members.values() if member.syncing is None]:
                self._remove(member, now)
        for member in list(self.members.values()):
            if member.deadline <= now and not member.is_waiting:
                self._remove(member, now)
        if self.state == GroupState.PREPARING and self.gathering <= now:
            self._gathered(now)
        else:
            self._try_complete(now)

    # Rebalances.

    def _rebalance(self, now: float) -> None:
        for member in list(self.members.values()):
            # A scenario's member has no client that could join again, so remove it.
            if member.stands_in:
                del self.members[member.id]
            member.assignment = b""
            if member.syncing is not None:
                member.heard(now)
                member.end_sync(Synced(ErrorCode.rebalance_in_progress))
        longest = max((member.rebalance_timeout for member in self.members.values()), default=0.0)
        # Only the first rebalance of an empty group waits for more members (group.initial.rebalance.delay.ms), so that
        # a starting group does not rebalance for each member.
        self.for_more = self.state == GroupState.EMPTY and self.initial_delay > 0
        self.last_moment = now + longest
        self.gathering = now + min(self.initial_delay, longest) if self.for_more else self.last_moment
        self.joined_late = False
        self.syncing_until = inf
        self.state = GroupState.PREPARING
        self.changed.set()

    def _try_complete(self, now: float) -> None:
        """Complete the rebalance if no member has to be waited for any longer."""
        waited_for = any(member.joining is None for member in self.members.values())
        if self.state == GroupState.PREPARING and not (self.for_more or self.pending or waited_for):
            self._complete(now)

    def _gathered(self, now: float) -> None:
        """Complete the rebalance when its wait for members is over (`gathering`). But the first rebalance of an
        empty group waits again if members have joined during the wait (InitialDelayedJoin).
        """
        if self.for_more and self.joined_late and now < self.last_moment:
            self.joined_late = False
            self.gathering = min(now + self.initial_delay, self.last_moment)
            return
        self._complete(now)

    def _complete(self, now: float) -> None:
        self.for_more, self.gathering = False, inf
        for member in list(self.members.values()):
            # Remove a dynamic member that did not join in time; a static member stays until its session expires.
            if member.joining is None and member.instance_id is None:
                del self.members[member.id]
        self.changed.set()
        here = [member for member in self.members.values() if member.joining is not None]
        if self.members and not here:  # only static members, and none joined: wait until their sessions end
            self.gathering = now + max(member.rebalance_timeout for member in self.members.values())
            return
        self.generation += 1
        if not self.members:
            self.state, self.protocol, self.leader, self.written = GroupState.EMPTY, None, None, True
            return
        # Keep the leader if it has joined, as its assignor may be sticky.
        if self.leader not in [member.id for member in here]:
            self.leader = here[0].id
        self.protocol = chosen_protocol(list(self.members.values()))
        self.state = GroupState.COMPLETING
        self.syncing_until = now + max(member.rebalance_timeout for member in self.members.values())
        for member in here:
            member.heard(now)
            member.end_join(_joined(self, member))

    def _stable(self, assignments: dict[str, bytes], now: float) -> None:
        self.state, self.syncing_until, self.written = GroupState.STABLE, inf, True
        for member in self.members.values():
            member.assignment = assignments.get(member.id, b"")
            if member.syncing is not None:
                member.heard(now)
                member.end_sync(_synced(self, member))
        self.changed.set()

    def _remove(self, member: Member, now: float) -> None:
        """Remove a member. If the group was stable or waited for assignments, start a rebalance."""
        del self.members[member.id]
        member.end_join(Joined(ErrorCode.unknown_member_id, member.id))
        member.end_sync(Synced(ErrorCode.unknown_member_id))
        if self.state in (GroupState.COMPLETING, GroupState.STABLE):
            self._rebalance(now)
        self._try_complete(now)
        self.changed.set()


def _agrees(group: Group, wish: JoinRequest) -> bool:
    """Return whether a member may join: its protocol type is the group's, and it supports a protocol that all other
    members support.
    """
    if not wish.protocols or not wish.protocol_type or group.newer is not None:
        return False
    if group.members and wish.protocol_type != group.protocol_type:
        return False
    others = [member for member in group.members.values() if member.id != wish.member_id and not member.stands_in]
    names = {name for name, _ in wish.protocols}
    return bool(names.intersection(*({name for name, _ in member.protocols} for member in others)))


def _joined(group: Group, member: Member) -> Joined:
    """Return the JoinGroup response for a member of the current generation."""
    leads = member.id == group.leader
    return Joined(
        0,
        member.id,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader or "",
        tuple((each.id, each.instance_id, each.metadata(group.protocol)) for each in group.members.values())
        if leads
        else (),
    )


def _synced(group: Group, member: Member) -> Synced:
    """Return the SyncGroup response for a member of a stable group."""
    return Synced(0, member.assignment, group.protocol_type, group.protocol)
