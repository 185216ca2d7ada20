"""The subjects of the context's schema registry by Confluent's API (Confluent's own, Karapace, Apicurio's ccompat):
reading all of them with their configs, reading the texts of versions, and changes.

A version's content never changes, so versions are cached for some minutes: only after a permanent deletion may a number
get another schema. A change is sent once. Records are decoded through another client of the same registry,
`console.admin.schema_registry`.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from msgspec.structs import replace

from console.admin import delivery, errors
from console.admin.link import Link
from console.admin.rest import Answer, RestClient, RestFailed
from console.admin.schema_registry import CCOMPAT, SERVICE
from console.admin.settings import HttpSettings
from console.model import config, subjects
from console.model.changes import ConfigOp, Outcome, Status
from console.model.codes import DEFAULT_CONFIG, DELETE, ConfigType
from console.model.failure import Failure
from console.model.foreign_json import json_as
from console.model.numbers import json_text
from console.model.schemas import AVRO, kind_of

AT_ONCE = 8
"""Number of concurrent requests."""
ALL_SECONDS = 60.0
"""Maximum seconds to read all subjects."""
CHANGE_SECONDS = 30.0
"""Timeout in seconds of a change, or of its validation."""
MOST_SUBJECTS = 5_000
MOST_VERSIONS = 10_000
"""Maximum number of versions that are read, the newest of each subject first. If there are more, only their numbers
are known.
"""
KEPT_SECONDS = 600.0
"""Seconds for which a version stays in the cache."""
MOST_TEXTS = 16 << 20
"""Maximum number of characters of all texts in the cache."""
_TEXT_TYPE = ConfigType(2)

T = TypeVar("T")
_NUMBERS = list[int]


# -- the answers -------------------------------------------------------------------------------------------------------


class _Reference(Struct, frozen=True):
    name: str
    subject: str
    version: int


class _Version(Struct, frozen=True):
    """The answer to ``GET /subjects/NAME/versions/NUMBER``."""

    schema: str
    version: int = 0
    id: int = 0
    schemaType: str | None = None  # noqa: N815 the API's own name; Avro if it is missing
    references: Sequence[_Reference] | None = None

    @property
    def source(self) -> subjects.SchemaSource:
        """The schema's kind, text and references."""
        references = tuple(subjects.SchemaReference(each.name, each.subject, each.version) for each in self.refers)
        return subjects.SchemaSource(kind_of(self.schema, self.schemaType), self.schema, references)

    @property
    def refers(self) -> Sequence[_Reference]:
        """The references of the schema to other schemas, in order."""
        return self.references or ()


class _Level(Struct, frozen=True):
    """The compatibility level in the response to ``GET /config``."""

    compatibility: str = field(name="compatibilityLevel", default="")


class _Mode(Struct, frozen=True):
    """The mode in the response to ``GET /mode``."""

    mode: str = ""


class _Check(Struct, frozen=True):
    """The response to a validation: Confluent's registry returns messages, Apicurio's a reason."""

    is_compatible: bool
    messages: Sequence[str] | None = None
    reason: str | None = None


class _Named(Struct, frozen=True):
    """The attributes of an Avro schema that make its name."""

    name: str = ""
    namespace: str = ""


def record_name(source: subjects.SchemaSource) -> str:
    """Return the full name of an Avro schema; ``""`` if it has no name, or the schema is not Avro."""
    if source.kind != AVRO:
        return ""
    try:
        found = json_as(source.text, _Named)
    except ValueError:
        return ""
    return found.name if "." in found.name or not found.namespace else f"{found.namespace}.{found.name}"


class RegistryLost(errors.BrokerError):
    """The registry is unreachable, or another server is at its address. It is not an `Unreachable`, which would mean
    that the connection to the brokers is lost.
    """


# -- the registry of a link --------------------------------------------------------------------------------------------


