"""``kac triage``: finds the problems of a cluster and their causes."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from console.admin.errors import AdminError, AuthenticationFailed, RequestTimedOut, Unreachable
from console.cli.opening import FAILED, USAGE, add_duration, seconds, with_session
from console.model.numbers import json_text, natural_number, time_of_day
from console.present.text import clean
from console.terminal import complain, leave, put, say, waiting

if TYPE_CHECKING:
    from console.session.session import Session
    from console.session.triage_polls import Poller
    from console.telling.listening import Address
    from console.telling.receivers import Deliver
    from console.telling.voice import Voice
    from console.triage.diagnosis import Verdict
    from console.triage.observations import Observations
    from console.triage.symptoms import Subject

DEFAULT_SECONDS = 20.0
ENDED = 128 + signal.SIGTERM
"""The exit code of a watch with ``--notify`` or ``--listen`` if SIGTERM ended it."""
REFUSED = 6
"""The exit code of a watch if brokers refuse its login, or if another cluster answers: a restart without a change could
lock the account.
"""


def triage_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac triage``."""
    what = "how long to poll before the verdict, for example 20s (default) or 5m; 0s polls once, without trends"
    add_duration(parser, what, DEFAULT_SECONDS, lambda text: 0.0 if text == "0s" else seconds(text))
    parser.add_argument(
        "--expect",
        metavar="'broker N'",
        action="append",
        default=[],
        type=_expected,
        help="an expected event, such as a broker that you restart; may be repeated",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="continue, and print each change of the verdict; SIGUSR1 writes the brokers' answers of the last half "
        "hour to a file",
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the verdict")
    parser.add_argument(
        "--notify",
        metavar="NAME",
        action="append",
        default=[],
        help="with --watch: send a message to this receiver, [notify.NAME] of the configuration, when a cause "
        "comes, gets worse or goes; may be repeated",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_address,
        help="with --watch: serve metrics to Prometheus, for example on 127.0.0.1:9108",
    )
    parser.add_argument(
        "--prometheus", metavar="FILE", type=Path, help="write metrics for a textfile collector into this file"
    )
    parser.add_argument(
        "--request-log",
        metavar="FILE",
        action="append",
        default=[],
        type=Path,
        dest="request_logs",
        help="a broker's request log on this host, which has the throttled clients; may be repeated",
    )
    parser.add_argument("--replay", metavar="FILE", type=Path, help="read this flight record instead of a cluster")
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="with --replay: the time of the verdict, such as 03:11 or 2026-11-20T03:11 (default: the end)",
    )


def _address(text: str) -> Address:
    from console.telling.listening import address

    try:
        return address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _expected(text: str) -> Subject:
    from console.triage.symptoms import Subject

    word, _, number = text.strip().partition(" ")
    try:
        if word != "broker":
            raise ValueError("expected broker N, for example --expect 'broker 2'")
        return Subject(broker=natural_number(number))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run_triage(options: argparse.Namespace) -> int:
    """Print the verdict on a cluster or a flight record.

    Returns:
        The exit code: 0 the cluster is healthy; 1 no broker answered, or a part could not be read; 2 no context or
        invalid options; 4 there are causes; 5 a symptom has no known cause. A watch may also end with `REFUSED` or
        `ENDED`.
    """
    if options.replay is not None and options.request_logs:
        return leave(USAGE, "--request-log is of now: a flight record of the past can't be judged with it")
    if (options.notify or options.listen) and (options.replay is not None or not options.watch):
        return leave(USAGE, "--notify and --listen need --watch, and a cluster instead of a record")
    if options.replay is not None:
        return _replayed(options)
    if options.at is not None:
        return leave(USAGE, "--at is a time of a record: name it with --replay FILE")

    receivers = _receivers(options.notify)
    if receivers is None:
        return USAGE
    from console.flight.recorder import Recorder

    recorder = Recorder() if options.watch else None

    async def work(session: Session) -> int:
        from console.session.kept_record import in_memory, return_large_blocks, write_record
        from console.session.triage_polls import Poller

        async def keep() -> str:
            name, cluster_id = session.context.name, session.snapshot.cluster.cluster_id or ""
            return await write_record(recorder, name, cluster_id)

        if recorder is not None:
            return_large_blocks()
            in_memory(recorder, session.context.name)
        as_json = options.output == "json"
        with _keeping(keep, as_json=as_json) if recorder is not None else nullcontext():
            async with (
                _speaking(session.context.name, receivers, options) as voice,
                Poller(session, options.request_logs) as poller,
            ):
                return await _ended(watch_verdicts(poller, options, voice), options, voice)

    try:
        return with_session(options, "triage", work, recorder)
    except CannotListen as error:
        return leave(FAILED, str(error))
    except asyncio.CancelledError:
        return ENDED


