"""Connections to the brokers in a Kubernetes namespace: one `kubectl port-forward` for each broker in use.

Brokers advertise names within the namespace, ``POD.SERVICE.NAMESPACE.svc``; the first part is the pod or the service.
kubectl uses the user's own configuration, contexts and logins. A forward listens on a port of 127.0.0.1, which other
users of this host can reach, too. It ends with kac, also if kac is killed.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

from console.admin.errors import Unreachable, WayFailed
from console.admin.settings import Address, KubeNamespace, show_address
from console.event_loop import apart
from console.model.numbers import first_few
from console.programs import Program, finished, home_folder, of_user, started
from console.safe_files import UntrustedPath

START_SECONDS = 8.0
"""Maximum seconds for kubectl to answer: fewer than a connection's timeout, so that kubectl's own error is reported."""
WORDS_SECONDS = 0.3
"""Maximum seconds to wait for kubectl to print why it closed a connection."""
KNOWN_SECONDS = 10.0
"""Seconds for which the list of names is used before an unknown name is looked up again, since its pod may be new."""
LONGEST_NAMES = 1 << 20
MOST_REASON = 300
LOOPBACK = "127.0.0.1"

_LISTS = r'{range .items[*]}{.kind}{"\t"}{.metadata.name}{"\t"}{.metadata.labels.strimzi\.io/cluster}{"\n"}{end}'
# Let kubectl end together with this process: the shell waits for the end of its input, whose other end kac holds, and
# kills kubectl. It closes its own copies of the output, so that the output ends with kubectl.
_TIED = '"$@" & kubectl=$!; exec >&- 2>&-; read -r end; kill "$kubectl"'
_LISTENS = re.compile(r"^Forwarding from 127\.0\.0\.1:(\d+) -> \d+$")
_SMALL_TALK = ("Forwarding from", "Handling connection")
_KLOG = re.compile(r"^[EWIF]\d{4} [\d:.]+\s+\d+ [\w.]+:\d+\] ?")


class Names(NamedTuple):
    """The names of pods and services in a namespace, and Strimzi's name of a Kafka cluster -> its first service."""

    pods: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    clusters: Mapping[str, str] = {}

    def target_of(self, host: str) -> str | None:
        """Return the resource to which an advertised host name leads, in kubectl's form such as ``pod/NAME``; None if
        the namespace has no such resource.
        """
        first = host.lower().split(".", 1)[0]
        if first in self.pods:
            return f"pod/{first}"
        if first in self.services:
            return f"service/{first}"
        return f"service/{self.clusters[first]}" if first in self.clusters else None


def names_in(text: str) -> Names:
    """Parse the names that kubectl printed: in each line the resource's kind, its name and Strimzi's name of the
    cluster, separated by tabs.
    """
    rows = [line.split("\t") for line in text.splitlines()]
    rows = [row for row in rows if len(row) == 3]
    pods = frozenset(name for kind, name, _ in rows if kind == "Pod")
    services = frozenset(name for kind, name, _ in rows if kind == "Service")
    clusters = {cluster: f"{cluster}-kafka-bootstrap" for *_, cluster in rows if cluster}
    return Names(pods, services, {name: first for name, first in clusters.items() if first in services})