class _Registry:
    """The schema registry of a link, with a cache of versions and texts."""

    def __init__(self, settings: HttpSettings) -> None:
        self.settings = settings
        self.is_apicurio = CCOMPAT in f"{settings.path}/"
        """Whether the registry is Apicurio's: it answers NONE for a subject without its own level, and takes NONE as
        the removal of a level."""
        self._rest = RestClient(settings, SERVICE)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._versions: dict[tuple[str, int], tuple[subjects.SchemaVersion, float]] = {}
        self._texts: OrderedDict[tuple[str, int], subjects.SchemaSource] = OrderedDict()
        self._size = 0

    async def exchange(self, method: str, path: str, body: object = None, *, is_change: bool = False) -> Answer:
        """Send a request once and return the response. is_change: whether it is a change, whose outcome may be unknown.

        Raises:
            RegistryLost: the registry can't be reached, or a read got no usable response.
            OutcomeUnknown: a change was sent, and no usable response came.
        """
        data = None if body is None else json_text(body).encode()
        seconds = CHANGE_SECONDS if method != "GET" else None
        try:
            async with self._slots:
                return await self._rest.exchange(method, quote(self.settings.path) + path, data, seconds=seconds)
        except RestFailed as problem:
            if is_change and problem.was_sent:
                why = "It may have been applied: look at the subject before you repeat it."
                raise errors.OutcomeUnknown.of(str(problem), why, name="OUTCOME_UNKNOWN") from None
            remedy = "See that it runs; its address is in the context, [contexts.….schemas]. kac doctor tries it."
            raise RegistryLost.of(f"{problem} ({self.settings})", remedy, name="UNREACHABLE") from None

    async def find(self, path: str, form: type[T]) -> T | None:
        """Send a GET and return the decoded response; None if the registry answers that the path does not exist or is
        not supported. Raises AdminError.
        """
        answer = await self.exchange("GET", path)
        return None if answer.status in (404, 405, 501) else self.decoded(answer, form)

    async def read(self, path: str, form: type[T]) -> T:
        """Send a GET and return the decoded response. Raises AdminError."""
        return self.decoded(await self.exchange("GET", path), form)

    def decoded(self, answer: Answer, form: type[T]) -> T:
        """Decode a response. Raises BrokerError if the registry refused the request, RegistryLost if the response has
        another form.
        """
        if not answer.is_ok:
            raise errors.BrokerError(failure_of(answer))
        try:
            return json_as(answer.body, form)
        except ValueError:
            raise RegistryLost.of(
                f"{self.settings} is no schema registry: its answer has another form",
                "Check url of the context's schemas: Apicurio's ends with /apis/ccompat/v7.",
                name="BAD_ANSWER",
            ) from None

    async def version(self, subject: str, number: int) -> subjects.SchemaVersion:
        """Return a version of a subject, which may be deleted; from the cache if possible. If the registry does not
        return a deleted version, the result has only its number.

        Raises:
            AdminError: the registry refuses, or is lost.
        """
        known = self._versions.get((subject, number))
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        found = await self.find(_version(subject, number, "?deleted=true"), _Version)
        if found is None:  # Apicurio 2 hides the versions of a subject that is deleted as a whole
            return subjects.SchemaVersion(number)
        source = found.source
        version = subjects.SchemaVersion(number, found.id, source.kind, record_name(source), source.references)
        self._versions[subject, number] = (version, time.monotonic() + KEPT_SECONDS)
        self._keep_text((subject, number), source)
        return version

    async def text(self, subject: str, number: int) -> subjects.SchemaSource:
        """Return the text of a version, which may be deleted; from the cache if possible. Raises AdminError."""
        source = self._texts.get((subject, number))
        if source is None:
            source = (await self.read(_version(subject, number, "?deleted=true"), _Version)).source
            self._keep_text((subject, number), source)
        return source

    def forget(self, subject: str, but: Iterable[int] = ()) -> None:
        """Drop the versions of a subject from the cache, except the numbers in `but`."""
        kept = set(but)
        for key in [key for key in self._versions if key[0] == subject and key[1] not in kept]:
            del self._versions[key]
            self._drop_text(key)

    def _keep_text(self, key: tuple[str, int], source: subjects.SchemaSource) -> None:
        self._drop_text(key)
        self._texts[key] = source
        self._size += len(source.text)
        while self._size > MOST_TEXTS and len(self._texts) > 1:
            self._drop_text(next(iter(self._texts)))

    def _drop_text(self, key: tuple[str, int]) -> None:
        dropped = self._texts.pop(key, None)
        self._size -= len(dropped.text) if dropped is not None else 0

    async def own_level(self, subject: str) -> str | None:
        """Return a subject's own compatibility level, None if the subject inherits the default; for the subject
        ``""`` the default level, None if the registry has none. Raises AdminError.
        """
        found = await self.find(f"/config{_below(subject)}", _Level)
        if found is None or (subject and self.is_apicurio and found.compatibility == subjects.NONE):
            return None
        return found.compatibility[:60] or None

    async def own_mode(self, subject: str, default: str | None = None) -> str | None:
        """Return a subject's own mode, None if the subject inherits the default; for the subject ``""`` the default
        mode. None if the registry has no modes. Raises AdminError.

        Args:
            default: the default mode, by which a mode that Apicurio returns is recognized as inherited; None if
                unknown.
        """
        found = await self.find(f"/mode{_below(subject)}", _Mode)
        mode = None if found is None else found.mode[:60] or None
        if subject and mode is not None and self.is_apicurio:
            # Apicurio (3.3) returns the mode of the default for a subject without a mode of its own.
            default = default or await self.own_mode("")
            return None if mode == default else mode
        return mode


