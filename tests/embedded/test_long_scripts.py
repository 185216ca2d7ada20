"""Tests that the work of a long script grows linearly with its lines. Work is counted in function calls, which do not
depend on the machine's load.
"""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.language.grammar import parse
from console.session.script_runner import FAILED, HINTED, LONGEST_LINE, UNAPPLIED, USAGE, run_script
from tests.support import worlds

FEW, MANY = 250, 1_000
SPARE = 1.25
"""Maximum factor by which the work of MANY lines may exceed MANY / FEW times the work of FEW lines."""

LINES: dict[str, Callable[[int], str]] = {
    "one key": lambda n: f"set topic t0 retention.ms={100_000 + n}",
    "topics": lambda n: f"set topic t{n} retention.ms={100_000 + n}",
    "broker keys": lambda n: f"set broker 1 listener.name.l{n}.max.connections={n + 1}",
    "quotas": lambda n: f"set user u{n} producer_byte_rate={1_000 + n}",
    "one quota": lambda n: f"set user u producer_byte_rate={1_000 + n}",
    "acls": lambda n: f"allow User:u{n} READ on topic t{n}",
    "creations": lambda n: f"create topic new{n} partitions=1 retention.ms={100_000 + n}",
    "on a new topic": lambda n: f"set topic new retention.ms={100_000 + n}" if n else "create topic new partitions=1",
    "groups": lambda n: f"set group g{n} consumer.session.timeout.ms=50s",
    "limited": lambda n: f"set topic t{n} retention.ms={100_000 + n} for 2h",
    "back and forth": lambda n: f"{'unset' if n % 2 else 'set'} user u producer_byte_rate{'' if n % 2 else '=5'}",
    "wrong": lambda n: f"set topic t{n} retention.msx=5",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    """Provide a cluster with a topic for each line of the longest script."""
    with run_in_thread() as running:
        topics = "\n".join(f"create topic t{number} partitions=1 replication=1" for number in range(MANY))
        worlds.run_lines(running, f"{topics}\napply --yes")
        yield running


def calls(running: ThreadedCluster, script: str) -> int:
    """Return the number of calls of Python and C functions that a script makes in this thread."""
    return calls_of(lambda: worlds.run_lines(running, script))


def calls_of(work: Callable[[], object]) -> int:
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "before"),
    [*((what, "") for what in LINES), ("topics", "check"), ("one quota", "check"), ("back and forth", "check")],
)
def test_four_times_the_lines_are_four_times_the_work(
    cluster: ThreadedCluster, what: str, before: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four times as many lines need about four times as many calls, even if a `check` in the middle has stored
    outcomes, and later lines remove these outcomes.
    """
    work = {}
    for count in (FEW, MANY):
        lines = [LINES[what](number) for number in range(count)]
        if before:
            lines.insert(count // 2, before)
        work[count] = calls(cluster, "\n".join(lines))
        capsys.readouterr()
    assert work[MANY] < SPARE * MANY / FEW * work[FEW]


@pytest.mark.parametrize("value", ["'{}'", '"{}"', "{}"])
@pytest.mark.parametrize("space", [1, 100_000])
def test_a_word_is_read_at_once_however_long_it_is(value: str, space: int) -> None:
    """A long word is parsed in one step: character by character, a megabyte would take a second, and a file that is no
    script minutes.
    """

    def work(length: int, space: int = 1) -> int:
        script = f"set topic a{' ' * space}k=x{value.format('x' * length)}"
        return min(calls_of(lambda: parse(script)) for _ in range(3))  # a finalizer may run during one

    work(10)  # fills the caches
    assert work(100_000, space) == work(10)


def test_a_line_that_is_too_long_for_a_script_is_refused_before_it_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    def never(_context: object = None) -> NoReturn:
        raise AssertionError("nothing is connected to")

    codes: list[int] = []
    script = "list topics\n" + "a " * (LONGEST_LINE // 2) + "b"
    begun = calls_of(lambda: codes.append(run_script(script, never, never, output="text")))
    assert begun < 10_000
    assert codes == [USAGE]
    assert capsys.readouterr().err == (
        "kac: line 2, column 1: the line has 1,048,577 characters; 1,048,576 are allowed; "
        "begin a line for each statement\n"
    )


def test_many_wrong_lines_are_all_named_and_the_first_have_hints(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each wrong line of a script is reported, but only the first ones with a similar name as a hint. Finding it
    among many names takes a tenth of a second, which would add up to hours for a script of another cluster.
    """
    capsys.readouterr()
    count = 3 * HINTED
    for line, message in (
        ("set topic x{} retention.ms=5", "there is no topic"),
        ("set topic t{} retention.m=5", "unknown topic config"),
    ):
        assert worlds.run_lines(cluster, "\n".join(line.format(number) for number in range(count))) == FAILED
        said = [each for each in capsys.readouterr().err.splitlines() if each.startswith("kac: line")]
        assert len([each for each in said if message in each]) == count
        assert [bool(each.count(";")) for each in said] == [True] * HINTED + [False] * (count - HINTED)


def test_undo_and_redo_take_steps_of_a_script_one_by_one(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"set topic t{number % 7} retention.ms={100_000 + number}" for number in range(70)]
    capsys.readouterr()
    assert worlds.run_lines(cluster, "\n".join([*lines, "undo", "undo", "redo", "plan"])) == UNAPPLIED
    shown = capsys.readouterr().out.rpartition("edits staged\n")[2].splitlines()
    found = {
        words[1]: words[-3] for line in shown if (words := line.split())[:1] == ["topic"] and words[-1] == "staged"
    }
    # The last step was undone, and the one before it was undone and redone.
    assert found == {f"t{number % 7}": str(100_000 + number) for number in range(69)}
