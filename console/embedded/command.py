"""``kac cluster``: an embedded cluster in this process until a signal ends it, or in a child process."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from console.embedded.spec import LOOPBACK, RELEASE_NAMES, SCENARIO_NAMES, ClusterSpec, clusters_of
from console.model.numbers import decimal_number, natural_number, option
from console.terminal import OneLineEach, complain, put

if TYPE_CHECKING:
    from console.embedded.faults import Fault


# ``kac cluster``: the embedded cluster alone, until it is told to stop.

FAILED, USAGE = 1, 2
_DEFAULT_BROKERS = 3
_STANDARD_INPUT = 0


def add_options(parser: argparse.ArgumentParser, scenario: str = "quiet") -> None:
    """The options of ``kac cluster``, and of ``kac demo`` with another scenario where none is named."""
    parser.add_argument(
        "--port",
        type=option(natural_number),
        default=0,
        metavar="N",
        help="the first broker's port (default: any free)",
    )
    parser.add_argument("--host", default=LOOPBACK, metavar="ADDRESS", help=f"where to listen (default: {LOOPBACK})")
    parser.add_argument(
        "--brokers", type=option(natural_number), default=_DEFAULT_BROKERS, metavar="N", help="how many (default: 3)"
    )
    parser.add_argument(
        "--scenario", choices=SCENARIO_NAMES, default=scenario, help=f"what is in it (default: {scenario})"
    )
    parser.add_argument("--versions", choices=RELEASE_NAMES, default=RELEASE_NAMES[-1], help="which Kafka to be like")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep the state over restarts")
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT", help="as api=create_topics,cut=after")
    parser.add_argument(
        "--propagation-delay", type=option(decimal_number), default=0.0, metavar="SECONDS", help="how long brokers lag"
    )
    parser.add_argument("--no-forwarding", action="store_true", help="only the controller takes changes of topics")
    parser.add_argument("--no-proposals", action="store_true", help="speak the formats of released Kafka only")
    parser.add_argument("--still", action="store_true", help="nobody else changes anything")


def run_cluster(options: argparse.Namespace, *, until_input_ends: bool = False) -> int:
    """Run until SIGTERM or SIGINT. The first line on standard output, once all is ready, has the bootstrap addresses;
    of a fleet each further cluster has a line with its name. The result is the exit code.

    until_input_ends: stop when standard input ends too, as it does when the process at its other end dies.
    """
    try:
        clusters = cluster_specs(options)
        faults = parsed_faults(options)
    except ValueError as error:
        return _complain(str(error), USAGE)
    if not _is_loopback(options.host):
        _complain(f"warning: listening on {options.host}: whoever reaches it can change this cluster", 0)
    handler = logging.StreamHandler()
    handler.setFormatter(OneLineEach("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    from console.embedded.state_file import StateFileError

    try:
        asyncio.run(_serve(clusters, faults, until_input_ends))
    except StateFileError as error:
        return _complain(str(error), FAILED)
    except OSError as error:
        return _complain(f"can't listen: {error.strerror or error}", FAILED)
    except KeyboardInterrupt:
        pass
    return 0


def cluster_specs(options: argparse.Namespace) -> dict[str, ClusterSpec]:
    """The clusters that the options ask for, by name. Raises ValueError."""
    spec = ClusterSpec(
        brokers=options.brokers,
        versions=options.versions,
        proposals=not options.no_proposals,
        host=options.host,
        port=options.port,
        live=not options.still,
        state_file=options.state,
        propagation_delay=options.propagation_delay,
        forwarding=False if options.no_forwarding else None,
    )
    return clusters_of(options.scenario, spec)


def parsed_faults(options: argparse.Namespace) -> tuple[Fault, ...]:
    """The faults that the options declare. Raises FaultSyntax, a ValueError."""
    if not options.fault:
        return ()
    from console.embedded.faults import parse_fault

    return tuple(parse_fault(text) for text in options.fault)


def argv_of(options: argparse.Namespace) -> list[str]:
    """The arguments that give these options."""
    valued = ("port", "host", "brokers", "scenario", "versions", "propagation_delay", "state")
    pairs = [(_flag(name), value) for name in valued if (value := getattr(options, name)) is not None]
    pairs += [("--fault", fault) for fault in options.fault]
    flags = [_flag(name) for name in ("no_forwarding", "no_proposals", "still") if getattr(options, name)]
    return [*(str(part) for pair in pairs for part in pair), *flags]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


async def _serve(clusters: Mapping[str, ClusterSpec], faults: tuple[Fault, ...], until_input_ends: bool) -> None:
    from console.embedded.brokers import EmbeddedCluster

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if until_input_ends:
        _when_input_ends(stop.set)
    lines: list[str] = []
    async with AsyncExitStack() as running:
        for name, spec in clusters.items():
            cluster = EmbeddedCluster(spec)
            for fault in faults:
                cluster.faults.add(fault)
            await running.enter_async_context(cluster)
            lines.append(f"{name} {cluster.bootstrap}" if lines else cluster.bootstrap)
        put("".join(f"{line}\n" for line in lines))
        await stop.wait()


def _when_input_ends(then: Callable[[], None]) -> None:
    """Call it on this loop once standard input ends."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        # Not through sys.stdin: its lock, held by this thread for ever, would spoil the interpreter's end.
        while os.read(_STANDARD_INPUT, 4096):
            pass
        with suppress(RuntimeError):  # the loop may have closed meanwhile
            loop.call_soon_threadsafe(then)

    threading.Thread(target=wait, name="standard input", daemon=True).start()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _complain(text: str, code: int) -> int:
    complain(text)
    return code


# A cluster in a process of its own, which ends with the one that started it.

START_TIMEOUT, STOP_TIMEOUT = 30.0, 10.0
"""Seconds."""
_CHILD = "from console.embedded.command import child; raise SystemExit(child())"


class ClusterProcessFailed(Exception):
    """The process ended before it was ready; the text is what it said."""


@contextmanager
def run_in_process(argv: Sequence[str]) -> Iterator[str]:
    """Start ``kac cluster`` with these options; gives the bootstrap addresses, and stops it at the end.

    Should this process die, the pipe to the other one closes, and it ends too. Raises ClusterProcessFailed.
    """
    with TemporaryFile("w+") as errors, _started_process(argv, errors) as process:
        try:
            assert process.stdout is not None
            bootstrap = process.stdout.readline().strip()
            if not bootstrap:
                process.wait(START_TIMEOUT)
                errors.seek(0)
                raise ClusterProcessFailed(errors.read().strip().removeprefix("kac: ") or "it said nothing")
            yield bootstrap
        finally:
            _stop_process(process)


def _started_process(argv: Sequence[str], errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-c", _CHILD, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,  # a file: nobody would read a pipe, and a full one would stop the cluster
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        start_new_session=True,  # so that Ctrl-C in the terminal is for the console alone
    )


def _stop_process(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def child() -> int:
    """What runs in the other process; the result is its exit code."""
    import argparse

    parser = argparse.ArgumentParser(prog="kac cluster")
    add_options(parser)
    return run_cluster(parser.parse_args(), until_input_ends=True)