def _subject(name: str, below: str = "") -> str:
    return f"/subjects/{quote(name, safe='')}{below}"


def _version(name: str, number: int, below: str = "") -> str:
    return _subject(name, f"/versions/{number}{below}")


def _below(subject: str) -> str:
    return f"/{quote(subject, safe='')}" if subject else ""


_HINTS = {
    401: "Check the login of the context's schemas.",
    403: "The login has no right to it.",
    404: "Refresh: it may be gone, or the registry does not have this.",
    405: "The registry does not have this.",
    409: "Look at the differences: describe schema SUBJECT. Another compatibility level would accept it.",
    422: "Correct what the registry names.",
}


def failure_of(answer: Answer) -> Failure:
    """Return the failure for an error response of the registry, with a remedy for its status."""
    return answer.refusal("the registry", _HINTS, "The registry's log says more.")


_registries: WeakKeyDictionary[Link, _Registry] = WeakKeyDictionary()


def _registry_of(link: Link) -> _Registry:
    """Return the registry of a link. Raises BrokerError if the settings have none."""
    settings = link.settings.schemas
    if settings is None:
        raise errors.BrokerError.of(
            "the context has no schema registry",
            "Add its address to the context, [contexts.NAME.schemas] url.",
            name="NO_REGISTRY",
        )
    if link not in _registries:
        _registries[link] = _Registry(settings)
    return _registries[link]


# -- reading -----------------------------------------------------------------------------------------------------------


async def describe_schemas(link: Link, some: Iterable[str] | None = None) -> subjects.SchemaListing:
    """Return the registry's subjects with their configs; empty if the settings have no registry. A subject that the
    registry refuses to describe has a failure. Raises AdminError.

    Args:
        some: the names of the subjects to describe; None for all.
    """
    if link.settings.schemas is None:
        return subjects.SchemaListing()
    registry = _registry_of(link)
    try:
        async with asyncio.timeout(ALL_SECONDS):
            return await _described(registry, some)
    except TimeoutError:
        raise RegistryLost.of(
            f"the registry did not describe its subjects within {ALL_SECONDS:g} s ({registry.settings})",
            "Look at its load; kac reads it again.",
            name="TIMED_OUT",
        ) from None


