"""Free ports on loopback."""

import random
import socket

LOOPBACK = "127.0.0.1"
# These ports are below the range from which Linux and macOS take the ports of outgoing connections, so that no client's
# socket takes one before the broker binds it.
_FIRST, _LAST = 15_000, 29_000


def free_ports(count: int) -> list[int]:
    """Return `count` different ports of loopback on which no process listens now. Raises OSError if there are too
    few.
    """
    found: list[int] = []
    candidates = random.SystemRandom().sample(range(_FIRST, _LAST), _LAST - _FIRST)
    for port in candidates:
        if len(found) == count:
            return found
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
        found.append(port)
    raise OSError(f"no {count} free ports on {LOOPBACK} between {_FIRST} and {_LAST}")
