"""Connections through an SSH host: one `ssh` process for each host, and a channel of it for each connection.

ssh runs as a multiplexing master. For each connection, kac requests a channel and passes one end of a socket pair (see
MUX_C_NEW_STDIO_FWD in OpenSSH's PROTOCOL.mux: like `ssh -W`, without a process for each connection). Thereby the SSH
host resolves the names; the reply says whether the connection was opened, while `ssh -D` accepts a SOCKS request before
it knows; and no local port is open to other users. ssh uses the user's configuration, keys, agent and jump hosts. If
the user has an open master for the host (ControlMaster), kac uses it without a second login, and never ends it.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from console.admin.errors import NothingListens, SshFailed, Unreachable
from console.admin.settings import SshHost, show_address
from console.event_loop import apart
from console.programs import finished, home_folder, ignoring, of_user, started
from console.safe_files import UntrustedPath

IDLE_SECONDS = 30
"""Seconds after the end of its last channel at which ssh ends, also if kac was killed."""
ALIVE_SECONDS, ALIVE_COUNT = 10, 3
"""Seconds between two keepalives, and the number of unanswered ones after which ssh gives up; the next connection
starts it again."""
START_SECONDS = 8
"""Maximum seconds for connecting and for a login without prompts: fewer than a connection's timeout, so that ssh's own
error is reported.
"""
HOLD_SECONDS = 30.0
"""Seconds for which a refused login is not repeated, since SSH hosts block addresses with many failures."""
CONFIG_SECONDS = 3.0
"""Maximum seconds for ssh to print its configuration."""
END_SECONDS = 1.0
LEFT_SECONDS = 3600.0
"""Age in seconds above which a folder without a socket counts as left over. A younger one may belong to an ssh that
asks for a password.
"""
MAX_LOG = 1 << 18
"""Maximum number of bytes that are read from the end of ssh's log."""
LONGEST_PLACE = 70
"""Maximum length in bytes of the path in which ssh's folder is created. The path of a socket may have 107 bytes
(unix(7)); the names of folder and socket take 19 of them, and ssh adds 17 for a temporary name.
"""

_PEER: int | None = getattr(socket, "SO_PEERCRED", None)
"""Linux's socket option that returns the user of the process behind a socket; None on other systems. It is needed for a
master of the user's own, whose socket may be in any folder; kac's own folder is private.
"""

# Numbers of the protocol in OpenSSH's PROTOCOL.mux, version 4.
_VERSION, _REQUEST = 4, 1
_HELLO, _NEW_STDIO_FORWARD, _TERMINATE = 0x00000001, 0x10000008, 0x10000005
_OPENED = 0x80000006
_MAX_MESSAGE = 1 << 16

_FORWARD = re.compile(r"^debug1: channel_connect_stdio_fwd: (.*):(\d+)$")
_CHANNEL = re.compile(r"^debug1: channel (\d+): new ")
_REFUSED = re.compile(r"^channel (\d+): open failed: (.*)$")


class Channel(socket.socket):
    """One end of a connection through SSH. Closing it also closes the connection to the master by which it was
    requested.
    """

    control: socket.socket

    def close(self) -> None:
        """Close the channel, and the connection to the master by which it was requested."""
        self.control.close()
        super().close()


