"""The base of all changes: a `Sender` for each kind, and `sent`, which runs it. A change is sent once; if its response
is lost, kac describes the cluster again.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, OutcomeUnknown, ReadOnly, failure
from console.admin.link import CONTROLLER, Link, Route, delays
from console.model.changes import ChangeRequest, ConfigOp, Outcome, Status, Target
from console.model.codes import APPEND, DELETE, SET, ConfigType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, own_value
from console.model.failure import Failure
from console.model.secret import Secret
from console.model.unordered import as_it_counts
from console.wire.fields import Fields, payload

R = TypeVar("R", bound=ChangeRequest)
T = TypeVar("T", bound=Target)

Answer = tuple[int, str | None]
"""A broker's error code for one target, 0 for success, and its message."""

DescribeAgain = Callable[[Sequence[T]], Awaitable[Mapping[T, Status]]]
"""Describes targets again and returns a status for each: APPLIED if the cluster is as requested, NOT_APPLIED if it is
not, UNKNOWN if the description does not show it."""

Progress = Callable[[int, int], None]
"""Called with the number of partitions that have a leader, and the number of all partitions."""

ANSWER_SECONDS = 5.0
"""Seconds that a response may take in addition to the broker's own limit."""

DOTS = "······"

_MAY_BE_APPLIED = frozenset({ErrorCode.request_timed_out, ErrorCode.network_exception})
_CHECK_FIRST = "It may have been applied, or may still be: look at the cluster before you repeat it."

log = logging.getLogger(__name__)


class Sender(Generic[R, T]):
    """The steps to send one kind of change, run by `sent`. Each change has its own instance, which may keep state.

    The defaults suit most changes: one request for all targets, to the controller, without a check. Methods raise
    AdminError if they can't continue; nothing was sent then.

    Args:
        validate_only: whether brokers only check the change.
    """

    of: ClassVar[str] = ""
    """The request's field with the targets; ``""`` without such a field."""
    right: ClassVar[str] = ""
    """The message of an outcome if the right to the change is missing; ``""`` for the broker's own message."""
    needs: ClassVar[str] = ""
    """The first Kafka release that has the request; ``""`` for all."""
    has_check = False
    """Whether the protocol has a validate-only form."""
    route: Route = CONTROLLER
    """The broker that receives the request."""
    secrets: Sequence[Secret] = ()
    """Values in the request that no outcome may repeat; brokers repeat values that they refuse."""
    on_progress: Progress | None = None
    """Called during the wait for leaders; None without a callback."""

    def __init__(self, link: Link, request: R, validate_only: bool) -> None:
        self.link = link
        self.request = request
        self.validate_only = validate_only

    @property
    def api(self) -> str:
        """The snake-case name of the request in kio: ``create_topics``."""
        return re.sub(r"\B[A-Z]", r"_\g<0>", self.request.api).lower()

    def targets(self) -> Iterable[T]:
        """Return the targets, possibly with duplicates."""
        found: Iterable[T] = getattr(self.request, self.of)
        return found

    async def require(self) -> None:
        """Raise Unsupported if the cluster lacks the request."""
        if self.needs:
            await self.link.require(self.api, 0, self.needs, self.route)

    async def refused(self) -> dict[T, Outcome]:
        """Return the outcomes of targets that are neither checked nor sent."""
        return {}

    async def unchecked(self, targets: Sequence[T]) -> dict[T, Outcome]:
        """Return the outcomes of a check if the protocol has no request that only validates: UNCHECKED for each
        target.
        """
        return {target: Outcome(target, Status.UNCHECKED) for target in targets}

    async def prepare(self, _targets: Sequence[T]) -> dict[T, Outcome]:
        """Read the data that sending needs. Return the outcomes of targets that are not sent because of it."""
        return {}

    async def deliver(self, targets: Sequence[T]) -> dict[T, Outcome]:
        """Send the change, or its check. Return the outcome for each target.

        If the response was lost, or has no final result for a sent target, `describe_again` decides. After a success,
        wait until brokers describe the change, so that the next read has it.
        """
        if not targets:
            return {}
        settings = self.link.settings
        try:
            answers = await self.send(targets)
        except OutcomeUnknown as error:
            return await reconcile(targets, self.describe_again, error.failure, settings.lost_answer_timeout)
        outcomes: dict[T, Outcome] = {}
        doubtful: dict[T, Failure] = {}
        for target in targets:
            code, text = answers.get(target, (ErrorCode.request_timed_out, "the answer does not mention it"))
            message = without_secrets(text or "", self.secrets)
            if not code:
                outcomes[target] = Outcome(target, Status.VALID if self.validate_only else Status.APPLIED)
            elif code in _MAY_BE_APPLIED and not self.validate_only:
                doubtful[target] = failure(code, message)
            else:
                outcomes[target] = Outcome(target, Status.FAILED, failure(code, message))
        if doubtful:
            why = next(iter(doubtful.values()))
            outcomes |= await reconcile(list(doubtful), self.describe_again, why, settings.lost_answer_timeout)
        if not self.validate_only:
            applied = [target for target in outcomes if outcomes[target].status is Status.APPLIED]
            await until_visible(applied, self.describe_again, settings.visible_timeout)
        return {target: outcomes[target] for target in targets}

    async def send(self, targets: Sequence[T]) -> Mapping[T, Answer]:
        """Send one request for these targets. Return the answer by target."""
        response = await self.link.call(
            self.api,
            lambda kio: self.build(kio, targets),
            to=self.route,
            timeout=self.seconds(),
            change=not self.validate_only,
        )
        return self.answers(response, targets)

    def seconds(self) -> float | None:
        """Return the timeout for the response in seconds; None for the settings' request timeout."""
        limit_ms: int | None = getattr(self.request, "timeout_ms", None)
        return None if limit_ms is None else max(self.link.settings.request_timeout, limit_ms / 1000 + ANSWER_SECONDS)

    def fields(self, targets: Sequence[T]) -> Fields:
        """Return the fields of the request for these targets."""
        raise NotImplementedError

    def build(self, kio: ModuleType, targets: Sequence[T]) -> Any:
        """Return the request for these targets, from kio's module of the version in use."""
        return payload(kio, self.api, self.fields(targets))

    def answers(self, response: Any, targets: Sequence[T]) -> Mapping[T, Answer]:
        """Return target -> its answer in a response; by default the same for all."""
        code, message = response.error_code, getattr(response, "error_message", None)
        if self.right and code == ErrorCode.cluster_authorization_failed:
            message = self.right
        return dict.fromkeys(targets, (code, message))

    async def describe_again(self, targets: Sequence[T]) -> Mapping[T, Status]:
        """Describe the targets again; see `DescribeAgain`."""
        raise NotImplementedError


