"""Tests of the client's thread: it runs operations for any thread or loop, cancels them, and leaves nothing open at its
end.
"""

import asyncio
import subprocess
import sys
import textwrap
import threading

import pytest

from console.admin.client import AdminClient
from console.admin.errors import Unreachable
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from tests.support.patience import PATIENCE

NOWHERE = ConnectionSettings(bootstrap=(("127.0.0.1", 1),), request_timeout=5, connect_timeout=5)


async def where(_link: Link) -> str:
    return threading.current_thread().name


async def add(_link: Link, one: int, *, two: int) -> int:
    return one + two


class Endless:
    """An operation that runs until it is cancelled."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.cancelled = threading.Event()

    async def __call__(self, _link: Link) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def test_operations_run_in_the_clients_own_thread_and_one_that_never_started_closes() -> None:
    with AdminClient(NOWHERE) as client:
        assert client.submit(where).result(5) == "kac-client"
        assert client.submit(add, 1, two=2).result(5) == 3
    AdminClient(NOWHERE).close()


async def test_another_loop_awaits_them() -> None:
    with AdminClient(NOWHERE) as client:
        assert await client.run(add, 1, two=2) == 3
        with pytest.raises(Unreachable, match="nothing listens there"):
            await client.run(Link.nodes)


async def test_cancelling_the_caller_cancels_the_operation() -> None:
    endless = Endless()
    with AdminClient(NOWHERE) as client:
        task = asyncio.create_task(client.run(endless))
        assert await asyncio.to_thread(endless.began.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(endless.cancelled.wait, 5)


def test_closing_cancels_what_is_under_way_and_ends_the_thread() -> None:
    endless = Endless()
    client = AdminClient(NOWHERE)
    client.start()
    future = client.submit(endless)
    assert endless.began.wait(PATIENCE)
    client.close()
    client.close()
    assert endless.cancelled.is_set()
    assert future.cancelled()
    assert not client._thread.is_alive()
    with pytest.raises(RuntimeError, match="closed"):
        client.submit(where)


def test_no_warning_and_no_trace_is_left_behind() -> None:
    """If the client is closed while it connects or waits for an answer, Python prints no warning and no traceback, with
    all warnings enabled.
    """
    code = """
        import asyncio, gc, socket, threading
        from console.admin.client import AdminClient
        from console.admin.settings import ConnectionSettings
        silent = socket.create_server(("127.0.0.1", 0))
        client = AdminClient(ConnectionSettings(bootstrap=(silent.getsockname(),)))
        client.start()
        accepted = threading.Thread(target=lambda: kept.append(silent.accept()))
        kept = []
        accepted.start()
        future = client.submit(lambda link: link.nodes())
        accepted.join()
        client.close()
        print(future.cancelled(), threading.active_count())
        for connection, _ in kept:
            connection.close()
        silent.close()
        del client, future
        gc.collect()
    """
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("True 1\n", "")


def test_a_name_that_takes_long_to_look_up_does_not_keep_the_interpreter() -> None:
    code = """
        import socket, threading
        from console.admin.client import AdminClient
        from console.admin.settings import ConnectionSettings
        looking = threading.Event()
        def hang(*args, **options):
            looking.set()
            threading.Event().wait()
        socket.getaddrinfo = hang
        client = AdminClient(ConnectionSettings(bootstrap=(("slow.example", 9092),)))
        client.start()
        client.submit(lambda link: link.nodes())
        looking.wait()
        client.close()
        print("closed")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("closed\n", "")
