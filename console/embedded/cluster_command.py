"""The command ``kac cluster``, which runs an embedded cluster until a signal; and the same in a child process, for
other commands.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from console.embedded import spec as specs
from console.embedded.profiles import PROFILES
from console.model.loopback import binds_loopback
from console.model.numbers import decimal_number, natural_number, option
from console.terminal import indented, leave, put

if TYPE_CHECKING:
    import subprocess

    from console.embedded.faults import Fault


class Indented(logging.Formatter):
    """A log formatter that indents the further lines of a message, so that their text can't look like another log
    record.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with its further lines indented."""
        return indented(super().format(record))


FAILED, USAGE = 1, 2
CONNECT, SCHEMAS = "connect", "schemas"
"""The words with which `kac cluster` prints the URLs of Connect's workers, and of the schema registry."""
_DEFAULT_BROKERS = 3
_STANDARD_INPUT = 0


def add_options(parser: argparse.ArgumentParser, scenario: str = "quiet") -> None:
    """Add the options of ``kac cluster``, which ``kac demo`` has, too. scenario: the default scenario."""
    add = parser.add_argument
    add(
        "--port",
        type=option(natural_number),
        default=0,
        metavar="N",
        help="the first broker's port (default: free ports)",
    )
    add("--host", default=specs.LOOPBACK, metavar="ADDRESS", help=f"address to listen on (default: {specs.LOOPBACK})")
    add(
        "--brokers",
        type=option(natural_number),
        default=_DEFAULT_BROKERS,
        metavar="N",
        help="number of brokers (default: 3)",
    )
    add(
        "--controllers",
        type=option(natural_number),
        default=0,
        metavar="N",
        help="number of dedicated controllers, for --bootstrap-controller (default: the brokers are also the "
        "controllers, which then do not listen)",
    )
    add(
        "--scenario",
        choices=specs.SCENARIO_NAMES,
        default=scenario,
        help=f"the scenario: the cluster's contents (default: {scenario})",
    )
    add("--versions", choices=specs.RELEASE_NAMES, default=specs.RELEASE_NAMES[-1], help="Kafka release to imitate")
    add("--profile", choices=tuple(PROFILES), help="imitate another server than Kafka: its APIs, and its own answers")
    add("--state", type=Path, metavar="FILE", help="file that keeps the state over restarts")
    add("--fault", action="append", default=[], metavar="FAULT", help="a fault, such as api=create_topics,cut=after")
    add(
        "--propagation-delay",
        type=option(decimal_number),
        default=0.0,
        metavar="SECONDS",
        help="delay until brokers apply a change",
    )
    add("--no-forwarding", action="store_true", help="brokers do not forward requests to the controller")
    add("--no-proposals", action="store_true", help="only the formats of released Kafka")
    add(
        "--connect",
        action="store_true",
        help="run Kafka Connect next to the cluster: two workers with REST APIs on this host",
    )
    add(
        "--schemas",
        action="store_true",
        help="run a schema registry next to the cluster, with schemas of the demo's topics; --state does not keep it",
    )
    add("--still", action="store_true", help="no changes by other clients")


