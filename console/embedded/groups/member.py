"""A member of a group, and what it is answered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

Protocols = tuple[tuple[str, bytes], ...]
"""What a member can do: protocol names, the preferred one first, each with its metadata."""
NO_GENERATION = -1


class JoinWish(NamedTuple):
    """A JoinGroup request. Timeouts are seconds. new_id: the id for a member that has none yet; needs_id: whether a
    member without one has to come again with it (KIP-394)."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocol_type: str
    protocols: Protocols
    new_id: str
    needs_id: bool = False
    skips_assignment: bool = False


class Joined(NamedTuple):
    """The answer to a JoinGroup. members: for the leader only, each with its metadata."""

    code: int
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    skip_assignment: bool = False


class Synced(NamedTuple):
    """The answer to a SyncGroup."""

    code: int
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol: str | None = None


@dataclass(slots=True, eq=False)
class Member:
    """One member. deadline: when it is dead unless it was heard of, by the cluster's clock; a scenario's stand-in has
    none. joining, syncing: what its client waits for."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: Protocols
    deadline: float = inf
    assignment: bytes = b""
    joining: asyncio.Future[Joined] | None = None
    syncing: asyncio.Future[Synced] | None = None

    @property
    def stands_in(self) -> bool:
        """Whether no client is behind it."""
        return self.session_timeout == inf

    def heard(self, now: float) -> None:
        """It lives, for another session timeout."""
        self.deadline = now + self.session_timeout

    def metadata(self, protocol: str | None) -> bytes:
        """What it said with a protocol, b"" for one that it does not have."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def end_join(self, answer: Joined) -> None:
        """Answer its JoinGroup, if it waits for that."""
        future, self.joining = self.joining, None
        if future is not None and not future.done():
            future.set_result(answer)

    def end_sync(self, answer: Synced) -> None:
        """Answer its SyncGroup, if it waits for that."""
        future, self.syncing = self.syncing, None
        if future is not None and not future.done():
            future.set_result(answer)


def chosen_protocol(members: list[Member]) -> str | None:
    """The protocol that all have and most prefer (ClassicGroup.selectProtocol); None for none."""
    if not members:
        return None
    common = set.intersection(*({name for name, _ in member.protocols} for member in members))
    votes: dict[str, int] = {}
    for member in members:
        vote = next((name for name, _ in member.protocols if name in common), None)
        if vote is not None:
            votes[vote] = votes.get(vote, 0) + 1
    return max(votes, key=lambda name: votes[name], default=None)