class SshWay:
    """The connection to one SSH host. Any thread and any event loop may use it."""

    def __init__(self, host: SshHost) -> None:
        self._host = host
        self._folder: Path | None = None
        self._users: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        self._failed: tuple[float, SshFailed] | None = None
        self._log_start = 0
        self._owner = os.getpid()

    def start(self, *, ask: bool) -> None:
        """Log in, unless ssh is logged in already or the user has an open master for the host. ask: whether ssh may
        prompt on the terminal, for which there is no timeout.

        Blocks. Raises SshFailed. After a refused login, or a failed one with prompts, the login is not repeated for
        HOLD_SECONDS.
        """
        with self._starting:
            if self._answers():
                return
            self._users = users_master(self._host)
            if self._users is not None:
                return
            if self._failed is not None and time.monotonic() < self._failed[0] + HOLD_SECONDS:
                raise SshFailed(self._failed[1].failure)
            self._failed = None
            try:
                self._run(ask=ask)
            except SshFailed as error:
                if ask or error.failure.name == REFUSED:
                    self._failed = time.monotonic(), error
                raise

    async def open(self, host: str, port: int) -> Channel:
        """Return a connection from the SSH host to this address; log in first if necessary. Raises AdminError."""
        if not 0 < port < 65536:
            # Brokers advertise the addresses, and ssh takes a port of -2 for the path of a socket on the SSH host.
            raise Unreachable.of(f"{host} port {port} is not an address", "See the listeners.")
        control = await self._control()
        try:
            return await self._channel(control, host, port)
        except OSError as error:
            raise _ended(self._host) from error

    def close(self) -> None:
        """End ssh and remove its folder. A second call, or one in a forked child, does nothing."""
        if self._owner != os.getpid() or self._folder is None:
            return
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        with suppress(OSError), socket.socket(socket.AF_UNIX) as control:
            control.settimeout(END_SECONDS)
            control.connect(str(self._folder / "s"))
            control.sendall(_packet(_HELLO, _number(_VERSION)) + _packet(_TERMINATE, _number(0)))
            while control.recv(_MAX_MESSAGE):
                pass
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def _answers(self) -> bool:
        return _is_answered(self._socket())

    def _socket(self) -> Path:
        """Return the path of the master's socket: of the user's own master, if there is one; otherwise of kac's."""
        return self._users or self._paths() / "s"

    def _paths(self) -> Path:
        """Return the folder for ssh's socket and log, which only this user can enter; create it if necessary. Raises
        SshFailed.
        """
        if self._folder is None:
            places = [place for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp") if place]  # noqa: S108
            fit = [
                place
                for place in places
                if len(os.fsencode(place)) <= LONGEST_PLACE and os.access(place, os.W_OK | os.X_OK)
            ]
            try:
                self._folder = Path(tempfile.mkdtemp(prefix="kac-ssh-", dir=fit[0] if fit else None))
            except OSError as error:
                message = f"ssh to {self._host}: no folder for its socket: {error.strerror}"
                raise SshFailed.of(message, "Set TMPDIR to a folder that can be written.") from None
            _remove_left(self._folder.parent)
            atexit.register(self.close)
        return self._folder

    def _run(self, *, ask: bool) -> None:
        """Run ssh until it is logged in. It then continues in the background, and its first process ends with exit code
        0. Raises SshFailed.
        """
        folder = self._paths()
        log = folder / "log"
        environ = dict(os.environ)
        if not ask:
            for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS"):
                environ.pop(name, None)
            environ["SSH_ASKPASS_REQUIRE"] = "never"
        log.touch(mode=0o600)
        self._log_start = log.stat().st_size
        # If ssh may ask, ssh to a jump host stays in this terminal's process group, and has to survive an interrupted
        # command.
        with log.open("ab") as output, ignoring(*([signal.SIGINT] if ask else [])):
            try:
                # In a session of its own, no ssh process has a terminal for prompts, not even those to jump hosts.
                self._process = started(
                    of_user(command(self._host, folder, ask=ask), environ, home_folder()),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=output,
                    start_new_session=not ask,
                )
            except OSError as error:
                raise _not_run(self._host, error) from None
        try:
            code = self._process.wait(None if ask else START_SECONDS + 1)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
        if code:
            raise ssh_failed(self._host, self._log(), in_time=code != -1, asked=ask)

    async def _control(self) -> socket.socket:
        """Return a connection to the master's socket; start the master if necessary. Raises SshFailed."""
        loop = asyncio.get_running_loop()
        for attempt in (1, 2):
            control = socket.socket(socket.AF_UNIX)
            try:
                control.setblocking(False)
                await loop.sock_connect(control, str(self._socket()))
                _require_own(control)
            except OSError:
                control.close()
                if attempt == 2:
                    break
                await apart(lambda: self.start(ask=False), "ssh")
            except BaseException:
                control.close()
                raise
            else:
                return control
        raise _ended(self._host)

    async def _channel(self, control: socket.socket, host: str, port: int) -> Channel:
        """Request a channel to this address from the master. If it refuses, close both sockets and raise Unreachable.
        control: the connection to the master.
        """
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        channel = Channel(fileno=ours.detach())
        channel.control = control
        with theirs:
            try:
                channel.setblocking(False)
                wanted = _number(_REQUEST) + _text(b"") + _text(host.encode()) + _number(port)
                packets = _packet(_HELLO, _number(_VERSION)) + _packet(_NEW_STDIO_FORWARD, wanted)
                await loop.sock_sendall(control, packets)
                for _ in ("standard input", "standard output"):
                    socket.send_fds(control, [b"\0"], [theirs.fileno()])
                kind = await _answer(control)
                if kind == _HELLO:
                    kind = await _answer(control)
                if kind != _OPENED:
                    raise not_forwarded(self._host, (host, port), open_failures(self._log()).get((host, port), ""))
            except BaseException:
                channel.close()
                raise
        return channel

    def _log(self) -> str:
        """Return the end of ssh's log since its last start; ``""`` for a master of the user's own."""
        if self._users is not None:
            return ""
        with (self._paths() / "log").open("rb") as log:
            log.seek(max(self._log_start, log.seek(0, os.SEEK_END) - MAX_LOG))
            return log.read().decode(errors="replace")


def users_master(host: SshHost) -> Path | None:
    """Return the path of the socket of the user's open master for the host, as ssh's configuration names it; None if
    there is no such master.
    """
    if _PEER is None:
        return None
    asked = ["ssh", "-G", *_destination(host)]
    try:
        done = finished(
            of_user(asked, folder=home_folder()), CONFIG_SECONDS, stdin=subprocess.DEVNULL, capture_output=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    for line in done.stdout.decode(errors="surrogateescape").splitlines():
        name, _, value = line.partition(" ")
        if name == "controlpath" and value != "none":
            return path if _is_answered(path := Path(value)) else None
    return None


def _is_answered(path: Path) -> bool:
    """Return whether a process of this user listens at the socket with this path."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as control:
        control.connect(str(path))
        _require_own(control)
        return True
    return False


def _require_own(control: socket.socket) -> None:
    """Raise PermissionError if the process behind the socket belongs to another user, who could read the data."""
    if _PEER is None:
        return
    _, user, _ = struct.unpack("3i", control.getsockopt(socket.SOL_SOCKET, _PEER, struct.calcsize("3i")))
    if user != os.getuid():
        raise PermissionError(errno.EPERM, "the socket of ssh is another user's")


def _remove_left(place: Path) -> None:
    """Remove the folders that killed processes of kac left behind: those without a socket, since their ssh has ended,
    and with files older than `LEFT_SECONDS` (an hour).
    """
    for folder in place.glob("kac-ssh-*"):
        with suppress(OSError):
            if folder.stat().st_uid != os.getuid() or (folder / "s").exists():
                continue
            if time.time() - max(each.lstat().st_mtime for each in (folder, *folder.iterdir())) > LEFT_SECONDS:
                shutil.rmtree(folder)


def command(host: SshHost, folder: Path, *, ask: bool) -> list[str]:
    """Return ssh's command line, with its socket and log in `folder`. The options in it override the user's
    configuration, which overrides ssh's defaults. ask: whether ssh may prompt on the terminal.
    """
    options = {
        "BatchMode": "no" if ask else "yes",
        "ControlMaster": "yes",
        "ControlPersist": str(IDLE_SECONDS),
        # Disable the user's own port forwards, which are meant for a shell on that host.
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "ConnectTimeout": str(START_SECONDS),
        "ServerAliveInterval": str(ALIVE_SECONDS),
        "ServerAliveCountMax": str(ALIVE_COUNT),
    }
    made = ["ssh", "-v", "-E", str(folder / "log"), "-S", str(folder / "s").replace("%", "%%"), "-NTxa"]
    made += [argument for name, value in options.items() for argument in ("-o", f"{name}={value}")]
    return [*made, *_destination(host)]


def _destination(host: SshHost) -> list[str]:
    made = ["-p", str(host.port)] if host.port is not None else []
    made += ["-l", host.user] if host.user is not None else []
    return [*made, "--", host.host]


# Messages to the master: a length, a type, 32-bit numbers and length-prefixed texts.


def _number(value: int) -> bytes:
    return struct.pack(">I", value)


def _text(value: bytes) -> bytes:
    return _number(len(value)) + value


def _packet(kind: int, body: bytes) -> bytes:
    return _text(_number(kind) + body)


async def _answer(control: socket.socket) -> int:
    """Return the type of the next message from the master. Raises OSError if the connection ends, or for invalid
    bytes.
    """
    (size,) = struct.unpack(">I", await _exactly(control, 4))
    if not 4 <= size <= _MAX_MESSAGE:
        raise OSError("not a message of ssh's multiplexing")
    kind: int = struct.unpack(">I", (await _exactly(control, size))[:4])[0]
    return kind


async def _exactly(control: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = await asyncio.get_running_loop().sock_recv(control, size - len(received))
        if not part:
            raise OSError("ssh closed the connection to it")
        received += part
    return received


# Errors for an operator, from ssh's log.

REFUSED = "SSH_REFUSED"
_DENIED = re.compile(r"^(\S+): Permission denied \((.*)\)", re.MULTILINE)
_NOT_CONNECTED = re.compile(r"^ssh: connect to host (\S+) port (\d+): (.*)$", re.MULTILINE)
_NOT_RESOLVED = re.compile(r"^ssh: Could not resolve hostname (\S+): (.*)$", re.MULTILINE)
_JUMP_REFUSED = re.compile(r"^channel \d+: open failed: (.*)$", re.MULTILINE)


def open_failures(log: str) -> Mapping[tuple[str, int], str]:
    """Return (host, port) -> the last reason in ssh's log why the SSH host did not connect to it."""
    failures: dict[tuple[str, int], str] = {}
    asked: tuple[str, int] | None = None
    channels: dict[str, tuple[str, int]] = {}
    for line in log.splitlines():
        if match := _FORWARD.match(line):
            asked = match[1], int(match[2])
        elif asked is not None and (match := _CHANNEL.match(line)):
            channels[match[1]], asked = asked, None
        elif (match := _REFUSED.match(line)) and match[1] in channels:
            failures[channels[match[1]]] = match[2]
    return failures


def not_forwarded(host: SshHost, address: tuple[str, int], why: str) -> Unreachable:
    """Return the error for an address to which the SSH host did not connect. why: the reason in its reply; ``""`` if
    unknown.
    """
    where, through = show_address(address), f"from {host.host}, by ssh"
    if "administratively prohibited" in why or "unknown channel type" in why:
        remedy = "Its sshd has to allow it: AllowTcpForwarding, PermitOpen, or permitopen of the key."
        return Unreachable.of(f"{where}: {host.host} forwards nothing there", remedy, name="SSH_FORWARD_REFUSED")
    why = why.removeprefix("connect failed: ")
    if "refused" in why:
        message = f"{where}: nothing listens there (connection refused {through})"
        return NothingListens.of(message, "Check the port, and that its process is up.")
    message = f"{where}: not reached {through}" + (f": {why}" if why else "")
    return Unreachable.of(message, f"Names are those of {host.host}: check the address there.")


def ssh_failed(host: SshHost, log: str, *, in_time: bool, asked: bool) -> SshFailed:
    """Return the error for an ssh process that ended before the login. in_time: whether it ended before the timeout.
    asked: whether it could prompt on a terminal.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("debug")]
    text = "\n".join(lines)
    by_jump = ", or to a jump host before it" if "UNKNOWN port 65535" in text else ""
    name, remedy = "SSH_FAILED", f"Try it by itself: ssh {host.as_argument}"
    if "IDENTIFICATION HAS CHANGED" in text:
        name, why = REFUSED, f"the key of this host{by_jump} is not the one that is known: another host may answer"
        remedy = "Find out why before you connect: a new installation, or an attacker in between."
    elif "Host key verification failed" in text:
        name, why = REFUSED, f"the key of this host{by_jump} is not known here"
        remedy = f"Compare its fingerprint once: ssh {host.as_argument}"
    elif match := _DENIED.search(text):
        name, why = REFUSED, f"{match[1]} refused the login ({match[2]})"
        remedy = "Check the user and the keys that the agent has: ssh-add -l"
        if not asked and re.search("password|keyboard-interactive", match[2]):
            remedy += ". A password can only be asked for at the start, on a terminal"
        remedy += "."
    elif match := _NOT_RESOLVED.search(text):
        why, remedy = f"{match[1]}: {match[2]}", "Check its spelling, ~/.ssh/config and DNS."
    elif match := _NOT_CONNECTED.search(text):
        why, remedy = f"{match[1]}:{match[2]}: {match[3]}", "Check the address, firewalls, and whether a VPN is up."
    elif "\nstdio forwarding failed" in text and (match := _JUMP_REFUSED.search(text)):
        why, remedy = f"a jump host does not connect to the next host: {match[1]}", "Check ProxyJump in ~/.ssh/config."
    elif not in_time:
        why, remedy = f"no login within {START_SECONDS} s", f"See where it waits: ssh -v {host.as_argument}"
    else:
        why = lines[-1] if lines else "it ended without a reason"
    return SshFailed.of(f"ssh to {host}: {why}", remedy, name=name)


def _not_run(host: SshHost, error: OSError) -> SshFailed:
    if isinstance(error, FileNotFoundError):
        why, remedy = "there is no ssh on this host's PATH", "Install OpenSSH's client (openssh-client)."
    elif isinstance(error, UntrustedPath):
        why, remedy = "ssh is not run", f"{error.strerror}."
    else:
        why, remedy = f"ssh can't be run: {error.strerror}", "Check the ssh that is first on PATH."
    return SshFailed.of(f"ssh to {host}: {why}", remedy)


def _ended(host: SshHost) -> SshFailed:
    message = f"ssh to {host}: the connection ended"
    return SshFailed.of(message, "It is made again with the next request.")
