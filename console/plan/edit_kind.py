"""What the product knows of a kind of edit: one record for each kind, in `console.plan.kinds`.

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
from console.plan.effective_values import DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import Facts, Step
from console.plan.risk_rules import RiskRule
from console.plan.staged import Described, Draft, Staged, Verdict, Was

E = TypeVar("E", bound=Edit)
Json = dict[str, Any]


class Typed(NamedTuple):
    """What an operator has to type before something is sent: `text`, which is `what` (``the name of the context``).

    warns: it accepts warnings; without an operator to ask, they are accepted by name."""

    what: str
    text: str
    warns: bool = False


class Reversal(NamedTuple):
    """How an edit is taken back.

    edits: what does it together, empty where nothing can. left: what the edit left in the place of each of them, on
    which they stand. loss: what does not come back with it; ``""`` where all does.
    """

    edits: tuple[Edit, ...]
    left: Was
    loss: str = ""


# -- defaults ----------------------------------------------------------------------------------------------------------


def _target(edit: Edit) -> tuple[Target, ...]:
    return (edit.target,)


def _differs(_edit: Edit, was: Was, now: Was) -> bool:
    return was != now


def _not_settled(_edit: Edit, _was: Was, _now: Was, _changed: bool) -> Status | None:
    return None


def _no_obstacle(_edit: Edit, _now: Was) -> str:
    return ""


def _no_secret(_edit: Edit) -> bool:
    return False


def _nothing_implied(_edit: Edit) -> tuple[Edit, ...]:
    return ()


def _no_effect(_edit: Edit, _seen: Draft) -> tuple[str, ...]:
    return ()


def _no_note(_edit: Edit, _there: Was, _old: EffectiveValue, _inheritance: Inheritance) -> str:
    return ""


def _its_verb(line: DiffLine, _old: str, _new: str) -> str:
    return line.verb


def _nothing_recorded(_edit: Edit, _snapshot: Snapshot) -> Mapping[str, str]:
    return {}


def _nothing_typed(_edit: Edit) -> Typed | None:
    return None


def _no_doubt(_edit: Edit, _change: int, _same_topic: bool) -> str:
    return ""


def _always(_edit: Edit) -> bool:
    return True


def _never(_line: DiffLine) -> bool:
    return False


def _no_commands(_target: Target, _lines: Sequence[DiffLine]) -> tuple[Command, ...]:
    return ()


class EditKind(Struct, Generic[E], frozen=True, kw_only=True):
    """Everything about one kind of edit. Functions are pure; `Any` stands for the kind's own edit and state.

    Identity and JSON form (plan files and journals keep it; a form never changes its meaning):

    edit: the class. verb: of its lines in a diff, as an operator says it.
    form, op: the field of the JSON form that names the place, and the value of its field ``op``: unique together.
    to_json: the fields: ``form`` and others that name the place, and what is done in a field ``value`` (some old kinds
    have other names); with True a value that is not to be written is left out. from_json: the edit
    again; raises KeyError, TypeError and ValueError. state_json, state_of: what stood in its place, in the same way.
    holds_secret: whether the edit holds a value that no file may hold. hideable: whether the JSON form can leave out a
    value that is no Secret, for a key that is called like one.

    What is there:

    touches: what has to be described again to see what is in its place.
    current: what is there now; UNREAD where that was not read.
    obstacle: why what is there now does not let the edit be done, though its value may be as it was; ``""`` if nothing.
    moved: whether that is not what was there before. own_moved: the same without what the place inherits.
    wanted: whether that is what the edit wants; None where it can't be seen, as of a secret or an edit that is done
    once and leaves no state. settled: the outcome of a lost answer, from what was there before, what is now, and
    whether that has moved; None leaves it to `wanted`.

    Staging and presentation:

    judge: whether it is staged, would change nothing, or is refused.
    before, after: what applies in its place without the edit, and once it is done.
    note: what the operator may not expect of the line. phrase: the change of a whole target, from its line and the
    texts of both values. implies: edits that it makes besides.
    effects: who else is changed, a line each, told all that is staged. risks: its warnings, in the order of their
    names.

    Applying and taking back:

    batch: how it is sent. typed: what an interactive front end wants typed before it is sent.
    recorded: what the journal keeps for its reversal besides what stood in its place, as it was right before.
    reversal: its opposite, from what stood in its place, which was read, and what was recorded.
    takes_away: whether what can't be reversed is a loss.
    doubt: of an edit that takes back one of the change with this number: why its place may not be what that one made,
    told whether the topic is known to be the same; ``""`` for no doubt.
    """

    edit: type[E]
    verb: str
    form: str
    op: str
    to_json: Callable[[Any, bool], Json]
    from_json: Callable[[Json], E]
    state_json: Callable[[Any], Any]
    state_of: Callable[[Any], Was]
    judge: Callable[[Any, Draft], Verdict]
    current: Callable[[Any, Described], Was]
    wanted: Callable[[Any, Any], bool | None]
    before: Callable[[Any, Any, Inheritance], EffectiveValue]
    after: Callable[[Any, Any, Inheritance], EffectiveValue]
    reversal: Callable[[Any, Any, Mapping[str, str]], Reversal]
    batch: Batch
    holds_secret: Callable[[Any], bool] = _no_secret
    hideable: bool = False
    touches: Callable[[Any], tuple[Target, ...]] = _target
    obstacle: Callable[[Any, Any], str] = _no_obstacle
    moved: Callable[[Any, Any, Any], bool] = _differs
    own_moved: Callable[[Any, Any, Any], bool] | None = None
    settled: Callable[[Any, Any, Any, bool], Status | None] = _not_settled
    note: Callable[[Any, Any, EffectiveValue, Inheritance], str] = _no_note
    phrase: Callable[[DiffLine, str, str], str] = _its_verb
    implies: Callable[[Any], tuple[Edit, ...]] = _nothing_implied
    effects: Callable[[Any, Draft], tuple[str, ...]] = _no_effect
    risks: tuple[RiskRule, ...] = ()
    typed: Callable[[Any], Typed | None] = _nothing_typed
    recorded: Callable[[Any, Snapshot], Mapping[str, str]] = _nothing_recorded
    takes_away: Callable[[Any], bool] = _always
    doubt: Callable[[Any, int, bool], str] = _no_doubt


class Batch(Struct, frozen=True, kw_only=True):
    """How edits of some kinds are sent together, after all batches before it in `kinds.registry.BATCHES`.

    steps: their requests, as few as the controller's limits allow.
    predict: the cluster after them, as far as that can be known; parts that they don't touch stay the same objects.
    commands: the commands of Kafka's tools for the lines of one target. all_commands: those for the lines of all
    targets together, where one command can carry many.
    carries: of a batch that creates topics: whether the command that creates one can carry this line of it too.
    waits_for: the batch whose requests all have to succeed before these are sent; why: what a request's note says then.
    refused_before: whether brokers would refuse these before that, so that they can't be checked.
    """

    steps: Callable[[Sequence[Staged], Facts], list[Step]]
    predict: Callable[[Snapshot, Sequence[Any]], Snapshot]
    commands: Callable[[Target, Sequence[DiffLine]], Iterable[Command]] = _no_commands
    all_commands: Callable[[Sequence[DiffLine]], Iterable[Command]] | None = None
    carries: Callable[[DiffLine], bool] = _never
    waits_for: Batch | None = None
    why: str = ""
    refused_before: bool = False
