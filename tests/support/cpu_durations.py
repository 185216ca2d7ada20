"""The CPU time of each test: ``pytest -p tests.support.cpu_durations --cpu-durations 30``.

The CPU time of a test is the same on a busy machine as on an idle one. It includes the time of all processes under the
test (brokers, commands, Spark). The time of a process that several tests use counts for the test during which the
process used it. Works with ``-n``.
"""

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PROPERTY = "cpu seconds"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the number of lines of each table, and the option for the file that lists the time of every
    test.
    """
    parser.addoption("--cpu-durations", type=int, default=30, metavar="N", help="show the N dearest tests and files")
    parser.addoption("--cpu-durations-file", type=Path, default=None, metavar="FILE", help="all tests, dearest first")


def pytest_configure(config: pytest.Config) -> None:
    """Register the measurement in every process of a run, and the report in the process that collects the results."""
    config.pluginmanager.register(_Measured(), "cpu-durations-measured")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(config), "cpu-durations-report")


class _Measured:
    """Measures the CPU seconds of each test, set-up and tear-down included, and adds them to the report of its
    tear-down.
    """

    def __init__(self) -> None:
        self._last = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the test's CPU seconds to its report, if the report is that of the tear-down."""
        report = yield
        if call.when != "teardown":
            return report
        now = cpu_seconds()
        report.user_properties = [*report.user_properties, (_PROPERTY, now - self._last)]
        self._last = now
        return report

    def pytest_collection_finish(self) -> None:
        """Restart the measurement, so that the first test is not charged for the time of collecting."""
        self._last = cpu_seconds()


class _Report:
    """Keeps the CPU seconds of each test, and prints sums by file and by test function at the end of a run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the CPU seconds of a test if its report has them."""
        for name, value in report.user_properties:
            if name == _PROPERTY:
                self._tests[report.nodeid.partition("@")[0]] = float(str(value))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the largest sums by file, then by test function; write the seconds of every test into the file of
        `--cpu-durations-file`, if given.
        """
        lines = self._config.getoption("--cpu-durations")
        terminalreporter.section(
            f"CPU: tests {sum(self._tests.values()):.1f} s, this process and those under it {cpu_seconds():.1f} s"
        )
        for separator in ("::", "["):
            for name, seconds in _largest(self._tests, separator)[:lines]:
                terminalreporter.write_line(f"{seconds:8.2f} {name}")
            terminalreporter.write_line("")
        if file := self._config.getoption("--cpu-durations-file"):
            file.write_text("".join(f"{seconds:.3f}\t{test}\n" for test, seconds in _largest(self._tests, None)))


def _largest(tests: Mapping[str, float], separator: str | None) -> list[tuple[str, float]]:
    """Return (id, CPU seconds), largest first. Tests whose ids are equal up to the separator are summed; None sums
    nothing.
    """
    sums: dict[str, float] = defaultdict(float)
    for test, seconds in tests.items():
        sums[test.partition(separator)[0] if separator else test] += seconds
    return sorted(sums.items(), key=lambda item: -item[1])


def cpu_seconds() -> float:
    """Return the CPU seconds (user and system) of this process, of ended children that it waited for, and of all
    running processes below it.
    """
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + waited.ru_utime + waited.ru_stime + _running_below(os.getpid())


def _running_below(pid: int) -> float:
    """Return the CPU seconds of all running descendants of a process, and of the ended children that they waited for;
    the resolution is 10 ms (proc(5): utime, stime, cutime, cstime).
    """
    children: dict[int, list[tuple[int, float]]] = {}
    for folder in os.listdir("/proc"):  # noqa: PTH208 - once for each test
        if folder.isdigit():
            try:
                with open(f"/proc/{folder}/stat") as file:  # noqa: PTH123
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            seconds = sum(map(int, fields[11:15])) / _TICKS_PER_SECOND
            children.setdefault(int(fields[1]), []).append((int(folder), seconds))
    total, below = 0.0, [pid]
    while below:
        for child, seconds in children.get(below.pop(), ()):
            total += seconds
            below.append(child)
    return total