MEND = "mend the context's login, addresses or cluster_id, and start the watch again"
"""The recommended step after brokers refused the login at the start of a watch."""
GOES_ON = "give the user back what it logs in with; for another secret start the watch again: it keeps the first one"
"""The recommended step after brokers refused a later login: the watch continues, since a single broker may
refuse it.
"""


class CannotListen(Exception):
    """kac can't listen at the address of ``--listen``. The text is the line for the operator."""


def _receivers(names: Sequence[str]) -> Sequence[tuple[str, Deliver]] | None:
    """Return the name of each receiver in ``--notify`` with the function that delivers to it. If a receiver can't be
    used, print the reason and return None.
    """
    if not names:
        return ()
    from console.contexts import ContextError, load
    from console.telling.receivers import NotDelivered, deliveries

    contexts = load(os.environ, Path.home())
    found = []
    for name in dict.fromkeys(names):
        try:
            receiver = contexts.receiver(name)
            ways = deliveries(receiver)
            numbers = ("",) if len(ways) == 1 else (f"#{n}" for n in range(1, len(ways) + 1))
            found += [(f"{name}{number}", way) for number, way in zip(numbers, ways, strict=True)]
        except ContextError as error:
            complain(str(error))
            return None
        except NotDelivered as error:
            complain(f"--notify {name}: {error}")
            return None
        for warning in receiver.warnings:
            complain(f"warning: {warning}")
    return found


@asynccontextmanager
async def _speaking(
    context: str, receivers: Sequence[tuple[str, Deliver]], options: argparse.Namespace
) -> AsyncIterator[Voice | None]:
    """Yield the sender of messages and metrics of the watch; None if the options name neither a receiver nor an
    address. Raises CannotListen.
    """
    listen: Address | None = options.listen
    if not receivers and listen is None:
        yield None
        return
    from console.telling.voice import speaking

    if listen is not None and not listen.is_loopback:
        complain(
            f"warning: --listen {listen}: all who reach this address read the names of topics, groups and brokers: "
            "there is no login and no TLS; 127.0.0.1 is for this host alone"
        )
    watch = asyncio.current_task()
    assert watch is not None
    # Handle SIGTERM: the first process of a container would ignore it, and a service has a few seconds to send waiting
    # messages.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, watch.cancel)
    async with AsyncExitStack() as stack:
        try:
            voice = await stack.enter_async_context(speaking(context, receivers, listen, complain))
        except OSError as error:
            raise CannotListen(f"--listen {listen}: {error.strerror or error}; is another kac there?") from None
        yield voice


@contextmanager
def _keeping(keep: Callable[[], Awaitable[str]], *, as_json: bool) -> Iterator[None]:
    """Write the brokers' responses of the last half hour into a file on each SIGUSR1 inside the ``with`` block.

    Args:
        keep: writes the file, and returns a line with its path.
        as_json: whether standard output has JSON objects, so that the line goes to standard error.
    """
    loop, writing = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    async def write() -> None:
        try:
            line = f"{time_of_day(datetime.now(UTC))}  .  {await keep()}"
            # Print it on standard error for JSON: standard output has one object in each line.
            complain(line) if as_json else put(f"{line}\n")
        except OSError as error:
            complain(f"no record was written: {error.filename}: {error.strerror}")

    def begin() -> None:
        task = loop.create_task(write())
        writing.add(task)
        task.add_done_callback(writing.discard)

    loop.add_signal_handler(signal.SIGUSR1, begin)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)