Senders = Mapping[type[ChangeRequest], type[Sender[Any, Any]]]
"""Class of a change request -> the class that sends it."""


async def sent(sender: Sender[R, T]) -> tuple[Outcome, ...]:
    """Send a change or its check. Return one outcome for each target, in their order.
    Raises AdminError if nothing was sent.
    """
    await sender.require()
    targets = list(dict.fromkeys(sender.targets()))
    outcomes = await sender.refused()
    sound = [target for target in targets if target not in outcomes]
    if sender.validate_only and not sender.has_check:
        outcomes |= await sender.unchecked(sound)
    else:
        outcomes |= await sender.prepare(sound)
        outcomes |= await sender.deliver([target for target in sound if target not in outcomes])
    return tuple(outcomes[target] for target in targets)


class ServiceSender(Sender[R, T]):
    """The base of changes of a service next to the brokers: each target is its own request."""

    takes_seconds = 0.0
    """Seconds that the service may need to carry out a change after its answer."""

    async def require(self) -> None:
        """Raise ReadOnly for a change by a read-only client."""
        if not self.validate_only and self.link.settings.read_only:
            raise ReadOnly(self.request.api)

    async def deliver(self, targets: Sequence[T]) -> dict[T, Outcome]:
        """Send the change, or its check, for each target, and wait until the service shows it."""
        outcomes: dict[T, Outcome] = {}
        for target in targets:
            outcomes[target] = await self._outcome(target)
        if not self.validate_only:
            applied = [target for target in targets if outcomes[target].status is Status.APPLIED]
            within = max(self.link.settings.visible_timeout, self.takes_seconds)
            await until_visible(applied, self.describe_again, within)
        return outcomes

    async def _outcome(self, target: T) -> Outcome:
        try:
            found = await self.send_one(target)
        except OutcomeUnknown as error:
            within = self.link.settings.lost_answer_timeout
            return (await reconcile([target], self.describe_again, error.failure, within))[target]
        except AdminError as error:
            found = error.failure
        if isinstance(found, Failure):
            message = without_secrets(found.message, self.secrets)
            return Outcome(target, Status.FAILED, Failure(found.name, message, found.remedy))
        return found or Outcome(target, Status.APPLIED)

    async def send_one(self, target: T) -> Outcome | Failure | None:
        """Send the change, or its check, for a target.

        Returns:
            The outcome, or the service's refusal; None if the change is applied.

        Raises:
            AdminError: the service did not answer, or refused.
        """
        raise NotImplementedError


def without_secrets(text: str, secrets: Iterable[Secret]) -> str:
    """Return the text with each secret replaced by dots."""
    for secret in secrets:
        if secret.reveal():
            text = text.replace(secret.reveal(), DOTS)
    return text


