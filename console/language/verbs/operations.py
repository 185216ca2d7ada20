"""``drain``, ``replace``, ``balance``, ``replication`` and ``back`` begin an operation; ``operation`` changes or ends
it.
"""

from __future__ import annotations

from functools import partial

from console.language import operation_words
from console.language.arguments import BROKER, INT_MAX, NUMBER_MAX, need_number, topic_name
from console.language.reader import Expected, Reader, What
from console.language.statements import BarStatement, Where
from console.language.verb import CHANGE, StatementKind, Verb
from console.operations import goals


class AskOfOperation(BarStatement, frozen=True):
    """The statement ``operation``, which changes or ends an open operation.

    If neither `throttle` nor `pause` is given, the statement is ``give-up``: the operation ends although its throttles
    are still set on brokers that do not respond.
    """

    number: int
    throttle: int | None = None
    """The new limit: bytes per second, or for a redrive letters per second; 0 for no limit; None if the statement
    changes something else.
    """
    pause: bool | None = None
    """Whether a redrive shall pause (True) or continue (False); None if the statement changes something else."""


def _drain(reader: Reader) -> operation_words.BeginOperation:
    reader.need_keyword("broker")
    numbers = operation_words.brokers(reader)
    if len(numbers) == 1 and reader.take_keyword("dir") is not None:
        return operation_words.begun(reader, goals.DrainDir(numbers[0], operation_words.log_dir(reader, numbers[0])))
    return operation_words.begun(reader, goals.Drain(numbers))


def _replace(reader: Reader) -> operation_words.BeginOperation:
    reader.need_keyword("broker")
    broker = need_number(reader, BROKER, INT_MAX)
    reader.need_keyword("by")
    return operation_words.begun(reader, goals.Replace(broker, need_number(reader, BROKER, INT_MAX)))


def _replication(reader: Reader) -> operation_words.BeginOperation:
    name = topic_name(reader)
    replicas = need_number(reader, Expected(What.ARGUMENT, "how many replicas"), 2**15 - 1)
    return operation_words.begun(reader, goals.Replicate(name.text or "", replicas))


def _back(reader: Reader) -> operation_words.BeginOperation:
    """Read the number of the operation to reverse. The replicas before that operation are in the journal, not in the
    statement. Raises ParseError.
    """
    expected = Expected(What.ARGUMENT, "the number of an OPERATION")
    return operation_words.begun(reader, goals.Restore(need_number(reader, expected, NUMBER_MAX)))


def _operation(reader: Reader) -> AskOfOperation:
    number = need_number(reader, Expected(What.ARGUMENT, "the number of an OPERATION"), NUMBER_MAX)
    match reader.need_keyword("throttle", "give-up", "pause", "go-on"):
        case "throttle":
            return AskOfOperation(number, operation_words.rate(reader))
        case "give-up":
            return AskOfOperation(number)
        case asked:
            return AskOfOperation(number, pause=asked == "pause")


def _text(statement: AskOfOperation) -> str:
    asked = f"throttle {statement.throttle}" if statement.throttle is not None else "give-up"
    if statement.pause is not None:
        asked = "pause" if statement.pause else "go-on"
    return f"operation {statement.number} {asked}"


_OPERATION = (
    "kac first shows the forecast of the operation, and asks. RATE limits how much each broker copies, and "
    "how much other brokers read from it, for example 50MB/s.\n\n"
    "The console works on the operation until you close the console. To continue the operation afterwards, "
    "press W in a console or run `kac moves --continue`."
)

_begins = partial(Verb, group=CHANGE, about=_OPERATION, where=Where.BAR, statements=(operation_words.BEGUN,))
"""Returns a verb that begins an operation."""

VERBS = (
    _begins(
        name="drain",
        usage=("drain broker ID,ID,… [throttle RATE]", "drain broker ID dir PATH [throttle RATE]"),
        summary="Begin an operation that moves all replicas away from these brokers, or out of a log directory",
        about=f"{_OPERATION}\n\n"
        "You can also drain a broker that is down. The new replicas then copy the data from the leaders.",
        examples=("drain broker 3", "drain broker 3,4 throttle 50MB/s", "drain broker 3 dir /data2"),
        takes_away=True,
        parse=_drain,
    ),
    _begins(
        name="replace",
        usage=("replace broker ID by ID [throttle RATE]",),
        summary="Begin an operation that gives each replica of a broker to another broker, at the same place in the "
        "order of replicas",
        examples=("replace broker 3 by 5 throttle 50MB/s",),
        takes_away=True,
        parse=_replace,
    ),
    _begins(
        name="balance",
        usage=("balance [throttle RATE]",),
        summary="Begin an operation that gives all brokers the same number of replicas, as far as racks allow",
        examples=("balance throttle 50MB/s",),
        parse=lambda reader: operation_words.begun(reader, goals.Balance()),
    ),
    _begins(
        name="replication",
        usage=("replication topic NAME N [throttle RATE]",),
        summary="Begin an operation that gives each partition of a topic N replicas",
        examples=("replication topic orders 3",),
        parse=_replication,
    ),
    _begins(
        name="back",
        usage=("back OPERATION [throttle RATE]",),
        summary="Begin an operation that moves back the replicas of an ended operation",
        examples=("back 7 throttle 50MB/s",),
        takes_away=True,
        parse=_back,
    ),
    Verb(
        "operation",
        CHANGE,
        ("operation N throttle RATE", "operation N give-up", "operation N pause", "operation N go-on"),
        "Change the throttle of the open operation (0 for none), stop waiting for brokers, pause, or continue",
        "The process that works on the operation makes the change at its next poll.\n\n"
        "`give-up` ends the operation although brokers that do not answer may keep its throttles. When these "
        "brokers answer again, `kac leftovers` finds the throttles. `x` in the pane Moves cancels the operation.\n\n"
        "The throttle of a redrive counts letters a second. Only a redrive can pause.",
        ("operation 7 throttle 200MB/s", "operation 7 give-up"),
        Where.BAR,
        parse=_operation,
        statements=(StatementKind(statement=AskOfOperation, text=_text),),
    ),
)