async def _described(registry: _Registry, some: Iterable[str] | None) -> subjects.SchemaListing:
    # Ask for deleted ones too: otherwise Apicurio leaves out a subject whose newest version alone is deleted.
    names = dict.fromkeys(await registry.read("/subjects?deleted=true", list[str]))
    if some is not None:
        names = {name: None for name in dict.fromkeys(some) if name in names}
    if len(names) > MOST_SUBJECTS:
        what = f"the registry has {len(names):,} subjects: kac reads at most {MOST_SUBJECTS:,}"
        raise RegistryLost.of(what, "Its API shows them.", name="TOO_MANY")
    level, mode = await asyncio.gather(registry.own_level(""), registry.own_mode(""))
    default = _Defaults(level, mode)
    found: dict[str, subjects.Subject] = {}
    configs = {subjects.subject_resource(""): default.set_of("", level, mode)}
    failures: dict[str, Failure] = {}

    async def describe(name: str) -> None:
        try:
            subject = await _subject_of(registry, name)
            if not subject.is_deleted:
                configs[subjects.subject_resource(name)] = await _configs_of(registry, name, default)
            if subject.versions:
                found[name] = subject
        except RegistryLost:
            raise
        except errors.BrokerError as error:
            failures[name] = error.failure

    await _all(describe(name) for name in names)
    await _describe_versions(registry, found, failures)
    return subjects.SchemaListing(dict(sorted(found.items())), configs, failures)


async def _all(reads: Iterable[Any]) -> None:
    """Await all reads. If one of them fails, cancel the others and raise its AdminError."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in reads:
                group.create_task(each)
    except* errors.AdminError as several:
        failed: BaseException = several
        while isinstance(failed, BaseExceptionGroup):
            failed = failed.exceptions[0]
        raise failed from None


async def _subject_of(registry: _Registry, name: str) -> subjects.Subject:
    """Read a subject with the numbers of its versions."""
    path = _subject(name, "/versions")
    every = set(await registry.find(f"{path}?deleted=true", _NUMBERS) or ())
    live = set(await registry.find(path, _NUMBERS) or ())
    registry.forget(name, every | live)
    numbers = sorted(every | live)
    return subjects.Subject(
        name, tuple(subjects.SchemaVersion(number, is_deleted=number not in live) for number in numbers)
    )


async def _describe_versions(
    registry: _Registry, found: dict[str, subjects.Subject], failures: dict[str, Failure]
) -> None:
    """Read the versions of all subjects into `found` (name -> subject), the newest versions first, at most
    `MOST_VERSIONS`. Put failures into `failures`, by subject.
    """
    wanted = [
        (place, subject.name, version)
        for subject in found.values()
        for place, version in enumerate(reversed(subject.versions))
    ]
    wanted.sort(key=lambda each: each[0])
    known: dict[tuple[str, int], subjects.SchemaVersion] = {}

    async def describe(name: str, version: subjects.SchemaVersion) -> None:
        try:
            read = await registry.version(name, version.number)
            known[name, version.number] = replace(read, is_deleted=version.is_deleted)
        except RegistryLost:
            raise
        except errors.BrokerError as error:
            failures.setdefault(name, error.failure)

    await _all(describe(name, version) for _, name, version in wanted[:MOST_VERSIONS])
    for name, subject in found.items():
        found[name] = replace(
            subject, versions=tuple(known.get((name, each.number), each) for each in subject.versions)
        )


class _Defaults(Struct, frozen=True):
    """The default compatibility level and mode of all subjects; None for each that the registry does not have."""

    level: str | None
    mode: str | None

    def set_of(self, subject: str, level: str | None, mode: str | None) -> config.ConfigSet:
        """Return the configs of a subject. level, mode: the subject's own values; None if it inherits the default."""
        values = ((subjects.COMPATIBILITY, level, self.level), (subjects.MODE, mode, self.mode))
        entries = (_entry(subject, key, own, inherited) for key, own, inherited in values)
        return config.ConfigSet(tuple(each for each in entries if each is not None))


