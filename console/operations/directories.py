"""Plans moves of replicas between the log directories of their broker (KIP-113). Pure.

The replicas of a drained directory go to the directory with the most usable bytes or, if usable bytes are unknown
(before Kafka 3.3), to the one whose replicas have the fewest bytes. The largest replicas are placed first. Every
replica is copied once, so no other choice copies fewer bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from console.model.cluster import LogDir, ReplicaSize
from console.model.snapshot import DirCopy, ReplicaPlace, dir_copies
from console.operations.goals import DrainDir, MoveIntoDir, Reassign, Restore
from console.operations.placement import Placed, Placement
from console.operations.proposal import DirMove, Held, Proposal, UnknownPlace


def free_bytes(dirs: Sequence[LogDir], copies: Mapping[ReplicaPlace, DirCopy], broker: int) -> Mapping[str, int]:
    """Return directory of a broker -> its usable bytes, less the bytes that running copies still have to write; -1 if
    unknown.
    """
    owed = Counter[str]()
    for (_, _, of), copy in copies.items():
        if of == broker:
            # Usable bytes are the free bytes now, and the rest of a running copy will still consume some of them.
            owed[copy.after] += max(0, copy.size - copy.copied)
    return {each.path: max(0, each.usable_bytes - owed[each.path]) if each.usable_bytes >= 0 else -1 for each in dirs}


def propose_dirs(goal: DrainDir | MoveIntoDir | Restore | Reassign, placement: Placement) -> Proposal:
    """Return the moves of replicas into the directories that a goal requires.

    Raises:
        UnknownPlace: the goal names a broker, directory or replica that the cluster does not have.
    """
    return _Sorting(placement).proposal(goal)


class _Sorting:
    """The state of planning: the moves proposed so far, and the bytes that the directories have after these moves."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._copies = dir_copies(placement.log_dirs)
        self._partitions = {(each.topic, each.number): each for each in placement.partitions}
        self._free: dict[tuple[int, str], int] = {}
        self._held = Counter[tuple[int, str]]()
        self._moves: list[DirMove] = []
        self._waiting: list[Held] = []
        self._waits: list[str] = []

    def proposal(self, goal: DrainDir | MoveIntoDir | Restore | Reassign) -> Proposal:
        if isinstance(goal, Restore | Reassign):
            self._restore(goal)
        else:
            self._within(goal)
        return Proposal((), tuple(self._waiting), tuple(self._moves), tuple(dict.fromkeys(self._waits)))

    def _dirs(self, broker: int) -> Sequence[LogDir]:
        """Return the directories of a broker. If they are unknown, return an empty sequence, and record that the
        goal waits for an answer of the broker.
        """
        dirs = self._placement.log_dirs.get(broker, ())
        if not dirs:
            self._waits.append(f"the log directories of broker {broker} are unknown: it has to answer first")
        # Read the free bytes only once, as later moves of the same proposal reduce them.
        elif (broker, dirs[0].path) not in self._free:
            free = free_bytes(dirs, self._copies, broker)
            for each in dirs:
                self._free[broker, each.path] = free[each.path]
                self._held[broker, each.path] = each.size
        return dirs

    def _within(self, goal: DrainDir | MoveIntoDir) -> None:
        broker, path = goal.broker, goal.path
        if broker not in self._placement.hosts:
            raise UnknownPlace(f"broker {broker} is not in the cluster")
        dirs = self._dirs(broker)
        if not dirs:
            return
        named = next((each for each in dirs if each.path == path), None)
        if named is None:
            raise UnknownPlace(f"broker {broker} has no log directory {path}; it has {_paths(dirs)}")
        if isinstance(goal, DrainDir):
            # The replicas of an offline directory can't be copied; replicas that other brokers have can be moved
            # between brokers instead.
            if named.failure is not None:
                self._waits.append(f"{path} of broker {broker} is offline: nothing can be read from it")
                return
            taking = [each for each in dirs if each is not named and not _why_closed(each)]
            wanted = [(named, each) for each in named.replicas if not each.is_future]
        else:
            taking = [named]
            wanted = list(self._of(goal, dirs))
            if why := _why_closed(named):
                left = any(each is not named for each, _ in wanted)
                self._waits += [f"{path} of broker {broker} {why}"] if left else []
                return
        self._waiting += [
            Held(topic, number, f"broker {of} copies it into {copy.after}, which has to end, or to be cancelled")
            for (topic, number, of), copy in self._copies.items()
            if of == broker and _opposes(goal, topic, number, copy)
        ]
        if wanted and not taking:
            self._waits.append(f"no other log directory of broker {broker} is online and takes replicas")
            return
        # Move the largest replicas that fit first; small ones fill the rest.
        for there, replica in sorted(wanted, key=lambda found: -found[1].size):
            if there not in taking:
                self._into(broker, there, replica, taking)

    def _of(self, goal: MoveIntoDir, dirs: Sequence[LogDir]) -> Iterator[tuple[LogDir, ReplicaSize]]:
        """Yield the replicas that the goal names, each with its present directory.

        Raises:
            UnknownPlace: the broker has no such replica.
        """
        found = [
            (each, replica)
            for each in dirs
            for replica in each.replicas.of((goal.topic,))
            if not replica.is_future and goal.partition in (None, replica.partition)
        ]
        if not found:
            one = f"{goal.topic}/{goal.partition}" if goal.partition is not None else f"topic {goal.topic}"
            raise UnknownPlace(f"broker {goal.broker} has no replica of {one}")
        return iter(found)

    def _into(self, broker: int, there: LogDir, replica: ReplicaSize, taking: Sequence[LogDir]) -> None:
        """Propose the move of a replica into one of the directories with enough free bytes: the first by `_rank`. If
        the replica can't be moved now, record the reason.

        Args:
            there: the present directory of the replica.
            taking: the directories that may get it.
        """
        topic, number, size = replica.topic, replica.partition, replica.size
        known = self._partitions.get((topic, number))
        roomy = [each for each in taking if not 0 <= self._free[broker, each.path] < size]
        if why := self._why_held(topic, number, broker, known):
            self._waiting.append(Held(topic, number, why))
        elif not roomy:
            self._waiting.append(Held(topic, number, f"broker {broker} has no {size:,} bytes left in {_paths(taking)}"))
        else:
            to = min(roomy, key=lambda each: self._rank(broker, each, roomy)).path
            replicas = known.replicas if known is not None else ()
            self._moves.append(DirMove(topic, number, broker, there.path, to, size, replicas))
            self._held[broker, to] += size
            if self._free[broker, to] >= 0:
                self._free[broker, to] -= size

    def _rank(self, broker: int, each: LogDir, among: Sequence[LogDir]) -> tuple[int, str]:
        # Free bytes of some directories can't be compared with held bytes of others, so compare held bytes if one
        # directory's free bytes are unknown.
        if any(self._free[broker, other.path] < 0 for other in among):
            return self._held[broker, each.path], each.path
        return -self._free[broker, each.path], each.path

    def _why_held(self, topic: str, number: int, broker: int, known: Placed | None) -> str:
        copy = self._copies.get((topic, number, broker))
        if copy is not None:
            return f"broker {broker} copies it into {copy.after} already"
        return "a move of it between brokers is under way" if known is not None and known.moving else ""

    def _restore(self, goal: Restore | Reassign) -> None:
        """Propose moves of replicas into the directories that a goal lists, such as their former ones.

        Raises:
            UnknownPlace: the goal names a directory that its broker does not have.
        """
        wanted: dict[int, dict[tuple[str, int], str]] = {}
        for topic, number, broker, path in goal.dirs:
            wanted.setdefault(broker, {})[topic, number] = path
        for broker, mine in wanted.items():
            dirs = self._dirs(broker) if broker in self._placement.hosts else ()
            paths = {each.path: each for each in dirs}
            if (
                isinstance(goal, Reassign)
                and dirs
                and (unknown := [each for each in mine.values() if each not in paths])
            ):
                raise UnknownPlace(f"broker {broker} has no log directory {unknown[0]}; it has {_paths(dirs)}")
            for there, replica in ((each, one) for each in dirs for one in each.replicas):
                wanted_in = mine.get((replica.topic, replica.partition), there.path)
                # A running copy is not a replica yet.
                if replica.is_future or wanted_in == there.path:
                    continue
                to = paths.get(wanted_in)
                why = _why_closed(to) if to is not None else "is not there any more"
                if to is None or why:
                    why = f"{wanted_in} of broker {broker} {why}"
                    self._waiting.append(Held(replica.topic, replica.partition, why))
                else:
                    self._into(broker, there, replica, [to])


def _opposes(goal: DrainDir | MoveIntoDir, topic: str, number: int, copy: DirCopy) -> bool:
    """Return whether a running copy contradicts a goal: it moves a replica out of the directory that the goal requires,
    or into the one that the goal drains.
    """
    if isinstance(goal, DrainDir):
        return copy.after == goal.path
    return copy.before == goal.path and topic == goal.topic and goal.partition in (None, number)


def _paths(dirs: Sequence[LogDir]) -> str:
    return ", ".join(each.path for each in dirs)


def _why_closed(log_dir: LogDir) -> str:
    """Return the reason why a directory takes no new replica; ``""`` if it takes them."""
    if log_dir.failure is not None:
        return "is offline"
    return (
        "is cordoned: it takes no new replicas until it is taken out of cordoned.log.dirs" if log_dir.cordoned else ""
    )
