"""A client that gets schemas by their ids from a registry with Confluent's API (Confluent's own, Karapace, Apicurio's
ccompat).

Requests run on the client's event loop (`console.admin.rest`), and the screen never waits for them. A schema id never
gets another schema, so schemas are cached up to a limit, and parsed once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from console.admin.decoding_process import decoding_process
from console.admin.link import Link
from console.admin.rest import RestClient, RestFailed, Service
from console.admin.settings import HttpSettings
from console.model import schemas
from console.model.foreign_json import json_as
from console.model.record_decoding import OwnDecoder, RecordDecoder
from console.model.record_masks import NO_ALIASES, MaskPath

ALL_SECONDS = 20.0
"""Maximum seconds to get and compile one schema with its references."""
SERVICE = Service("the registry", "schema registry", "application/vnd.schemaregistry.v1+json, application/json")
MOST_REFERENCES, DEEPEST_REFERENCE = 100, 20
MOST_TEXT = 8 << 20
"""Maximum number of characters of a schema with its references."""
MOST_KEPT, MOST_KEPT_BYTES = 1_000, 64 << 20
"""Maximum number of schemas in the cache, and their approximate maximum size in bytes."""
WEIGHT = 8
"""Approximate number of bytes in memory for each character of a schema's text, by which the cache is limited."""
FAILED_SECONDS = 30.0
"""Seconds after which a schema that could not be got is requested again."""
AT_ONCE = 4
"""Number of concurrent requests."""

CCOMPAT, _APICURIO = "/apis/ccompat/", "/apis/registry/v2"
"""The path of Apicurio's API that is compatible with Confluent's, and the path of Apicurio's own API, which releases 2
and 3 have."""
_ID_NAMES = {schemas.GLOBAL_ID: "globalId", schemas.CONTENT_ID: "contentId"}

T = TypeVar("T")

log = logging.getLogger(__name__)


class _Reference(Struct, frozen=True):
    """A reference from a schema to a version of a subject, under the name that the schema uses."""

    name: str
    subject: str
    version: int | str

    @property
    def path(self) -> str:
        """The URL path of the referenced schema in Confluent's API."""
        return f"/subjects/{quote(self.subject, safe='')}/versions/{quote(str(self.version), safe='')}"


class _ApicuriosReference(_Reference, frozen=True):
    """A reference in Apicurio's own API."""

    subject: str = field(name="artifactId")
    group: str | None = field(name="groupId", default=None)

    @property
    def path(self) -> str:
        """The URL path of the referenced schema in Apicurio's own API."""
        group, artifact, version = (
            quote(each, safe="") for each in (self.group or "default", self.subject, str(self.version))
        )
        return f"/groups/{group}/artifacts/{artifact}/versions/{version}"


class _Answer(Struct, frozen=True):
    """A schema in the response to `GET /schemas/ids/ID`."""

    schema: str
    schemaType: str | None = None  # noqa: N815 the API's own name; Avro if it is missing
    references: Sequence[_Reference] | None = None
    id: int = 0
    subject: str = ""
    version: int = 0


class _Subject(Struct, frozen=True):
    subject: str
    version: int


class _Artifact(Struct, frozen=True):
    id: str


class _Artifacts(Struct, frozen=True):
    """The artifacts that have a schema, in Apicurio's own API. An artifact's name is the subject in Confluent's API."""

    artifacts: list[_Artifact] = field(default_factory=list)


class Missing(Struct, frozen=True):
    """The reason why a schema could not be got."""

    why: str
    until: float
    """The time, on the monotonic clock, from which on the schema is requested again."""
    may_come: bool = False
    """Whether the registry may have the schema. False if the registry answered that it lacks it."""


class _NoAnswer(schemas.NotDecoded):
    """The registry did not answer whether it has a schema."""