def _entry(subject: str, key: str, own: str | None, inherited: str | None) -> config.ConfigEntry | None:
    of_default = config.own_source(subjects.subject_resource(""))
    synonyms = []
    if own is not None and subject:
        synonyms.append(config.Synonym(key, own, config.own_source(subjects.subject_resource(subject))))
    if inherited is not None:
        synonyms.append(config.Synonym(key, inherited, of_default))
    if not synonyms:
        if key == subjects.MODE:
            return None  # the registry has no modes
        return config.ConfigEntry(key, subjects.NONE, DEFAULT_CONFIG, type=_TEXT_TYPE)
    return config.ConfigEntry(key, synonyms[0].value, synonyms[0].source, type=_TEXT_TYPE, synonyms=tuple(synonyms))


async def _configs_of(registry: _Registry, subject: str, default: _Defaults) -> config.ConfigSet:
    level = await registry.own_level(subject)
    mode = None if default.mode is None else await registry.own_mode(subject, default.mode)
    return default.set_of(subject, level, mode)


async def describe_schema_configs(link: Link, resources: Iterable[config.ConfigResource]) -> config.ConfigListing:
    """Return the configs of subjects. A subject whose configs can't be read has a failure."""
    sets: dict[config.ConfigResource, config.ConfigSet] = {}
    failures: dict[config.ConfigResource, Failure] = {}
    asked = tuple(resources)
    try:
        registry = _registry_of(link)
        default = _Defaults(await registry.own_level(""), await registry.own_mode(""))
    except errors.AdminError as error:
        return config.ConfigListing({}, dict.fromkeys(asked, error.failure))

    async def describe(resource: config.ConfigResource) -> None:
        try:
            if resource.is_default:
                sets[resource] = default.set_of("", default.level, default.mode)
            else:
                sets[resource] = await _configs_of(registry, resource.name, default)
        except errors.AdminError as error:
            failures[resource] = error.failure

    await asyncio.gather(*map(describe, asked))
    return config.ConfigListing(sets, failures)


async def read_texts(link: Link, versions: Iterable[tuple[str, int]]) -> subjects.SchemaTexts:
    """Return the texts of versions. A version whose text can't be read has a failure. versions: pairs of a subject and
    a version number.
    """
    texts: dict[tuple[str, int], subjects.SchemaSource] = {}
    failures: dict[tuple[str, int], Failure] = {}

    async def read(subject: str, number: int) -> None:
        try:
            texts[subject, number] = await _registry_of(link).text(subject, number)
        except errors.AdminError as error:
            failures[subject, number] = error.failure

    await asyncio.gather(*(read(*each) for each in dict.fromkeys(versions)))
    return subjects.SchemaTexts(texts, failures)


# -- changing ----------------------------------------------------------------------------------------------------------


_Sent = tuple[str, str, object]
"""Method, path and body of a request."""
R = TypeVar("R", bound=Any)
X = TypeVar("X", bound=Any)


class _SchemaSender(delivery.ServiceSender[R, X]):
    """The base class of changes to subjects."""

    has_check = True

    async def require(self) -> None:
        """Raise ReadOnly if the client is read-only and this is a change, or BrokerError if the settings have no
        registry.
        """
        await super().require()
        _registry_of(self.link)

    async def send_one(self, target: X) -> Outcome | Failure | None:
        registry = _registry_of(self.link)
        if self.validate_only:
            return await self.checked(registry, target)
        for method, path, body in await self.requests(registry, target):
            answer = await registry.exchange(method, path, body, is_change=True)
            if not answer.is_ok:
                return failure_of(answer)
        return None

    async def checked(self, registry: _Registry, target: X) -> Outcome:
        """Let the registry validate the change of a target, and return the outcome. Raises AdminError."""
        raise NotImplementedError

    async def requests(self, registry: _Registry, target: X) -> Iterable[_Sent]:
        """Return the requests of the change of a target, each as method, path and body. Raises AdminError."""
        raise NotImplementedError