def run_cluster(options: argparse.Namespace, *, until_input_ends: bool = False) -> int:
    """Run clusters until SIGTERM or SIGINT. Return the exit code: 0 after a signal; 1 if an address or the state file
    can't be used; 2 for invalid options.

    When all brokers listen, print the bootstrap addresses in one line. Further lines name, each with its addresses: the
    other clusters of a fleet, separate controllers, Connect's workers, and the schema registry.

    Args:
        options: the parsed options.
        until_input_ends: whether to stop at the end of standard input as well, which comes when the parent process
            ends.
    """
    try:
        clusters = cluster_specs(options)
        faults = parsed_faults(options)
    except ValueError as error:
        return _complain(str(error), USAGE)
    if not binds_loopback(options.host):
        _complain(f"warning: listening on {options.host}: anyone who can connect can change this cluster", 0)
    handler = logging.StreamHandler()
    handler.setFormatter(Indented("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    from console import event_loop
    from console.embedded.state_file import StateFileError

    try:
        event_loop.run(_serve(clusters, faults, until_input_ends))
    except StateFileError as error:
        return _complain(str(error), FAILED)
    except OSError as error:
        return _complain(f"can't listen: {error.strerror or error}", FAILED)
    except KeyboardInterrupt:
        pass
    return 0


def cluster_specs(options: argparse.Namespace) -> dict[str, specs.ClusterSpec]:
    """Return name -> specification, for the clusters that the options describe. Raises ValueError for an unknown
    scenario.
    """
    spec = specs.ClusterSpec(
        brokers=options.brokers,
        controllers=options.controllers,
        versions=options.versions,
        proposals=not options.no_proposals,
        host=options.host,
        port=options.port,
        live=not options.still,
        state_file=options.state,
        propagation_delay=options.propagation_delay,
        forwarding=not options.no_forwarding,
        profile=PROFILES.get(options.profile),
        connect=specs.ConnectSpec() if options.connect else None,
        schemas=options.schemas,
    )
    return specs.clusters_of(options.scenario, spec)


def parsed_faults(options: argparse.Namespace) -> tuple[Fault, ...]:
    """Return the faults that the options declare. Raises FaultSyntax, a ValueError."""
    if not options.fault:
        return ()
    from console.embedded.faults import parse_fault

    return tuple(parse_fault(text) for text in options.fault)


def argv_of(options: argparse.Namespace) -> list[str]:
    """Return the command line arguments from which these options would be parsed."""
    valued = ("port", "host", "brokers", "controllers", "scenario", "versions", "propagation_delay", "profile", "state")
    pairs = [(_flag(name), value) for name in valued if (value := getattr(options, name)) is not None]
    # Paths must be absolute, as the child process runs in another folder.
    pairs = [(flag, value.absolute() if isinstance(value, Path) else value) for flag, value in pairs]
    pairs += [("--fault", fault) for fault in options.fault]
    switches = ("no_forwarding", "no_proposals", "connect", "schemas", "still")
    flags = [_flag(name) for name in switches if getattr(options, name)]
    return [*(str(part) for pair in pairs for part in pair), *flags]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


async def _serve(clusters: Mapping[str, specs.ClusterSpec], faults: tuple[Fault, ...], until_input_ends: bool) -> None:
    import asyncio

    from console.embedded.brokers import EmbeddedCluster

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if until_input_ends:
        _when_input_ends(stop.set)
    lines: list[str] = []
    async with AsyncExitStack() as running:
        with kept():
            for name, spec in clusters.items():
                cluster = EmbeddedCluster(spec)
                for fault in faults:
                    cluster.faults.add(fault)
                await running.enter_async_context(cluster)
                lines.append(f"{name} {cluster.bootstrap}" if lines else cluster.bootstrap)
                if cluster.bootstrap_controllers:
                    lines.append(f"controllers {cluster.bootstrap_controllers}")
                if cluster.connect_urls:
                    lines.append(f"{CONNECT} {','.join(cluster.connect_urls)}")
                if cluster.schemas_url:
                    lines.append(f"{SCHEMAS} {cluster.schemas_url}")
        put("".join(f"{line}\n" for line in lines))
        await stop.wait()


@contextmanager
def kept() -> Iterator[None]:
    """Exclude all objects created in the ``with`` block from garbage collection permanently. The initial state of a
    cluster lives as long as the cluster, and scanning 10,000 groups takes longer than creating them.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _when_input_ends(then: Callable[[], None]) -> None:
    """Call a function on the current event loop when standard input ends."""
    import asyncio

    loop = asyncio.get_running_loop()

    def wait() -> None:
        # Do not read sys.stdin: this thread would hold the lock of sys.stdin when the interpreter exits.
        while os.read(_STANDARD_INPUT, 4096):
            pass
        with suppress(RuntimeError):  # the loop may already be closed
            loop.call_soon_threadsafe(then)

    threading.Thread(target=wait, name="standard input", daemon=True).start()


def _complain(text: str, code: int) -> int:
    return leave(code, text)


START_TIMEOUT, STOP_TIMEOUT = 30.0, 10.0
"""Timeouts in seconds for the start and the stop of a cluster in a child process."""
_CHILD = "from console.embedded.cluster_command import child; raise SystemExit(child())"


class ClusterProcessFailed(Exception):
    """The child process ended before its cluster was ready. The exception's text is the process's standard error."""


class Reached(NamedTuple):
    """The addresses of a cluster that runs in a child process.

    Attributes:
        bootstrap: the addresses of its brokers, as ``host:port,…``.
        connect_urls: the URLs of Connect's workers; empty without Connect.
        schemas_url: the URL of the schema registry; ``""`` without one.
    """

    bootstrap: str
    connect_urls: tuple[str, ...] = ()
    schemas_url: str = ""


@contextmanager
def run_in_process(argv: Sequence[str]) -> Iterator[Reached]:
    """Run ``kac cluster`` with these arguments in a child process for the ``with`` block, and yield the addresses of
    its only cluster.

    If this process is killed, the child's standard input ends, and so the child ends, too. Raises ClusterProcessFailed.
    """
    from tempfile import TemporaryFile

    with TemporaryFile("w+") as errors, _started_process(argv, errors) as process:
        try:
            assert process.stdout is not None
            bootstrap = process.stdout.readline().strip()
            if not bootstrap:
                process.wait(START_TIMEOUT)
                errors.seek(0)
                raise ClusterProcessFailed(errors.read().strip().removeprefix("kac: ") or "no error message")
            urls = _urls(process.stdout, CONNECT) if f"--{CONNECT}" in argv else ()
            (schemas_url,) = _urls(process.stdout, SCHEMAS) if f"--{SCHEMAS}" in argv else ("",)
            yield Reached(bootstrap, urls, schemas_url)
        finally:
            _stop_process(process)


def _urls(lines: Iterable[str], word: str) -> tuple[str, ...]:
    """Read lines until one begins with this word, and return the URLs in that line."""
    line = next(each for each in lines if each.startswith(f"{word} "))
    return tuple(line.removeprefix(f"{word} ").strip().split(","))


def _started_process(argv: Sequence[str], errors: IO[str]) -> subprocess.Popen[str]:
    import subprocess

    from console.programs import python, started

    return started(
        python("-c", _CHILD, *argv, folder=Path("/")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,  # a file, as a full pipe without a reader would block the cluster
        text=True,
        start_new_session=True,  # so that Ctrl-C reaches only this process
    )


def _stop_process(process: subprocess.Popen[str]) -> None:
    import subprocess

    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def child() -> int:
    """Run a cluster as the child process of another command, and return the exit code."""
    import argparse

    parser = argparse.ArgumentParser(prog="kac cluster")
    add_options(parser)
    return run_cluster(parser.parse_args(), until_input_ends=True)
