"""``kac demo``: runs the console on an embedded cluster; ``kac cluster``: runs such a cluster for any client."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING

from console.cli.opening import FAILED, USAGE, add_plain, add_theme, open_log_file
from console.cli.screen import is_plain, no_screen, show
from console.embedded import cluster_command
from console.embedded.cluster_command import ClusterProcessFailed, Reached, argv_of
from console.terminal import leave

if TYPE_CHECKING:
    from console.admin.settings import ConnectSettings, HttpSettings
    from console.contexts import Context
    from console.embedded.faults import Fault
    from console.embedded.spec import ClusterSpec


COLOR = "magenta"
FLEET_COLORS = {"production": "red", "staging": "yellow", "old": "blue"}
CONFIRMED = frozenset({"production"})
"""Names of contexts in which an apply requires typing the context's name."""
OWN_PROCESS = frozenset({"large"})
"""Scenarios whose cluster runs in a separate process: as a thread of the console it would slow down the screen."""
BY_CONTROLLERS = frozenset({"quorum-lost"})
"""Scenarios in which no broker is reachable: the console connects to the controllers."""
CONNECT_NAME = "main"
"""The name of the Connect cluster in a demo's contexts."""
CONTROLLERS = "controllers"
"""The name of the context that connects to a cluster's dedicated controllers instead of its brokers."""


def demo_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac demo``; the default scenario is `incident`."""
    cluster_command.add_options(parser, scenario="incident")
    add_theme(parser)
    add_plain(parser)


def run_demo(options: argparse.Namespace) -> int:
    """Run the screen on embedded clusters until the operator leaves the console.

    Returns:
        The console's exit code; 1 if a cluster can't start, 2 for invalid options, and without a terminal for the
        screen.
    """
    from console.contexts.configured import Given
    from console.embedded.state_file import StateFileError
    from console.log_file import state_directory

    try:
        clusters, faults = cluster_command.cluster_specs(options), cluster_command.parsed_faults(options)
    except ValueError as error:
        return leave(USAGE, str(error))
    why = no_screen(os.environ)
    if why and not is_plain(options):
        return leave(USAGE, f"{why}; `kac cluster` runs such a cluster for it")
    open_log_file()
    tour = state_directory(os.environ) / "tour-seen"
    with ExitStack() as running:
        if options.state is None:
            # Keep the history in a temporary folder, as it is useless without the cluster; the log stays in the usual
            # folder.
            os.environ["XDG_STATE_HOME"] = running.enter_context(TemporaryDirectory(prefix="kac-demo-"))
        try:
            addresses = running.enter_context(_running(options, clusters, faults))
        except (ClusterProcessFailed, StateFileError) as error:
            return leave(FAILED, str(error))
        except OSError as error:
            return leave(FAILED, f"can't listen: {error.strerror or error}; leave --port out to take any that is free")
        contexts = [
            context_of(name, reached.bootstrap, len(clusters), reached.connect_urls, reached.schemas_url)
            for name, reached in addresses.items()
        ]
        first = CONTROLLERS if options.scenario in BY_CONTROLLERS else contexts[0].name
        given = Given(contexts)
        return show(options, given.get(first), given, tour=tour)


@contextmanager
def _running(
    options: argparse.Namespace, clusters: Mapping[str, ClusterSpec], faults: tuple[Fault, ...]
) -> Iterator[dict[str, Reached]]:
    """Run the clusters inside the ``with`` block. Yield the name of a cluster -> its addresses; the addresses of
    dedicated controllers have the name `CONTROLLERS`.
    """
    if options.scenario in OWN_PROCESS:
        # Import the modules of the screen while the other process starts.
        Thread(target=import_module, args=("console.tui.app",), daemon=True).start()
        with cluster_command.run_in_process(argv_of(options)) as reached:
            yield dict.fromkeys(clusters, reached)
        return
    from console.embedded.brokers import run_in_thread

    with ExitStack() as threads:
        addresses = {}
        for name, spec in clusters.items():
            cluster = threads.enter_context(run_in_thread(spec, faults))
            addresses[name] = Reached(cluster.bootstrap, cluster.connect_urls, cluster.schemas_url)
            if cluster.bootstrap_controllers:
                addresses[CONTROLLERS] = Reached(cluster.bootstrap_controllers)
        yield addresses


def context_of(name: str, bootstrap: str, of: int, connect_urls: Sequence[str] = (), schemas_url: str = "") -> Context:
    """Return the context for a cluster of a demo. Its name is the cluster's name; ``demo`` if the demo has one cluster;
    `CONTROLLERS` for dedicated controllers.

    Args:
        name: the name of the cluster.
        bootstrap: its addresses.
        of: the number of clusters in the demo.
        connect_urls: the URLs of the workers of its Connect cluster `CONNECT_NAME`; empty without one.
        schemas_url: the URL of the schema registry; ``""`` without one.
    """
    from console.admin.settings import ConnectionSettings
    from console.contexts import Context
    from console.contexts.context import parse_bootstrap

    alone, controllers = of == 1, name == CONTROLLERS
    return Context(
        "demo" if alone and not controllers else name,
        "kac demo",
        ConnectionSettings(
            parse_bootstrap(bootstrap),
            controllers=controllers,
            connect=_connect(connect_urls),
            schemas=_at(schemas_url) if schemas_url else None,
        ),
        color=COLOR if alone else FLEET_COLORS.get(name, COLOR),
        confirm=not alone and name in CONFIRMED,
    )


def _connect(urls: Sequence[str]) -> tuple[ConnectSettings, ...]:
    """Return the settings of one Connect cluster with these workers; empty if there are no workers."""
    from console.admin.settings import ConnectSettings

    return (ConnectSettings(CONNECT_NAME, tuple(map(_at, urls))),) if urls else ()


def _at(url: str) -> HttpSettings:
    from urllib.parse import urlsplit

    from console.admin.settings import HttpSettings

    parts = urlsplit(url)
    return HttpSettings(parts.hostname or "", parts.port or 80)


# ``kac cluster``: only the embedded cluster, for any client.

cluster_options, run_cluster = cluster_command.add_options, cluster_command.run_cluster