def _replayed(options: argparse.Namespace) -> int:
    """Print the verdict at the end of a flight record; with --watch also each change of the verdict before. Return the
    exit code of `run_triage`.
    """
    from console.answers.triage import exit_code
    from console.cli.replay import replay_verdict

    told: dict[str, str] | None = None
    last: Observations | None = None

    def tell(verdict: Verdict, observations: Observations) -> None:
        nonlocal told, last
        last = observations
        if options.watch:
            told = tell_changes(verdict, told, options.output)
        else:
            _tell(verdict, observations, options.output)

    found = replay_verdict(options.replay, options.at, options.expect, tell, every=options.watch)
    if isinstance(found, int):
        return found
    _write_metrics(options.prometheus, found, last)
    return exit_code(found)


async def _ended(watching: Awaitable[Verdict], options: argparse.Namespace, voice: Voice | None) -> int:
    """Wait for `watch_verdicts` and return the exit code. If brokers refuse the watch, receivers get a message.

    Raises:
        AdminError, Refused: as `watch_verdicts`; with --watch, a refusal becomes the exit code `REFUSED` instead.
    """
    from console.answers.triage import exit_code
    from console.session.snapshot_reader import Refused

    try:
        return exit_code(await watching)
    except (AuthenticationFailed, Refused) as error:
        if not options.watch:
            raise
        complain(error.failure.told.rstrip(". ") + ".")
        if voice is not None:
            voice.lost(f"kac watches no longer: {error.failure}", datetime.now(UTC), MEND)
        return REFUSED


async def watch_verdicts(poller: Poller, options: argparse.Namespace, voice: Voice | None = None) -> Verdict:
    """Poll the cluster for the time of --for, and return the last verdict; with --watch, until it is interrupted.

    Args:
        voice: the sender of messages and metrics; None without receivers and ``--listen``.

    Raises:
        AdminError: the first poll fails (a voice reports an unreachable cluster instead); without --watch also the last
            one.
        Refused: the cluster is not the one that the context declares.
    """
    from console.triage.diagnosis import diagnose
    from console.triage.observations import after, begin

    began = time.monotonic()
    _tell_begin(options)
    observations: Observations | None = None
    told: dict[str, str] | None = None
    verdict: Verdict | None = None
    lost = ""
    while True:
        try:
            poll = await poller.poll(whole=observations is None and options.seconds == 0)
        except AdminError as error:
            goes_on = voice is not None and isinstance(error, RequestTimedOut | Unreachable)
            if (observations is None and not goes_on) or (
                not options.watch and time.monotonic() - began >= options.seconds
            ):
                raise
            what, step = _lost(error, poller.asked)
            why = f"{what}: {error.failure}"
            if voice is not None:
                voice.lost(why, datetime.now(UTC), step)
            if options.watch and lost != what:
                _tell_lost(why, step, verdict, options.output)
                _write_metrics(options.prometheus, None, None)
            lost = what
            await poller.rest()
            continue
        if observations is None:
            observations = begin(poll)
        else:
            observations = after(observations, poll)
            poller.follow(observations)
        if options.watch and lost:
            told = _told_again(told, options.output, poller.asked)
        lost = ""
        since = time.monotonic()
        before = verdict if options.watch else None
        verdict = await asyncio.to_thread(diagnose, observations, options.expect, before)
        if voice is not None:
            await voice.judged(verdict, observations.last.snapshot, time.monotonic() - since)
        if options.watch:
            told = tell_changes(verdict, told, options.output)
            _write_metrics(options.prometheus, verdict, observations)
        elif time.monotonic() - began >= options.seconds:
            _tell(verdict, observations, options.output)
            _write_metrics(options.prometheus, verdict, observations)
            return verdict
        await poller.rest()


