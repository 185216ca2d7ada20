"""The base of all changes: a subclass of `Sender` for each kind of change, and `sent`, which runs its steps. A change
is sent once. If its response is lost, kac reads the targets again to find the outcome.
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
"""A broker's result for one target: the error code, 0 for success, and the message, None without one."""

DescribeAgain = Callable[[Sequence[T]], Awaitable[Mapping[T, Status]]]
"""Function that reads targets again and returns target -> status: APPLIED if the cluster has the requested state,
NOT_APPLIED if it has not, UNKNOWN if the read does not show it.
"""

Progress = Callable[[int, int], None]
"""Function called with the number of partitions that have a leader, and the number of all partitions."""

ANSWER_SECONDS = 5.0
"""Seconds that a response may take beyond the timeout in the request, which the broker applies."""

DOTS = "······"

_MAY_BE_APPLIED = frozenset({ErrorCode.request_timed_out, ErrorCode.network_exception})
_CHECK_FIRST = "It may have been applied, or may still be: look at the cluster before you repeat it."

log = logging.getLogger(__name__)


class Sender(Generic[R, T]):
    """The steps by which one kind of change is sent; `sent` calls them. Each change has its own instance, which may
    have state.

    The defaults suit most changes: one request for all targets, sent to the controller, without validation. If a method
    raises AdminError, nothing was sent.

    Args:
        validate_only: whether brokers shall only validate the change.
    """

    of: ClassVar[str] = ""
    """The name of the request's field that has the targets; ``""`` if there is none."""
    right: ClassVar[str] = ""
    """The message of an outcome if the principal lacks the right to the change; ``""`` to use the broker's own message.
    """
    needs: ClassVar[str] = ""
    """The first Kafka release that has the API; ``""`` if all have it."""
    has_check = False
    """Whether the request has a validate-only form."""
    route: Route = CONTROLLER
    """The broker that receives the request."""
    secrets: Sequence[Secret] = ()
    """Secrets in the request, which no outcome may contain: brokers repeat values that they refuse."""
    on_progress: Progress | None = None
    """Called while the leaders of new partitions are elected; None to report nothing."""

    def __init__(self, link: Link, request: R, validate_only: bool) -> None:
        self.link = link
        self.request = request
        self.validate_only = validate_only

    @property
    def api(self) -> str:
        """kio's name of the API, such as ``create_topics``."""
        return re.sub(r"\B[A-Z]", r"_\g<0>", self.request.api).lower()

    def targets(self) -> Iterable[T]:
        """Return the targets of the change, possibly with duplicates."""
        found: Iterable[T] = getattr(self.request, self.of)
        return found

    async def require(self) -> None:
        """Raise Unsupported if the brokers do not have the API."""
        if self.needs:
            await self.link.require(self.api, 0, self.needs, self.route)

    async def refused(self) -> dict[T, Outcome]:
        """Return target -> outcome, for targets that kac itself refuses: these are neither validated nor sent."""
        return {}

    async def unchecked(self, targets: Sequence[T]) -> dict[T, Outcome]:
        """Return the outcomes of a validation that the protocol does not have: UNCHECKED for each target."""
        return {target: Outcome(target, Status.UNCHECKED) for target in targets}

    async def prepare(self, _targets: Sequence[T]) -> dict[T, Outcome]:
        """Read what the change needs before it is sent. Return target -> outcome, for targets that therefore must not
        be sent.
        """
        return {}

    async def deliver(self, targets: Sequence[T]) -> dict[T, Outcome]:
        """Send the change, or its validation. Return target -> outcome.

        If the response is lost, or has no final result for a target, `describe_again` decides. After a success, wait
        until brokers return the changed state, so that the next read has it.
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
        """Send one request for these targets. Return target -> the broker's result."""
        response = await self.link.call(
            self.api,
            lambda kio: self.build(kio, targets),
            to=self.route,
            timeout=self.seconds(),
            change=not self.validate_only,
        )
        return self.answers(response, targets)

    def seconds(self) -> float | None:
        """Return the timeout of the request in seconds; None for the settings' request timeout."""
        limit_ms: int | None = getattr(self.request, "timeout_ms", None)
        return None if limit_ms is None else max(self.link.settings.request_timeout, limit_ms / 1000 + ANSWER_SECONDS)

    def fields(self, targets: Sequence[T]) -> Fields:
        """Return the fields of the request for these targets."""
        raise NotImplementedError

    def build(self, kio: ModuleType, targets: Sequence[T]) -> Any:
        """Make the request for these targets. kio: kio's module of the version in use."""
        return payload(kio, self.api, self.fields(targets))

    def answers(self, response: Any, targets: Sequence[T]) -> Mapping[T, Answer]:
        """Return target -> its result in the response. By default all targets have the response's top-level result."""
        code, message = response.error_code, getattr(response, "error_message", None)
        if self.right and code == ErrorCode.cluster_authorization_failed:
            message = self.right
        return dict.fromkeys(targets, (code, message))

    async def describe_again(self, targets: Sequence[T]) -> Mapping[T, Status]:
        """Read the targets again and return target -> status; see `DescribeAgain`."""
        raise NotImplementedError