class SchemaRegistry:
    """A client of one registry with a cache. Call `look_up` on the client's event loop; any thread may call `known`."""

    def __init__(self, settings: HttpSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._kept: OrderedDict[schemas.SchemaKey, schemas.Schema] = OrderedDict()
        self._weight = 0
        self._newest: dict[schemas.SchemaKey, float] = {}
        """Subject -> the time at which its newest schema is requested again."""
        self._missing: dict[schemas.SchemaKey, Missing] = {}
        self._asked: dict[schemas.SchemaKey, asyncio.Future[None]] = {}
        self._slots: asyncio.Semaphore | None = None
        self._rest = RestClient(settings, SERVICE)

    def known(self, key: schemas.SchemaKey) -> schemas.Schema | Missing | None:
        """Return the schema from the cache, or the reason why it could not be got. None if it was not requested yet, or
        may be requested again.
        """
        found = self._kept.get(key)
        if found is not None and (not key.subject or self._clock() < self._newest[key]):
            return found
        missing = self._missing.get(key)
        return missing if missing is not None and self._clock() < missing.until else None

    async def look_up(self, keys: Iterable[schemas.SchemaKey]) -> None:
        """Request the schemas that `known` returns None for. Callers of the same schema share one request. A failure is
        cached as `Missing`, and not raised.
        """
        wanted = [key for key in keys if self.known(key) is None]
        for key in wanted:
            if key not in self._asked:
                self._asked[key] = asyncio.ensure_future(self._ask(key))
        if wanted:
            # Wait without cancelling the requests with this caller: another one may wait for the same schema.
            await asyncio.wait([self._asked[key] for key in wanted])

    async def kinds(self) -> list[str]:
        """Return the kinds of schemas that the registry supports, such as AVRO. Raises NotDecoded if it is unreachable
        or refuses.
        """
        return await self._answer("/schemas/types", list[str])

    async def _ask(self, key: schemas.SchemaKey) -> None:
        try:
            async with asyncio.timeout(ALL_SECONDS):
                self._keep(key, await self._schema(key))
        except TimeoutError:
            self._fail(key, f"no answer within {ALL_SECONDS:g} s", may_come=True)
        except schemas.NotDecoded as problem:
            self._fail(key, str(problem), may_come=isinstance(problem, _NoAnswer))
        except Exception as error:  # keep the failure: a task that fails unseen would be started again and again
            log.exception("schema %s", key)
            self._fail(key, f"{type(error).__name__} {error}"[:200], may_come=True)
        finally:
            del self._asked[key]

    def _keep(self, key: schemas.SchemaKey, schema: schemas.Schema) -> None:
        self._missing.pop(key, None)
        if key in self._kept:
            self._weight -= self._kept.pop(key).weight
        self._kept[key] = schema
        self._weight += schema.weight
        if key.subject:
            self._newest[key] = self._clock() + FAILED_SECONDS
        while len(self._kept) > MOST_KEPT or (self._weight > MOST_KEPT_BYTES and len(self._kept) > 1):
            gone, dropped = self._kept.popitem(last=False)
            self._weight -= dropped.weight
            self._newest.pop(gone, None)

    def _fail(self, key: schemas.SchemaKey, why: str, *, may_come: bool) -> None:
        while len(self._missing) >= MOST_KEPT:
            del self._missing[next(iter(self._missing))]
        self._missing[key] = Missing(why, self._clock() + FAILED_SECONDS, may_come)

    async def _schema(self, key: schemas.SchemaKey) -> schemas.Schema:
        if key.of in (schemas.GLUE, schemas.ARTIFACT, schemas.FINGERPRINT):
            raise schemas.NotDecoded("a schema that is named so is not asked for: kac asks for ids and GUIDs alone")
        if key.of:
            return await self._by_apicurios_id(key)
        where = f"/schemas/guids/{schemas.dashed(key.guid)}" if key.guid else f"/schemas/ids/{key.id}"
        if key.subject:
            where = f"/subjects/{quote(key.subject, safe='')}/versions/latest"
        answer = await self._answer(where, _Answer)
        if key.subject and not answer.id:
            raise schemas.NotDecoded(f"{self._settings} is no schema registry: its answer has another form")
        references = await _References(partial(self._answer, form=_Answer)).of(answer)
        text = schemas.SchemaText(
            schemas.kind_of(answer.schema, answer.schemaType), answer.schema, references=references
        )
        named = [_Subject(answer.subject, answer.version)] if key.subject else await self._subjects(key)
        return await _made(schemas.SchemaKey(answer.id) if key.subject else key, text, named)

    async def _subjects(self, key: schemas.SchemaKey) -> list[_Subject]:
        """Return the subjects that have a schema, and its version in each. Empty for a schema that is identified by its
        GUID, or if the registry does not list subjects.
        """
        if key.guid:
            return []
        try:
            return await self._answer(f"/schemas/ids/{key.id}/versions", list[_Subject])
        except schemas.NotDecoded:
            return []

    async def _by_apicurios_id(self, key: schemas.SchemaKey) -> schemas.Schema:
        """Return a schema by an id of Apicurio's own API; in Confluent's API, the same id may mean another schema.

        Raises:
            NotDecoded: the registry is not Apicurio's, or lacks the schema.
        """
        before, is_apicurio, _ = self._settings.path.partition(CCOMPAT)
        if not is_apicurio:
            raise schemas.NotDecoded(f"this registry has no ids of Apicurio's: its url would have {CCOMPAT}")
        own = f"{before}{_APICURIO}"
        spaces = (schemas.GLOBAL_ID, schemas.CONTENT_ID) if key.of == schemas.APICURIO_ID else (key.of,)
        texts = await asyncio.gather(*(self._by_own_api(key.id, of, own) for of in spaces), return_exceptions=True)
        found = [(of, text) for of, text in zip(spaces, texts, strict=True) if isinstance(text, schemas.SchemaText)]
        for problem in texts if not found else ():
            assert isinstance(problem, BaseException)
            raise problem
        of, text = found[0]
        try:
            search = f"/search/artifacts?{_ID_NAMES[of]}={key.id}&limit={MOST_REFERENCES}"
            artifacts = (await self._answer(search, _Artifacts, own)).artifacts
        except schemas.NotDecoded:
            artifacts = []
        made = await _made(key._replace(of=of), text, [_Subject(each.id, 0) for each in artifacts])
        if len({text for _, text in found}) == 1:
            return made
        return replace(
            made, doubt=f"it may be {schemas.CONTENT_ID} {key.id}, which is another schema: payloads do not say"
        )

    async def _by_own_api(self, number: int, of: str, own: str) -> schemas.SchemaText:
        async def read(path: str) -> _Answer:
            text = _text_of(await self._got(path, own))
            return _Answer(text, references=await self._answer(f"{path}/references", list[_ApicuriosReference], own))

        answer = await read(f"/ids/{_ID_NAMES[of]}s/{number}")
        references = await _References(read).of(answer)
        return schemas.SchemaText(schemas.kind_of(answer.schema, None), answer.schema, references=references)

    async def _answer(self, path: str, form: type[T], api: str | None = None) -> T:
        """Send a GET and return the decoded response. api: the URL path before `path`; None for that of the settings.

        Raises:
            NotDecoded: the request failed, or the response has another form.
        """
        try:
            return json_as(await self._got(path, api), form)
        except ValueError:
            raise schemas.NotDecoded(f"{self._settings} is no schema registry: its answer has another form") from None

    async def _got(self, path: str, api: str | None = None) -> bytes:
        """Send a GET and return the body of the response. Raises NotDecoded if the request failed. api: as in
        `_answer`.
        """
        path = quote(self._settings.path if api is None else api) + path
        self._slots = self._slots or asyncio.Semaphore(AT_ONCE)
        async with self._slots:
            try:
                answer = await self._rest.exchange("GET", path)
            except RestFailed as problem:
                raise _NoAnswer(str(problem)) from None
        if answer.status != 200:
            is_final = answer.status in (404, 422)
            raise (schemas.NotDecoded if is_final else _NoAnswer)(f"the registry answers {answer.status}{answer.said}")
        return answer.body


def registry_decoder(
    mask: tuple[MaskPath, ...], registry: SchemaRegistry, own: Sequence[OwnDecoder] = ()
) -> RecordDecoder:
    """Return a decoder that uses the schemas of a registry. own: decoders that are tried first."""

    def known(key: schemas.SchemaKey) -> schemas.Schema | str | None:
        found = registry.known(key)
        return found.why if isinstance(found, Missing) else found

    return RecordDecoder(mask, known, own)


async def look_up(_link: Link, registry: SchemaRegistry, keys: Iterable[schemas.SchemaKey]) -> None:
    """Look up schemas in a registry on the client's loop; see `SchemaRegistry.look_up`."""
    await registry.look_up(keys)


def decoder_of(schema: schemas.SchemaText) -> Callable[..., bytes]:
    """Return a function of (payload, message indexes, allowance) that decodes payloads of a schema to JSON. Blocks
    while Protobuf's compiler and the decoding process run.

    Raises:
        NotDecoded: the schema is unusable. If a package is missing, the text says what to install.
    """
    match schema.kind:
        case "AVRO":
            from console.wire.avro import missing

            if find_spec("fastavro") is None:
                raise schemas.NotDecoded(missing())
            return decoding_process().decoder(schema)
        case "PROTOBUF":
            from console.admin.protobuf_compiler import MAIN, compiled

            return decoding_process().decoder(schema, compiled(schema), MAIN)
        case "JSON":
            return _as_it_is
        case other:
            raise schemas.NotDecoded(
                f"its schema is {other[:40]}: {schemas.AVRO}, {schemas.PROTOBUF} and {schemas.JSON_SCHEMA} are known"
            )


@lru_cache(maxsize=20)
def encoder_of(schema: schemas.SchemaText) -> Callable[..., bytes]:
    """Return a function that encodes JSON as payloads of a schema, with the arguments of `decoder_of`. Blocks while the
    schema is compiled. Raises NotDecoded if that fails.
    """
    match schema.kind:
        case "AVRO":
            return decoding_process().decoder(schema, encodes=True)
        case "PROTOBUF":
            from console.admin.protobuf_compiler import MAIN, compiled

            return decoding_process().decoder(schema, compiled(schema), MAIN, encodes=True)
        case _:
            return decoder_of(schema)  # JSON payloads need no encoding


def _encoded(schema: schemas.SchemaText, document: bytes) -> bytes:
    return encoder_of(schema)(document, None)


async def _made(key: schemas.SchemaKey, text: schemas.SchemaText, named: Sequence[_Subject]) -> schemas.Schema:
    """Return a schema with its decoder. named: the subjects that have it. Raises NotDecoded if it is unusable."""
    decode = await asyncio.to_thread(decoder_of, text)
    name, aliases = "", NO_ALIASES
    if text.kind == schemas.AVRO:
        from console.wire.avro import names_of

        name, aliases = await asyncio.to_thread(names_of, text)
    subject, version = (named[0].subject, named[0].version) if named else ("", 0)
    subjects = tuple(dict.fromkeys(each.subject for each in named))
    weight, encode = WEIGHT * text.size, partial(_encoded, text)
    return schemas.Schema(key, text.kind, decode, subject, version, weight, subjects, name, aliases, encode=encode)


def _text_of(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise schemas.NotDecoded("the registry answers with what is no text") from None


def _as_it_is(payload: bytes, _indexes: bytes | None, allowance: schemas.Allowance | None = None) -> bytes:
    try:
        json_as(payload, object)
    except ValueError:
        raise schemas.NotDecoded("its schema is of JSON, and it is not JSON") from None
    if allowance is not None:
        allowance.bytes -= len(payload)
    return payload


class _References(Struct):
    """The referenced schemas of a schema. Each is read only once, even if several schemas reference it."""

    read: Callable[[str], Awaitable[_Answer]]
    """Reads the schema at a path."""
    seen: dict[str, schemas.SchemaText] = field(default_factory=dict)
    """Name of a referenced schema -> its text. Each schema comes after those that it references itself."""
    size: int = 0
    open: set[str] = field(default_factory=set)

    async def of(self, answer: _Answer) -> tuple[schemas.SchemaText, ...]:
        """Return all schemas that a schema references, directly or indirectly. Each comes after those that it
        references itself.

        Raises:
            NotDecoded: they are too many, too large, nested too deep, circular, or missing.
        """
        await self._gather(answer, 0)
        return tuple(self.seen.values())

    async def _gather(self, answer: _Answer, depth: int) -> None:
        self.size += len(answer.schema)
        if self.size > MOST_TEXT:
            raise schemas.NotDecoded(f"its schema and what it refers to have more than {MOST_TEXT >> 20} MiB")
        for each in answer.references or ():
            if each.name in self.seen:
                continue
            if each.name in self.open:
                raise schemas.NotDecoded(f"what its schema refers to goes in a circle: {each.name[:100]}")
            if depth >= DEEPEST_REFERENCE or len(self.seen) + len(self.open) >= MOST_REFERENCES:
                raise schemas.NotDecoded(
                    f"its schema refers to more than {MOST_REFERENCES} others, or {DEEPEST_REFERENCE} deep"
                )
            self.open.add(each.name)
            try:
                found = await self.read(each.path)
            except schemas.NotDecoded as problem:
                raise schemas.NotDecoded(f"what its schema refers to, {each.subject[:100]}: {problem}") from None
            await self._gather(found, depth + 1)
            self.open.discard(each.name)
            self.seen[each.name] = schemas.SchemaText(
                schemas.kind_of(found.schema, found.schemaType), found.schema, each.name
            )