class KubeWay:
    """The connections into one namespace. Any thread and any event loop may use it."""

    def __init__(self, namespace: KubeNamespace) -> None:
        self._namespace = namespace
        self._lock = threading.Lock()
        self._names = Names()
        self._read_at = -KNOWN_SECONDS
        self._forwards: dict[tuple[str, int], _Forward] = {}
        self._owner = os.getpid()

    def start(self, *, ask: bool) -> None:
        """Read the names in the namespace, for which kubectl may log in. ask: whether kubectl may prompt on the
        terminal. Raises WayFailed.
        """
        with self._lock:
            self._read_names(ask=ask)

    async def open(self, host: str, port: int) -> socket.socket:
        """Return a connection to a broker through a forward; start the forward if necessary. Raises AdminError."""
        for attempt in (1, 2):
            forward, local = await apart(lambda: self._forward_to(host, port), "kubectl")
            made = socket.socket(socket.AF_INET)
            try:
                made.setblocking(False)
                await asyncio.get_running_loop().sock_connect(made, (LOOPBACK, local))
            except ConnectionRefusedError:  # kubectl has ended just now
                made.close()
                forward.end()
                if attempt == 2:
                    break
            except BaseException:
                made.close()
                raise
            else:
                return made
        raise silent((host, port), "its forward ends at once")

    def last_words(self, address: Address) -> str:
        """Return the error that kubectl printed since the last connection to an address was opened; ``""`` if it
        printed none. Blocks for at most WORDS_SECONDS, because kubectl prints the error while it closes the
        connection.
        """
        target = self._names.target_of(address[0])
        forward = self._forwards.get((target or "", address[1]))
        return forward.last_words(WORDS_SECONDS) if forward is not None else ""

    def close(self) -> None:
        """End all forwards. A second call, or one in a forked child, does nothing."""
        if self._owner != os.getpid():
            return
        with self._lock:
            for each in self._forwards.values():
                each.end()
            self._forwards.clear()

    def _forward_to(self, host: str, port: int) -> tuple[_Forward, int]:
        with self._lock:
            target = self._target(host, port)
            forward = self._forwards.get((target, port))
            if forward is None or not forward.is_up:
                if forward is not None:
                    forward.end()
                elif not self._forwards:
                    atexit.register(self.close)
                forward = _Forward(self._program("port-forward", "--address", LOOPBACK, target, f":{port}"))
                self._forwards[target, port] = forward
        local = forward.port(START_SECONDS)
        if local is None:
            why = forward.last_words(WORDS_SECONDS) or f"kubectl forwards nothing within {START_SECONDS:g} s"
            raise silent((host, port), why)
        forward.forget_words()
        return forward, local

    def _target(self, host: str, port: int) -> str:
        if (found := self._names.target_of(host)) is not None:
            return found
        if time.monotonic() >= self._read_at + KNOWN_SECONDS:
            self._read_names(ask=False)
            if (found := self._names.target_of(host)) is not None:
                return found
        where = show_address((host, port))
        there = first_few(sorted(self._names.pods)) or "none"
        raise Unreachable.of(
            f"{where}: {self._namespace} has no pod and no service of this name (pods: {there})",
            f'Map it in the context: addresses = {{ "{where}" = "POD:PORT" }}, or use a listener whose names are pods.',
        )

    def _read_names(self, *, ask: bool) -> None:
        try:
            done = finished(
                self._program("get", "pods,services", "-o", f"jsonpath={_LISTS}"),
                None if ask else START_SECONDS,
                stdin=None if ask else subprocess.DEVNULL,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            raise self._failed(f"kubectl does not answer within {START_SECONDS:g} s") from None
        if done.returncode:
            raise self._failed(_reason(done.stderr.decode(errors="replace")) or f"kubectl ends with {done.returncode}")
        self._names = names_in(done.stdout[:LONGEST_NAMES].decode(errors="replace"))
        self._read_at = time.monotonic()

    def _program(self, *words: str) -> Program:
        """Return the kubectl command with these arguments for the namespace. Raises WayFailed if kubectl is not
        installed.
        """
        namespace = self._namespace
        context = () if namespace.context is None else ("--context", namespace.context)
        try:
            return of_user(["kubectl", *context, "--namespace", namespace.namespace, *words], folder=home_folder())
        except FileNotFoundError:
            raise self._failed("there is no kubectl on this host's PATH") from None
        except UntrustedPath as error:
            raise self._failed(f"kubectl is not run: {error.strerror}") from None

    def _failed(self, why: str) -> WayFailed:
        shown = self._namespace
        context = f" --context {shown.context}" if shown.context else ""
        remedy = f"Try it by itself: kubectl{context} -n {shown.namespace} get pods"
        return WayFailed.of(f"{shown}: {why}", remedy, name="KUBE_FAILED")


class _Forward:
    """A running ``kubectl port-forward``, whose output a thread reads."""

    def __init__(self, kubectl: Program) -> None:
        words = ("/bin/sh", "-c", _TIED, "sh", *kubectl.words)
        self._process = started(
            Program(words, kubectl.environ, kubectl.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._known, self._complained = threading.Event(), threading.Event()
        self._port: int | None = None
        self._words = ""
        self.is_up = True
        threading.Thread(target=self._read, name="kubectl's words", daemon=True).start()

    def port(self, seconds: float) -> int | None:
        """Wait until kubectl prints the local port, and return it. If kubectl ends first, or prints no port within
        `seconds`, end kubectl and return None.
        """
        if not self._known.wait(seconds):
            self.end()
        return self._port if self.is_up else None

    def last_words(self, seconds: float) -> str:
        """Return the last error that kubectl printed, after waiting for one for at most `seconds`; ``""`` if there is
        none.
        """
        self._complained.wait(seconds)
        return self._words

    def forget_words(self) -> None:
        """Forget the errors so far, because a new connection begins."""
        self._words = ""
        self._complained.clear()

    def end(self) -> None:
        """End the kubectl process."""
        self.is_up = False
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait()

    def _read(self) -> None:
        lines = self._process.stdout
        while lines is not None and (line := lines.readline(4096)):
            text = line.decode(errors="replace").rstrip("\n")
            if (found := _LISTENS.match(text)) is not None:
                self._port = int(found[1])
                self._known.set()
            elif text and not text.startswith(_SMALL_TALK):
                self._words = _reason(text)
                self._complained.set()
        self.is_up = False
        self._known.set()


def silent(address: Address, why: str) -> Unreachable:
    """Return the error that kubectl does not forward to a broker, or that nothing answers behind the forward."""
    return Unreachable.of(
        f"{show_address(address)}: not reached by kubectl: {why}", "Look at the pod: kubectl get pods, kubectl logs."
    )


def _reason(text: str) -> str:
    """Return the last line of kubectl's error output, without control characters and the prefix of its log."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    line = _KLOG.sub("", lines[-1] if lines else "").removeprefix("error: ")
    return "".join(each for each in line if each.isprintable())[:MOST_REASON]