class _Altering(_SchemaSender[subjects.AlterSchemaConfigs, config.ConfigResource]):
    """Changes the compatibility levels and modes of subjects."""

    of = "ops"

    async def requests(self, _registry: _Registry, target: config.ConfigResource) -> Iterable[_Sent]:
        found: list[tuple[str, str, object]] = []
        for op in self.request.ops[target]:
            path = f"/{'mode' if op.key == subjects.MODE else 'config'}{_below(target.name)}"
            found.append(("DELETE", path, None) if op.op == DELETE else ("PUT", path, {op.key: op.value}))
        return found

    async def checked(self, registry: _Registry, target: config.ConfigResource) -> Outcome:
        default = await registry.own_level("")
        for op in self.request.ops[target]:
            if op.key == subjects.MODE and await registry.own_mode("") is None:
                return delivery.refused(target, "UNSUPPORTED", "the registry has no modes", "Newer ones do.")
            turns_off = op.key == subjects.COMPATIBILITY and op.op != DELETE and op.value == subjects.NONE
            if turns_off and target.name and registry.is_apicurio and default not in (None, subjects.NONE):
                text = f"Apicurio takes NONE as the removal of a subject's own level: the default, {default}, counts"
                return delivery.refused(target, "NOT_POSSIBLE", text, "Set another level, or change the default.")
        return Outcome(target, Status.VALID)

    async def describe_again(self, targets: Sequence[config.ConfigResource]) -> dict[config.ConfigResource, Status]:
        registry = _registry_of(self.link)
        return {target: await self._status(registry, target) for target in targets}

    async def _status(self, registry: _Registry, target: config.ConfigResource) -> Status:
        for op in self.request.ops[target]:
            read = registry.own_mode if op.key == subjects.MODE else registry.own_level
            if not _is_as(op, await read(target.name), bool(target.name), registry.is_apicurio):
                return Status.NOT_APPLIED
        return Status.APPLIED


def _is_as(op: ConfigOp, now: str | None, of_subject: bool, is_apicurio: bool) -> bool:
    """Return whether the present value of a config key is the one that the change sets; for a deletion, whether the
    value is inherited.

    Args:
        now: the subject's own value, or the default's; None if there is none.
        of_subject: whether it is a subject's config, not the default.
        is_apicurio: whether the registry is Apicurio's.
    """
    if op.op == DELETE:
        return now is None or not of_subject  # without its own value, the registry's default counts
    if is_apicurio and of_subject and op.value == subjects.NONE:
        return now is None
    return now == op.value