async def reconcile(
    targets: Sequence[T], describe_again: DescribeAgain[T], why: Failure, within: float
) -> dict[T, Outcome]:
    """Return the outcomes of a change whose response was lost.

    APPLIED as soon as the cluster is as requested, else UNKNOWN: the network may still deliver the change later.

    Args:
        why: the reason of the loss.
        within: the seconds for describing it again.
    """
    log.warning("describing a change of %d targets again: %s", len(targets), why)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    waits = delays(0.1, 1.0)
    left = list(targets)
    while True:
        try:
            seen = await describe_again(left)
        except AdminError as error:
            log.warning("describing failed: %s", error.failure)
            seen = {}
        left = [target for target in left if seen.get(target) is not Status.APPLIED]
        if not left or loop.time() > deadline:
            break
        await asyncio.sleep(next(waits))
    unknown = Failure(why.name, why.message, _CHECK_FIRST)
    unseen = frozenset(left)
    return {
        target: Outcome(target, Status.UNKNOWN, unknown) if target in unseen else Outcome(target, Status.APPLIED)
        for target in targets
    }


async def until_visible(targets: Sequence[T], describe_again: DescribeAgain[T], within: float) -> None:
    """Wait until brokers describe an applied change, at most `within` seconds, or until a read fails; neither is an
    error.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    waits = delays(0.01, 0.2)
    left = list(targets)
    while left and loop.time() < deadline:
        try:
            seen = await describe_again(left)
        except AdminError as error:
            log.info("an applied change can't be described: %s", error.failure)
            return
        left = [target for target in left if seen.get(target) is Status.NOT_APPLIED]
        if left:
            await asyncio.sleep(next(waits))


def refused(target: Target, name: str, message: str, remedy: str) -> Outcome:
    """Return the outcome of a change that is not sent, because it would do harm or can't succeed."""
    return Outcome(target, Status.FAILED, Failure(name, message, remedy))


def refuse_duplicates(targets: Iterable[T]) -> dict[T, Outcome]:
    """Return an outcome for each duplicate target: brokers apply only a part of such a request."""
    once: set[T] = set()
    twice: dict[T, Outcome] = {}
    for target in targets:
        if target in once:
            twice[target] = refused(target, "DUPLICATE", "the request names it twice", "Keep one of them.")
        once.add(target)
    return twice


# Verdicts: whether a described resource has the requested values.


def configs_verdict(resource: ConfigResource, ops: Iterable[ConfigOp], known: ConfigSet | None) -> Status:
    """Return APPLIED if a resource has all requested values, NOT_APPLIED if it has none of them; UNKNOWN if it was not
    described.

    A broker applies all keys of a resource or none, so a readable key decides for an unreadable one (a secret).
    A plan has no edit without effect, so a value that is as requested was different before. If only some values are as
    requested, another client has changed the resource as well: UNKNOWN.
    """
    if known is None:
        return Status.UNKNOWN
    seen = {op_verdict(resource, op, known.get(op.key)) for op in ops} - {Status.UNKNOWN}
    return seen.pop() if len(seen) == 1 else Status.UNKNOWN


def op_verdict(resource: ConfigResource, op: ConfigOp, entry: ConfigEntry | None) -> Status:
    """Return the verdict for one key; UNKNOWN if brokers hide its value, or for the removal of a logger's level. entry:
    the key's current description; None if the key is not listed.
    """
    own = own_value(entry, resource)
    if op.op == DELETE:
        if resource.type.entity.has_levels:  # brokers describe each logger as if it had its own level
            return Status.UNKNOWN
        return applied_if(own is None)
    if entry is None or own is None:
        return Status.NOT_APPLIED
    if own.value is None:
        return Status.UNKNOWN
    wanted = op.value.reveal() if isinstance(op.value, Secret) else op.value or ""
    if op.op == SET:
        sides = as_it_counts(op.key, wanted), as_it_counts(op.key, own.value)
        return applied_if(same_value(entry.type, *sides, ignore_case=resource.type.entity.has_levels))
    now, items = set(list_items(own.value)), set(list_items(wanted))
    return applied_if(items <= now if op.op == APPEND else not items & now)


def same_value(type_: ConfigType, one: str, other: str, *, ignore_case: bool = False) -> bool:
    """Return whether two texts are the same value of this type: brokers return the parsed value, ``1`` for ``01``."""
    if one == other or (ignore_case and one.lower() == other.lower()):
        return True
    parse = _PARSERS.get(type_.name)
    if parse is None:
        return one.strip() == other.strip()
    try:
        return parse(one) == parse(other)
    except ValueError:
        return False


def list_items(value: str | None) -> list[str]:
    """Return the items of a LIST value; empty for an empty value or None."""
    return [item.strip() for item in value.split(",")] if value else []


def _casefolded(text: str) -> str:
    return text.strip().lower()


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "BOOLEAN": _casefolded,
    "INT": int,
    "SHORT": int,
    "LONG": int,
    "DOUBLE": float,
    "LIST": list_items,
}


def applied_if(is_so: bool) -> Status:
    """Return APPLIED or NOT_APPLIED."""
    return Status.APPLIED if is_so else Status.NOT_APPLIED
