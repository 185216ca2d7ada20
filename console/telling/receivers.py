"""The delivery of an event to a receiver: by an HTTP request, a program, or apprise. Each delivery blocks for a limited
time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from console import event_loop
from console.contexts.receivers import Chats, Command, Receiver, Webhook, filled
from console.extras import how_to_add
from console.model.numbers import json_text
from console.telling.message import Event
from console.telling.news import What

SECONDS = 10.0
"""Timeout in seconds for one delivery by a request or a program."""
CHAT_SECONDS = 60.0
"""Timeout in seconds for one delivery by apprise, which may send several requests with timeouts of their own."""
_LATER = frozenset({408, 425, 429})
"""HTTP statuses below 500 after which another attempt may succeed."""

Deliver = Callable[[Event], None]
"""Delivers an event; raises NotDelivered on failure."""


class NotDelivered(Exception):
    """The failure of a delivery. The text is the reason, one line without a secret.

    Args:
        why: the reason.
        is_final: whether every further attempt would fail as well.
    """

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.is_final = is_final


def deliveries(receiver: Receiver) -> list[Deliver]:
    """Return the functions that deliver to a receiver: one for each service of apprise, for any other receiver a single
    one. Each service has its own function, so that another attempt after its failure does not repeat the message to
    the other services.

    Raises:
        NotDelivered: the receiver needs a package that is not installed, or apprise does not know its URL.
    """
    match receiver.way:
        case Webhook():
            return [_webhook(receiver.name, receiver.way)]
        case Command():
            return [_program(receiver.way)]
        case Chats():
            return _chats(receiver.way)


def _webhook(name: str, way: Webhook) -> Deliver:
    from console.admin.rest import Answer, RestClient, RestFailed, Service

    client = RestClient(way.service, Service("the receiver", "webhook"))

    async def post(body: bytes) -> Answer:
        return await client.exchange("POST", way.target.reveal(), body, seconds=SECONDS, wants_body=False)

    def deliver(event: Event) -> None:
        tree = event.data if way.body is None else filled(way.body, event.fields)
        try:
            answer = event_loop.run(post(json_text(tree).encode()))
        except RestFailed as error:
            raise NotDelivered(str(error)) from None
        if not answer.is_ok:
            final = answer.status < 500 and answer.status not in _LATER
            hint = f": look at [notify.{name}]" if final else ""
            raise NotDelivered(f"the receiver answers {answer.status}{hint}", is_final=final)

    return deliver


def _program(way: Command) -> Deliver:
    from console.programs import ProgramFailed, fed

    def deliver(event: Event) -> None:
        try:
            fed(way.words, json_text(event.data).encode() + b"\n", SECONDS, way.place.file.absolute().parent)
        except ProgramFailed as error:
            raise NotDelivered(str(error)) from None

    return deliver


def _chats(way: Chats) -> list[Deliver]:
    try:
        import apprise
    except ImportError:
        why = f"apprise is not installed. Add it: {how_to_add('notify')}"
        raise NotDelivered(why, is_final=True) from None
    # Silence apprise's logger: its lines may contain a URL with its secret.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    # Disable the time limit of newer versions of apprise: with it, apprise uses a pool of threads, and kac could not
    # end before they do.
    without: dict[str, Any] = {"service_timeout": 0} if hasattr(apprise.AppriseAsset, "_service_timeout") else {}
    chats = apprise.Apprise(asset=apprise.AppriseAsset(**without))
    if not all(chats.add(url.reveal()) for url in way.urls):
        raise NotDelivered("apprise knows no service with such a URL", is_final=True)
    return [_bounded(_chat(service), CHAT_SECONDS) for service in chats]


def _bounded(work: Deliver, seconds: float) -> Deliver:
    """Return a function that calls `work` and raises NotDelivered if that takes longer than `seconds`. The call of
    `work` then continues in a daemon thread, for which the end of kac does not wait. Until this call ends, the
    function raises NotDelivered at once.
    """
    busy = threading.Lock()

    def deliver(event: Event) -> None:
        def run() -> None:
            try:
                work(event)
            finally:
                busy.release()

        async def in_time() -> None:
            async with asyncio.timeout(seconds):
                await event_loop.apart(run, "deliver")

        if not busy.acquire(blocking=False):
            raise NotDelivered("the attempt before has not ended")
        try:
            event_loop.run(in_time())
        except TimeoutError:
            raise NotDelivered(f"the receiver does not take it within {seconds:g} s") from None

    return deliver


def _chat(service: Any) -> Deliver:
    """Return the function that delivers events to one service of apprise."""
    import apprise

    chat = apprise.Apprise()
    chat.add(service)
    kinds = {
        What.CAME: apprise.NotifyType.FAILURE,
        What.WORSE: apprise.NotifyType.FAILURE,
        What.GONE: apprise.NotifyType.SUCCESS,
    }

    def deliver(event: Event) -> None:
        fields = event.fields
        body = "\n".join(filter(None, (fields["evidence"], fields["next"]))) or fields["text"]
        # Send plain text: names from a cluster must not be interpreted as the service's markup.
        told = chat.notify(
            body=body,
            title=fields["text"],
            notify_type=kinds[What(fields["event"])],
            body_format=apprise.NotifyFormat.TEXT,
        )
        if not told:
            raise NotDelivered("apprise could not deliver to this service")

    return deliver
