"""The arguments, the statement and the text that all verbs that begin operations have in common."""

from __future__ import annotations

from console.language.arguments import named, whole_number
from console.language.quoting import quote
from console.language.reader import Candidate, Expected, Reader, Role, What
from console.language.statements import BarStatement, joined, partition_text
from console.language.verb import StatementKind
from console.model.numbers import commas
from console.operations import goals


class BeginOperation(BarStatement, frozen=True):
    """A statement that begins an operation: ``drain``, ``replace``, ``balance``, ``replication``, ``back``, or ``move``
    of a whole topic or with a throttle.
    """

    goal: goals.Worded
    throttle: int | None = None
    """The limit in bytes per second for each broker's replication, in each direction; None without a throttle."""


def begun(reader: Reader, goal: goals.Worded) -> BeginOperation:
    """Read ``[throttle RATE]`` at the end of a statement, and return the statement that begins an operation for a goal.
    Raises ParseError.
    """
    return BeginOperation(goal, optional_throttle(reader) or None)


def optional_throttle(reader: Reader) -> int | None:
    """Read ``[throttle RATE]`` and return bytes per second; 0 for no throttle, None if the statement leaves it out.
    Raises ParseError.
    """
    return rate(reader) if reader.take_keyword("throttle") is not None else None


def rate(reader: Reader) -> int:
    """Read a rate and return bytes per second. Raises ParseError."""
    from console.operations.throttle import rate_of

    word = reader.take(Expected(What.ARGUMENT, "a RATE, as 50MB/s"), Role.VALUE)
    try:
        return rate_of(word.text)
    except ValueError as error:
        reader.fail(str(error), word)


def brokers(reader: Reader) -> tuple[int, ...]:
    """Read the ids of brokers in one word, separated by commas. Raises ParseError."""
    word = reader.take(Expected(What.BROKER, "numbers of brokers, as 3,1,2"), Role.VALUE)
    read = [whole_number(each) for each in word.text.split(",")]
    found = tuple(each for each in read if each is not None)
    if len(found) < len(read):
        reader.fail("expected numbers of brokers with ',' between them, the preferred leader first", word)
    if len(set(found)) < len(found):
        reader.fail("a broker is named twice", word)
    return found


def log_dir(reader: Reader, broker: int) -> str:
    """Read the path of one of a broker's log directories. Raises ParseError."""
    return named(
        reader,
        Expected(
            What.ARGUMENT,
            "the PATH of a log directory",
            offers=lambda snapshot: [Candidate(each.path) for each in snapshot.log_dirs.get(broker, ())],
        ),
    )


def _text(statement: BeginOperation) -> str:
    goal, throttle = statement.goal, statement.throttle
    if isinstance(goal, goals.MoveIntoDir) and goal.partition is not None and throttle is None:
        return f"{_goal(goal)} throttle 0"  # without the throttle it would be an edit
    return joined(_goal(goal), f"throttle {throttle}" if throttle is not None else "")


def _goal(goal: goals.Worded) -> str:
    match goal:
        case goals.Drain(brokers=numbers):
            return f"drain broker {commas(numbers)}"
        case goals.Replace(broker=broker, by=by):
            return f"replace broker {broker} by {by}"
        case goals.MoveTopic(topic=topic, brokers=numbers):
            return f"move topic {quote(topic)} to {commas(numbers)}"
        case goals.DrainDir(broker=broker, path=path):
            return f"drain broker {broker} dir {quote(path)}"
        case goals.MoveIntoDir(topic=topic, broker=broker, path=path, partition=number):
            return joined("move topic", quote(topic), partition_text(number), f"broker {broker} to dir {quote(path)}")
        case goals.Replicate(topic=topic, replicas=replicas):
            return f"replication topic {quote(topic)} {replicas}"
        case goals.Restore(operation=operation):
            return f"back {operation}"
        case goals.Balance():
            return "balance"


BEGUN = StatementKind(statement=BeginOperation, text=_text)
