"""The record of a kind of edit. Each kind has one in `console.plan.kinds`.

A part that most kinds leave out has a default here. Kinds that are sent in one request share a `Batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from console.model.changes import Status, Target
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import Facts, Step
from console.plan.risk_rules import RiskRule
from console.plan.staged import Described, Draft, Staged, Verdict, Was

E = TypeVar("E", bound=Edit)


class Reversal(NamedTuple):
    """How an edit is reverted.

    edits: they do it together; empty where nothing can. left: the state of their targets that the edit left, which they
    are based on. loss: what does not come back with it; ``""`` where all does.
    """

    edits: tuple[Edit, ...]
    left: Was
    loss: str = ""


# -- what several kinds share ------------------------------------------------------------------------------------------


def is_absent(_edit: Edit, now: Was) -> bool:
    """Return whether nothing is there: what a deletion wants."""
    return now is None


def leaves_nothing(_edit: Edit, _there: Was, _inheritance: Inheritance) -> EffectiveValue:
    """Return the effective value after a deletion."""
    return NOTHING


def no_way_back(loss: str, left: Was = None) -> Callable[[Edit, Was, Mapping[str, str]], Reversal]:
    """Return the reversal of an edit that nothing reverts.

    Args:
        loss: why, for an operator.
        left: the state of its target that the edit left.
    """
    return lambda _edit, _was, _recorded: Reversal((), left, loss)


# -- defaults ----------------------------------------------------------------------------------------------------------


def _target(edit: Edit) -> tuple[Target, ...]:
    return (edit.target,)


def _differs(_edit: Edit, was: Was, now: Was) -> bool:
    return was != now


def _not_settled(_edit: Edit, _was: Was, _now: Was, _changed: bool) -> Status | None:
    return None


def _no_obstacle(_edit: Edit, _now: Was) -> str:
    return ""


def _as_is(state: Any) -> Any:
    return state


def _nothing_implied(_edit: Edit) -> tuple[Edit, ...]:
    return ()


def _no_effect(_edit: Edit, _seen: Draft) -> tuple[str, ...]:
    return ()


def _as_it_is(_edit: Edit, draft: Draft) -> Inheritance:
    return draft.inheritance


def _no_note(_edit: Edit, _there: Was, _old: EffectiveValue, _inheritance: Inheritance) -> str:
    return ""


def _its_verb(line: DiffLine, _old: str, _new: str) -> str:
    return line.verb


def _nothing_recorded(_edit: Edit, _snapshot: Snapshot) -> Mapping[str, str]:
    return {}


def _no_doubt(_edit: Edit, _change: int, _same_topic: bool) -> str:
    return ""


def _always(_edit: Edit) -> bool:
    return True


def _never(_line: DiffLine) -> bool:
    return False


def _no_commands(_target: Target, _lines: Sequence[DiffLine]) -> tuple[Command, ...]:
    return ()


def _lasts(_edit: Edit, _snapshot: Snapshot) -> float:
    return 0.0


class EditKind(Struct, Generic[E], frozen=True, kw_only=True):
    """Everything about one kind of edit: the seam between a noun and the plan, which knows no kind by name.

    Functions are pure and read nothing but their arguments; `Any` stands for the kind's own edit and state. Only those
    that read JSON raise, for a form that is not theirs. A field's ``(edit, now) -> …`` names its arguments:

    Args:
        edit: of the class in the field `edit`.
        was, now, there: a state of the edit's target as `current` returns it: when it was staged, read again, either.
            None where nothing is there. UNREAD reaches `settled` alone; `note` and `after` get None in its place.
        seen, draft: the snapshot with lookups that are computed once; a draft has all staged edits as well.
        inheritance: what config resources inherit in that snapshot.
    """

    # -- identity, and the state in files ------------------------------------------------------------------------------

    edit: type[E]
    """The class; no two kinds have the same."""
    verb: str
    """The verb of its lines in a diff, as an operator says it: ``set``, ``delete``."""
    state: type
    """What plan files and journals keep as the state of its target: the state itself, or what `kept` makes of it."""

    # -- staging -------------------------------------------------------------------------------------------------------

    judge: Callable[[Any, Draft], Verdict]
    """(edit, draft) -> Staged with values parsed and the state of its target, Dropped where it would change nothing, or
    Refused. It does not check what brokers alone can know: a staged edit may still fail."""

    # -- what is there -------------------------------------------------------------------------------------------------

    current: Callable[[Any, Described], Was]
    """(edit, seen) -> the state of its target: None if nothing is there, UNREAD if that part was not read. What was not
    read never counts as missing: an apply would overwrite it unseen."""
    wanted: Callable[[Any, Any], bool | None]
    """(edit, now) -> whether that is what the edit wants; None where it can't be seen: of a secret, or of an edit that
    is done once and leaves no state. A lost answer then stays unknown."""

    # -- presentation --------------------------------------------------------------------------------------------------

    before: Callable[[Any, Any, Inheritance], EffectiveValue]
    """(edit, there, inheritance) -> the effective value without the edit."""
    after: Callable[[Any, Any, Inheritance], EffectiveValue]
    """(edit, there, inheritance) -> the effective value once the edit is done."""
    beneath: Callable[[Any, Draft], Inheritance] = _as_it_is
    """(edit, draft) -> the inheritance for `after`: what is staged beside the edit may change what it falls back to."""

    # -- applying and reverting ----------------------------------------------------------------------------------------

    reversal: Callable[[Any, Any, Mapping[str, str]], Reversal]
    """(edit, was, recorded) -> its opposite. recorded: what `recorded` returned right before the edit was sent."""
    batch: Batch
    """How it is sent. Kinds that one request can carry share a batch."""

    # -- parts with a default ------------------------------------------------------------------------------------------

    kept: Callable[[Any], Any] = _as_is
    """(state) -> what files keep of it."""
    state_of: Callable[[Any], Was] = _as_is
    """(kept) -> the state again, as far as it was kept."""
    touches: Callable[[Any], tuple[Target, ...]] = _target
    """(edit) -> the targets to describe again before `current` shows the present state."""
    obstacle: Callable[[Any, Any], str] = _no_obstacle
    """(edit, now) -> why the edit can't be done now, though its value may be as it was; ``""`` if it can."""
    moved: Callable[[Any, Any, Any], bool] = _differs
    """(edit, was, now) -> whether the target changed in a way that matters to the edit: a conflict."""
    own_moved: Callable[[Any, Any, Any], bool] | None = None
    """(edit, was, now) -> the same without what the target inherits; None: as `moved`."""
    settled: Callable[[Any, Any, Any, bool], Status | None] = _not_settled
    """(edit, was, now, moved) -> the outcome of an edit whose answer was lost; None leaves it to `wanted`."""
    note: Callable[[Any, Any, EffectiveValue, Inheritance], str] = _no_note
    """(edit, there, old value, inheritance) -> what the operator may not expect of the line; ``""`` for nothing."""
    phrase: Callable[[DiffLine, str, str], str] = _its_verb
    """(line, old, new) -> the change of a whole target as text, from its line and the texts of both values."""
    implies: Callable[[Any], tuple[Edit, ...]] = _nothing_implied
    """(edit) -> edits that it makes besides, and that an edit staged for their slot overrides."""
    effects: Callable[[Any, Draft], tuple[str, ...]] = _no_effect
    """(edit, draft) -> who else is changed, a line each, given all that is staged."""
    risks: tuple[RiskRule, ...] = ()
    """Its warnings, in the order of `risk_rules.NAMES`."""
    recorded: Callable[[Any, Snapshot], Mapping[str, str]] = _nothing_recorded
    """(edit, snapshot right before it is sent) -> what the journal keeps for `reversal` besides the state."""
    takes_away: Callable[[Any], bool] = _always
    """(edit) -> whether it is a loss that it can't be reversed: an operator is warned of it."""
    relapses: Callable[[Any, Snapshot], float] = _lasts
    """(edit, snapshot after it was applied) -> seconds within which the cluster may take it back itself; 0: never."""
    doubt: Callable[[Any, int, bool], str] = _no_doubt
    """(edit, change, same topic) -> for an edit that reverts one of that change: why its target may not be what the
    change made; ``""`` for no doubt. same topic: whether the topic's id is known to be the same."""


class Batch(Struct, frozen=True, eq=False, kw_only=True):
    """How edits of some kinds are sent together, after all batches before it in `kinds.registry.BATCHES`.

    Kinds share a batch by naming the same object; two with equal fields are two batches, and each edit is sent once.
    """

    steps: Callable[[Sequence[Staged], Facts], list[Step]]
    """(staged, facts) -> their requests, as few as the controller's limits allow; each edit in exactly one."""
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
