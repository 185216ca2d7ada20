"""What a kind of edit is: the class whose methods each kind of `console.plan.kinds` overrides, and how edits are sent.

What most kinds leave out has a default here. Kinds that are sent in one request share a `Batch`.
"""

# ruff: noqa: ARG002 -- what is done by default needs fewer arguments than what kinds do.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from console.model.changes import Status, Target
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import Steps
from console.plan.risk_rules import RiskRule
from console.plan.staged import Described, Draft, Verdict, Was


class Reversal(NamedTuple):
    """How an edit is reverted.

    edits: they do it together; empty where nothing can. left: the state of their targets that the edit left, which they
    are based on. loss: what does not come back with it; ``""`` where all does.
    """

    edits: tuple[Edit, ...]
    left: Was
    loss: str = ""


class EditKind:
    """Everything about one kind of edit: the seam between a noun and the plan, which knows no kind by name.

    Methods are pure and read nothing but their arguments; `Any` stands for the kind's own edit and state.

    Args:
        edit: of the class in the attribute `edit`.
        was, now, there: a state of the edit's target as `current` returns it: when it was staged, read again, either.
            None where nothing is there. UNREAD reaches `settled` alone; `note` and `after` get None in its place.
        seen, draft: the snapshot with lookups that are computed once; a draft has all staged edits as well.
        inheritance: what config resources inherit in that snapshot.
    """

    edit: type[Edit]
    """The class; no two kinds have the same."""
    verb: str
    """The verb of its lines in a diff, as an operator says it: ``set``, ``delete``."""
    state: Any
    """The type of what plan files and journals keep of the state of its target: the state's own, or that of `kept`."""
    batch: Batch
    """How it is sent. Kinds that one request can carry share a batch."""
    risks: tuple[RiskRule, ...] = ()
    """Its warnings, in the order of `risk_rules.NAMES`."""
    no_way_back: str
    """Of a kind without a `reversal` of its own: why nothing reverts it, for an operator."""
    left: Was = None
    """Of such a kind: the state of its target that an edit leaves."""

    def kept(self, was: Any) -> Any:
        """Return what files keep of a state."""
        return was

    def state_of(self, kept: Any) -> Was:
        """Return the state again, as far as it was kept."""
        found: Was = kept
        return found

    # -- staging -------------------------------------------------------------------------------------------------------

    def judge(self, edit: Any, draft: Draft) -> Verdict:
        """Return Staged with values parsed and the state of its target, or Dropped if it would change nothing. It does
        not check what brokers alone can know: a staged edit may still fail.

        Raises:
            Refused: it can't be staged.
        """
        raise NotImplementedError

    # -- what is there -------------------------------------------------------------------------------------------------

    def current(self, edit: Any, seen: Described) -> Was:
        """Return the state of its target: None if nothing is there, UNREAD if that part was not read. What was not read
        never counts as missing: an apply would overwrite it unseen."""
        raise NotImplementedError

    def touches(self, edit: Any) -> tuple[Target, ...]:
        """Return the targets to describe again before `current` shows the present state."""
        return (edit.target,)

    def obstacle(self, edit: Any, now: Any) -> str:
        """Return why the edit can't be done now, though its value may be as it was; ``""`` if it can."""
        return ""

    def moved(self, edit: Any, was: Any, now: Any) -> bool:
        """Return whether the target changed in a way that matters to the edit: a conflict."""
        changed: bool = was != now
        return changed

    def own_moved(self, edit: Any, was: Any, now: Any) -> bool:
        """Return the same without what the target inherits."""
        return self.moved(edit, was, now)

    def wanted(self, edit: Any, now: Any) -> bool | None:
        """Return whether that is what the edit wants; None where it can't be seen: of a secret, or of an edit that is
        done once and leaves no state. A lost answer then stays unknown."""
        raise NotImplementedError

    def settled(self, edit: Any, was: Any, now: Any, changed: bool) -> Status | None:
        """Return the outcome of an edit whose answer was lost; None leaves it to `wanted`."""
        return None

    # -- presentation --------------------------------------------------------------------------------------------------

    def before(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return the effective value without the edit."""
        raise NotImplementedError

    def after(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return the effective value once the edit is done."""
        raise NotImplementedError

    def beneath(self, edit: Any, draft: Draft) -> Inheritance:
        """Return the inheritance for `after`: what is staged beside the edit may change what it falls back to."""
        return draft.inheritance

    def note(self, edit: Any, there: Any, old: EffectiveValue, inheritance: Inheritance) -> str:
        """Return what the operator may not expect of the line; ``""`` for nothing."""
        return ""

    def phrase(self, line: DiffLine, old: str, new: str) -> str:
        """Return the change of a whole target as text, from its line and the texts of both values."""
        return line.verb

    def implies(self, edit: Any) -> tuple[Edit, ...]:
        """Return edits that it makes besides, and that an edit staged for their slot overrides."""
        return ()

    def effects(self, edit: Any, draft: Draft) -> tuple[str, ...]:
        """Return who else is changed, a line each, given all that is staged."""
        return ()

    # -- applying and reverting ----------------------------------------------------------------------------------------

    def recorded(self, edit: Any, snapshot: Snapshot) -> Mapping[str, str]:
        """Return what the journal keeps for `reversal` besides the state, of the snapshot right before it is sent."""
        return {}

    def reversal(self, edit: Any, was: Any, recorded: Mapping[str, str]) -> Reversal:
        """Return its opposite, given what `recorded` returned."""
        return Reversal((), self.left, self.no_way_back)

    def takes_away(self, edit: Any) -> bool:
        """Return whether it is a loss that it can't be reversed: an operator is warned of it."""
        return True

    def relapses(self, edit: Any, snapshot: Snapshot) -> float:
        """Return the seconds within which the cluster may take it back itself, after it was applied; 0: never."""
        return 0.0

    def doubt(self, edit: Any, change: int, same_topic: bool) -> str:
        """Return why the target of an edit that reverts one of a change may not be what the change made; ``""`` for no
        doubt.

        Args:
            same_topic: whether the topic's id is known to be the same.
        """
        return ""


class Removal(EditKind):
    """A kind of edit that takes its target away."""

    def wanted(self, edit: Any, now: Any) -> bool | None:
        """Return whether nothing is there."""
        return now is None

    def after(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return that nothing applies."""
        return NOTHING


# -- sending -----------------------------------------------------------------------------------------------------------


def _never(_line: DiffLine) -> bool:
    return False


def _no_commands(_target: Target, _lines: Sequence[DiffLine]) -> tuple[Command, ...]:
    return ()


def each_line(command: Callable[[Any, DiffLine], Command]) -> Callable[[Target, Sequence[DiffLine]], Iterable[Command]]:
    """Return the commands of a batch whose edits have one each. command: (edit, its line) -> its command."""
    return lambda _target, lines: (command(line.edit, line) for line in lines)


class Batch(Struct, frozen=True, eq=False, kw_only=True):
    """How edits of some kinds are sent together, after all batches before it in `kinds.registry.BATCHES`.

    Kinds share a batch by naming the same object; two with equal fields are two batches, and each edit is sent once.
    """

    steps: Steps
    predict: Callable[[Snapshot, Sequence[Any]], Snapshot]
    """(snapshot, edits) -> the cluster after them, as far as it can be known; untouched parts stay the same objects."""
    commands: Callable[[Target, Sequence[DiffLine]], Iterable[Command]] = _no_commands
    """(target, its lines) -> the commands of Kafka's tools for one target."""
    all_commands: Callable[[Sequence[DiffLine]], Iterable[Command]] | None = None
    """(lines) -> those for the lines of all targets together, where one command can carry many."""
    carries: Callable[[DiffLine], bool] = _never
    """(line) -> of a batch that creates topics: whether the command that creates one can carry this line, too."""
    waits_for: Batch | None = None
    """The batch whose requests all have to succeed before these are sent: an earlier one in `BATCHES`."""
    why: str = ""
    """What the note of a request says where it waits."""
    refused_before: bool = False
    """Whether brokers would refuse these before that batch, so that they can't be checked in advance."""