def _tell_begin(options: argparse.Namespace) -> None:
    from console.plan.amounts import duration

    if options.watch:
        waiting("watching; Ctrl-C stops")
    elif options.seconds:
        waiting(f"looking at the cluster for {duration(round(options.seconds * 1000))} before the verdict…")


def _told_again(told: dict[str, str] | None, output: str, asked: str) -> dict[str, str] | None:
    """Print that the brokers or controllers answer again, and return the causes that count as printed. With JSON, print
    nothing and return None, so that the next verdict is printed even if it is unchanged.

    Args:
        told: the causes printed so far; None before the first verdict.
        asked: ``broker`` or ``controller``.
    """
    if output == "json":
        return None
    say(f"{time_of_day(datetime.now(UTC))}  !  {asked}s answer again")
    return told


def _lost(error: AdminError, asked: str) -> tuple[str, str]:
    """Return the reason why there is no new verdict, and the recommended step. asked: ``broker`` or ``controller``."""
    from console.telling.news import LOOK

    if isinstance(error, AuthenticationFailed):
        return f"the {asked}s refuse the login", GOES_ON
    return f"no {asked} answers", LOOK


def _tell_lost(text: str, step: str, verdict: Verdict | None, output: str) -> None:
    """Print that there is no new verdict since `verdict`, with the reason and the recommended step, in the form
    `output`.
    """
    now = datetime.now(UTC)
    if verdict is None:
        complain(f"{text}; kac tries again")
    elif output == "json":
        from console.answers.triage import verdict_data

        put(json_text(verdict_data(verdict, text, now)) + "\n")
    else:
        say(f"{time_of_day(now)}  !  {text}; {step}")


def _tell(verdict: Verdict, observations: Observations, output: str) -> None:
    from console.answers.triage import text_lines, verdict_data

    if output == "json":
        put(json_text(verdict_data(verdict)) + "\n")
    else:
        say("\n".join(text_lines(verdict, observations.watched.total_seconds())))


_UNREAD = "unread"
"""The key of the line about unread parts among the printed causes."""


def tell_changes(verdict: Verdict, known: dict[str, str] | None, output: str) -> dict[str, str]:
    """Print the causes that appeared and disappeared since the last verdict, a line each; as JSON, print the whole
    verdict on one line if the causes differ. Return the present causes.

    Args:
        known: the causes printed so far, id -> text; None before the first verdict.
    """
    from console.present.triage import cause_id, part_names

    now = {cause_id(named.claim): clean(named.claim.title, 200) for named in verdict.causes if not named.claim.members}
    # Compare the titles of rows with several states by their text, which names the worst state and the number of
    # states.
    rows = (clean(named.claim.title, 200) for named in verdict.causes if named.claim.members)
    now |= {title: title for title in rows}
    now |= {each.symptom: f"{each.symptom}: {each.count:,}, unexplained" for each in verdict.unexplained}
    if verdict.is_calm and verdict.unread:
        now[_UNREAD] = f"unknown: {part_names(verdict.unread)}" if output == "text" else ""
    if output == "json":
        if now != known:
            from console.answers.triage import verdict_data

            put(json_text(verdict_data(verdict)) + "\n")
        return now
    at = time_of_day(verdict.at)
    if verdict.is_healthy and not now and (known is None or _UNREAD in known):
        say(f"{at}  healthy")
    for key, title in now.items():
        if key not in (known or {}):
            say(f"{at}  +  {title}")
    for key, title in (known or {}).items():
        if key not in now:
            say(f"{at}  -  {title}")
    return now


def _write_metrics(file: Path | None, verdict: Verdict | None, observations: Observations | None) -> None:
    if file is None:
        return
    from console.answers.metrics import metrics_text
    from console.safe_files import write_whole

    try:
        snapshot = observations.last.snapshot if observations is not None else None
        write_whole(file, metrics_text(verdict, snapshot).encode())
    except OSError as error:
        complain(f"metrics not written: {error}")