Senders = Mapping[type[ChangeRequest], type[Sender[Any, Any]]]
"""Class of a change request -> the class of its sender."""


async def sent(sender: Sender[R, T]) -> tuple[Outcome, ...]:
    """Send a change, or its validation. Return one outcome for each target, in order. Raises AdminError if nothing was
    sent.
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
    """The base class of changes to HTTP services next to the brokers. Each target gets a request of its own."""

    takes_seconds = 0.0
    """Maximum seconds that the service needs to carry out a change after its response."""

    async def require(self) -> None:
        """Raise ReadOnly if the client is read-only and this is a change."""
        if not self.validate_only and self.link.settings.read_only:
            raise ReadOnly(self.request.api)

    async def deliver(self, targets: Sequence[T]) -> dict[T, Outcome]:
        """Send the change, or its validation, for each target, and wait until the service returns the changed state."""
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
        """Send the change, or its validation, for one target.

        Returns:
            The outcome, or the failure of a refusal; None if the change was applied.

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
    """Return target -> outcome for a change whose response was lost: APPLIED as soon as the cluster has the requested
    state. Otherwise UNKNOWN, since the network may still deliver the change.

    Args:
        describe_again: reads the targets.
        why: the reason for the loss.
        within: the maximum seconds for reading the targets repeatedly.
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
    """Wait until brokers return the state that an applied change has made. Return without an error if that takes
    more than `within` seconds, or if a read fails.
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
    """Return the outcome of a change that kac itself refuses, because it would do harm or can't succeed."""
    return Outcome(target, Status.FAILED, Failure(name, message, remedy))


def refuse_duplicates(targets: Iterable[T]) -> dict[T, Outcome]:
    """Return target -> the outcome that refuses it, for each target that occurs twice: brokers would apply only a part
    of such a request.
    """
    once: set[T] = set()
    twice: dict[T, Outcome] = {}
    for target in targets:
        if target in once:
            twice[target] = refused(target, "DUPLICATE", "the request names it twice", "Keep one of them.")
        once.add(target)
    return twice


# Verdicts: whether a described resource has the requested values.


def configs_verdict(resource: ConfigResource, ops: Iterable[ConfigOp], known: ConfigSet | None) -> Status:
    """Return APPLIED if the resource has all requested values, NOT_APPLIED if it has none of them, otherwise UNKNOWN.

    A broker applies all changes of a resource or none, so values that can be read decide for those that can't
    (secrets). A plan has no edit without effect, so each requested value differed before the change. If only some
    values are as requested, another client has changed the resource, too: UNKNOWN. It is also UNKNOWN if `known` is
    None: the resource could not be read.
    """
    if known is None:
        return Status.UNKNOWN
    seen = {op_verdict(resource, op, known.get(op.key)) for op in ops} - {Status.UNKNOWN}
    return seen.pop() if len(seen) == 1 else Status.UNKNOWN


def op_verdict(resource: ConfigResource, op: ConfigOp, entry: ConfigEntry | None) -> Status:
    """Return the status of the change of one key. UNKNOWN if brokers hide its value, or for the removal of a logger's
    level. entry: the key's present entry; None if the resource has none.
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
    """Return whether two texts mean the same value of this type. Brokers return the parsed value, such as ``1`` for
    ``01``.
    """
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
    """Return the items of a value of type LIST; an empty list for None or an empty value."""
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
    """Return APPLIED for True, NOT_APPLIED for False."""
    return Status.APPLIED if is_so else Status.NOT_APPLIED