class _Registering(_SchemaSender[subjects.RegisterSchema, subjects.SubjectTarget]):
    """Registers a schema as the newest version of a subject. The registry adds no version if the subject has the schema
    already.
    """

    def targets(self) -> tuple[subjects.SubjectTarget]:
        return (subjects.SubjectTarget(self.request.name, self.request.undeletes),)

    async def _body(self, registry: _Registry) -> Mapping[str, object]:
        schema = self.request.schema or await registry.text(self.request.name, self.request.undeletes)
        body: dict[str, object] = {"schema": schema.text}
        if schema.kind != AVRO:
            body["schemaType"] = schema.kind
        if schema.references:
            body["references"] = [each._asdict() for each in schema.references]
        return body

    async def requests(self, registry: _Registry, _target: subjects.SubjectTarget) -> Iterable[_Sent]:
        return (("POST", _subject(self.request.name, "/versions"), await self._body(registry)),)

    async def checked(self, registry: _Registry, target: subjects.SubjectTarget) -> Outcome:
        for each in () if self.request.schema is None else self.request.schema.references:
            if await registry.find(_version(each.subject, each.version), _Version) is None:
                what = f"{each.name} refers to {each.subject} version {each.version}, which the registry does not have"
                return delivery.refused(target, "REFERENCE_MISSING", what, "Register it first.")
        level = await registry.own_level(self.request.name) or await registry.own_level("") or ""
        against = "" if level.endswith(subjects.TRANSITIVE) else "/latest"
        path = f"/compatibility{_subject(self.request.name, f'/versions{against}')}?verbose=true"
        answer = await registry.exchange("POST", path, await self._body(registry))
        if answer.status == 404:
            return Outcome(target, Status.VALID)  # the subject has no version to compare with
        check = registry.decoded(answer, _Check)
        if check.is_compatible:
            return Outcome(target, Status.VALID)
        said = "; ".join((check.messages or ())[:10]) or check.reason or "the registry gives no reason"
        text = "".join(each for each in said if each.isprintable())[:2000]
        return delivery.refused(target, "INCOMPATIBLE", f"not {level or 'compatible'}: {text}", _HINTS[409])

    async def describe_again(self, targets: Sequence[subjects.SubjectTarget]) -> dict[subjects.SubjectTarget, Status]:
        registry = _registry_of(self.link)
        answer = await registry.exchange("POST", _subject(self.request.name), await self._body(registry))
        if answer.status not in (200, 404):
            raise errors.BrokerError(failure_of(answer))
        return dict.fromkeys(targets, delivery.applied_if(answer.status == 200))


class _Deleting(_SchemaSender[subjects.DeleteSchema, subjects.SubjectTarget]):
    """Deletes a subject or one of its versions softly: it is no longer listed, but the registry keeps the schema."""

    def targets(self) -> tuple[subjects.SubjectTarget]:
        return (subjects.SubjectTarget(self.request.name, self.request.version),)

    async def requests(self, registry: _Registry, _target: subjects.SubjectTarget) -> Iterable[_Sent]:
        name, version = self.request.name, self.request.version
        if version is not None:
            return (("DELETE", _version(name, version), None),)
        every = await registry.find(_subject(name, "/versions?deleted=true"), _NUMBERS) or []
        live = await self._live(registry)
        if registry.is_apicurio and every and max(every) not in live:
            # Apicurio counts a subject as deleted once its newest version is, and then refuses to delete the whole
            # subject: delete the other versions one by one.
            return [("DELETE", _version(name, number), None) for number in live]
        return (("DELETE", _subject(name), None),)

    async def _live(self, registry: _Registry) -> list[int]:
        return await registry.find(_subject(self.request.name, "/versions"), _NUMBERS) or []

    async def checked(self, registry: _Registry, target: subjects.SubjectTarget) -> Outcome:
        live = await self._live(registry)
        version = self.request.version
        if not live or (version is not None and version not in live):
            return delivery.refused(target, "HTTP_404", f"there is no {target.title}", "Refresh: it may be gone.")
        for number in live if version is None else (version,):
            users = await registry.find(_version(self.request.name, number, "/referencedby"), _NUMBERS) or []
            if users:
                ids = ", ".join(map(str, users[:10]))
                text = f"version {number} is referred to by the schemas with the ids {ids}"
                return delivery.refused(target, "IN_USE", text, "Delete those first.")
        return Outcome(target, Status.VALID)

    async def describe_again(self, targets: Sequence[subjects.SubjectTarget]) -> dict[subjects.SubjectTarget, Status]:
        live = await self._live(_registry_of(self.link))
        version = self.request.version
        return dict.fromkeys(targets, delivery.applied_if(version not in live if version is not None else not live))


SENDERS: delivery.Senders = {
    subjects.AlterSchemaConfigs: _Altering,
    subjects.RegisterSchema: _Registering,
    subjects.DeleteSchema: _Deleting,
}
