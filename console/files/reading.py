"""Reads files, in kac's form and in those of other tools, into a wanted state.

All errors are reported at once, each with its file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path as FilePath
from typing import Any

from msgspec import ValidationError

from console.files import schema, subjects
from console.files.foreign import DOCUMENT_FORMS, TEXT_FORMS
from console.files.read import Read
from console.files.wanted import HIDDEN, Value, WantedConnector, WantedTopic
from console.files.writing import DEFAULT
from console.lint.acceptance import Acceptance
from console.model import codes, yaml_places
from console.model.acl import CLUSTER_NAME, Acl
from console.model.changes import Target
from console.model.config import ConfigResource, topic_resource
from console.model.entity_types import in_sections
from console.model.java_logs import is_error, without_log_lines
from console.model.numbers import has_number_form
from console.model.quota import QuotaEntity
from console.plan.values import parse_quota
from console.safe_files import read_stdin, read_text, why_unread

SUFFIXES = (".yaml", ".yml")
STDIN = "-"
LARGEST = 128 << 20
"""Maximum size of a file in bytes."""
TEMPLATE = "{{"
NOTHING_TAKEN = (
    "no document was taken, so nothing is compared, changed or pruned",
    "kac export shows what a file looks like; docs/files.md names the other tools' files that are read",
)
RENDER = "it seems to be a template: render it first, as helm template does"
LONGEST_HEAD = 64 << 10
"""Maximum number of characters at the beginning of a file that are used to recognize a form of lines."""


def read_files(names: Iterable[str], *, described: bool = False) -> Read:
    """Read files into one wanted state.

    Args:
        names: files, directories (their files of `SUFFIXES`, sorted by name, not recursively) and ``-`` for standard
            input.
        described: whether to accept files without a wanted state if resources of a Kubernetes operator in them describe
            a cluster.

    Returns:
        The combined wanted state, with the file and line of each entity and key.

    Raises:
        FileProblems: all errors in all files: unreadable files, wrong YAML, values that do not match the schema,
            duplicate entities. Also if no document was read, which must not count as an empty wanted state.
    """
    read, problems, source = Read(), list[yaml_places.FileProblem](), ""
    for source, text, folder in _texts(names, problems):
        try:
            problems += take_text(text, source, read, folder)
        except yaml_places.FileProblem as problem:
            problems.append(problem)
    if not problems and not read.is_taken and not (described and read.described):
        problems += [*read.notes, yaml_places.FileProblem(source, None, *NOTHING_TAKEN)]
    if problems:
        raise yaml_places.FileProblems(problems)
    return read


def _texts(names: Iterable[str], problems: list[yaml_places.FileProblem]) -> Iterator[tuple[str, str, FilePath | None]]:
    """Yield the name, the text and the folder of each file; the folder is None for standard input. Files that can't be
    read, and folders without files, are added to `problems`.
    """
    for name in names:
        if name == STDIN:
            try:
                yield "standard input", read_stdin(LARGEST), None
            except ValueError as error:
                problems.append(yaml_places.FileProblem("standard input", None, f"it can't be read: {error}"))
            continue
        path = FilePath(name)
        try:
            found = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES) if path.is_dir() else [path]
        except OSError as error:
            problems.append(yaml_places.FileProblem(name, None, f"it can't be read: {why_unread(error)}"))
            continue
        if not found:
            problems.append(
                yaml_places.FileProblem(name, None, "there is no file in it", f"its files end in {', '.join(SUFFIXES)}")
            )
        for each in found:
            try:
                yield str(each), read_text(each, LARGEST), each.parent
            except (OSError, ValueError) as error:
                problems.append(yaml_places.FileProblem(str(each), None, f"it can't be read: {why_unread(error)}"))


def take_text(text: str, source: str, read: Read, folder: FilePath | None = None) -> list[yaml_places.FileProblem]:
    """Add the wanted state of a file, in any form, to `read`, and return the problems of the file. Raises FileProblem
    if no part of the file can be read.

    Args:
        source: the file's name, for messages.
        folder: the folder of the file; only files in it may be named in the file. None for standard input, which may
            name no files.
    """
    text = without_log_lines(text)
    beginning = text[:LONGEST_HEAD].lstrip()
    if is_error(beginning.partition("\n")[0]):
        line = text.count("\n", 0, len(text) - len(text.lstrip())) + 1
        what = "a tool says here that it failed, so what follows may be a part of the whole"
        raise yaml_places.FileProblem(source, line, what, "mend that, and let it write the file again")
    of_text = next((form for form in TEXT_FORMS if form.owns(beginning)), None)
    if of_text is not None:
        return list(of_text.take(text, source, read))
    try:
        documents = yaml_places.read_documents(text, source) or (yaml_places.Document(source, None),)
    except yaml_places.FileProblem as problem:
        if TEMPLATE not in text or problem.hint:
            raise
        raise yaml_places.FileProblem(source, problem.line, problem.message, RENDER) from None
    forms = [next((form for form in DOCUMENT_FORMS if form.owns(each.data)), None) for each in documents]
    if not any(forms):
        if len(documents) > 1:
            return [yaml_places.FileProblem(source, documents[1].begins, yaml_places.SECOND_DOCUMENT)]
        return take(documents[0], read, folder)
    problems = list[yaml_places.FileProblem]()
    for document, form in zip(documents, forms, strict=True):
        if form is not None:
            problems += form.take(document, read)
        elif document.data is not None:
            known = ", ".join(dict.fromkeys(each.name for each in DOCUMENT_FORMS))
            hint = f"the others of the file are: {known} are known. Keep it in a file of its own"
            problems.append(
                yaml_places.FileProblem(source, document.line(()), "this document is in no form of another tool", hint)
            )
    return problems


def take(document: yaml_places.Document, read: Read, folder: FilePath | None = None) -> list[yaml_places.FileProblem]:
    """Add the wanted state of a document in kac's own form to `read`.

    Args:
        folder: the folder of the document's file; only files in it may be named in the document. None for standard
            input, which may name no files.

    Returns:
        The problems of the document, each with its line. A document that does not match the schema adds nothing; from
        other documents all valid parts are added.
    """
    if document.data is None:
        return [
            yaml_places.FileProblem(document.source, 1, "the file is empty", "kac export shows what one looks like")
        ]
    try:
        part = schema.checked(document)
    except ValidationError:
        return schema.wrong_in(document)
    if not any(getattr(part, name) for name in schema.FilePart.__struct_fields__ if name != "version"):
        of_entities = (type_.section for type_ in in_sections())
        sections = ", ".join(("topics", *of_entities, "quotas", "acls", "connectors", "schemas"))
        read.notes.append(
            yaml_places.FileProblem(document.source, 1, "nothing is listed in it", f"list something of {sections}")
        )
    return list(_entities(part, document, read, subjects.Neighbours(folder)))


# -- entities ------------------------------------------------------------------------------------------------------


def _entities(
    part: schema.FilePart, document: yaml_places.Document, read: Read, files: subjects.Neighbours
) -> Iterator[yaml_places.FileProblem]:
    for name, topic in part.topics.items():
        line = document.line(("topics", name))
        resource = topic_resource(name)
        yield from read.begin(resource, f"topic {name}", document.source, line)
        given = topic or schema.TopicPart()
        configs = None if given.configs is None else _values(given.configs)
        read.topics[name] = WantedTopic(_number(given.partitions), _number(given.replication), configs)
        _remember_keys(read, resource, document, ("topics", name, "configs"), given.configs or {})
    for type_ in in_sections():
        for name, given_configs in part.section(type_).items():
            place: yaml_places.Path = (type_.section, name)
            is_default = type_.has_default and name == DEFAULT
            if not is_default and not type_.names.allows(name):
                default = f" or {DEFAULT}" if type_.has_default else ""
                problem, hint = f"{name!r} is no {type_.names.whose}", f"write {type_.names.write}{default}"
                yield yaml_places.FileProblem(document.source, document.line(place), problem, hint)
                continue
            resource = ConfigResource(codes.ResourceType(type_.number or 0), "" if is_default else name)
            yield from read.begin(resource, f"{type_.section} {name}", document.source, document.line(place))
            read.configs[resource] = _values(given_configs or {})
            _remember_keys(read, resource, document, place, given_configs or {})
    for number, quota in enumerate(part.quotas):
        yield from _quota(quota, number, document, read)
    for number, acl in enumerate(part.acls):
        yield from _acls(acl, number, document, read)
    for name, connector in part.connectors.items():
        yield from _connector(name, connector, document, read)
    for name, subject in part.schemas.items():
        yield from _subject(name, subject or schema.SubjectPart(), document, read, files)
    for number, accepted in enumerate(part.lint):
        line = document.line(("lint", number))
        if not accepted.reason.strip():
            what = f"{accepted.rule} on {accepted.subject} is accepted without a reason"
            yield yaml_places.FileProblem(document.source, line, what, "write why it stays")
        at = f"{document.source}:{line}"
        read.accepted.append(Acceptance(accepted.rule, accepted.subject, accepted.reason, at))


def _connector(
    name: str, part: schema.ConnectorPart, document: yaml_places.Document, read: Read
) -> Iterator[yaml_places.FileProblem]:
    place: yaml_places.Path = ("connectors", name)
    line = document.line(place)
    resource = ConfigResource(codes.CONNECTOR, name)
    form = resource.type.entity.names
    if not form.allows(name):
        yield yaml_places.FileProblem(document.source, line, f"{name!r} is no {form.whose}", f"write {form.write}")
        return
    yield from read.begin(resource, f"connector {name}", document.source, line)
    values = {key: value for key, value in _values(part.config).items() if key != "name"}
    read.connectors[resource] = WantedConnector(values, part.state and part.state.upper())
    _remember_keys(read, resource, document, (*place, "config"), part.config)


def _subject(
    name: str, part: schema.SubjectPart, document: yaml_places.Document, read: Read, files: subjects.Neighbours
) -> Iterator[yaml_places.FileProblem]:
    place: yaml_places.Path = ("schemas", name)
    line = document.line(place)
    resource = ConfigResource(codes.SCHEMA, "" if name == DEFAULT else name)
    if not name or (resource.is_default and (part.schema or part.file or part.references or part.type)):
        what = "the default of all subjects has no schema" if name else "a subject has a name"
        yield yaml_places.FileProblem(document.source, line, what, "write the subject's name")
        return
    yield from read.begin(resource, f"schema {name}", document.source, line)
    wrong: list[tuple[str, str, str]] = []
    read.schemas[resource] = subjects.wanted_subject(part, files, wrong)
    for key, what, hint in wrong:
        at = document.line((*place, key)) if key else line
        yield yaml_places.FileProblem(document.source, at, what, hint)
    _remember_keys(read, resource, document, place, (key for key in ("compatibility", "mode") if getattr(part, key)))


def _number(count: schema.Count | None) -> int | None:
    return None if count is None else count.number


def _remember_keys(
    read: Read, target: Target, document: yaml_places.Document, path: yaml_places.Path, keys: Iterable[str]
) -> None:
    read.remember(target, document.source, ((key, document.line((*path, key))) for key in keys))


def _values(configs: schema.Configs) -> Mapping[str, Value]:
    return {key: HIDDEN if isinstance(value, schema.SecretSet) else value for key, value in configs.items()}


def _quota(
    part: schema.QuotaPart, number: int, document: yaml_places.Document, read: Read
) -> Iterator[yaml_places.FileProblem]:
    path: yaml_places.Path = ("quotas", number)
    names = {"user": part.user, "client-id": part.client_id, "ip": part.ip}
    given = {
        type_: value.name if isinstance(value, schema.NamePart) else None if value == DEFAULT else value
        for type_, value in names.items()
        if value is not None
    }
    if not given or ("ip" in given and len(given) > 1):
        line = document.line(path)
        yield yaml_places.FileProblem(document.source, line, "a quota is of a user, a client-id, both, or an ip")
        return
    entity = QuotaEntity.of(given)
    yield from read.begin(entity, f"the quota of {entity.as_dict()}", document.source, document.line(path))
    limits: dict[str, float] = {}
    for key, text in part.limits.items():
        line = document.line((*path, "limits", key))
        read.places[entity, key] = (document.source, line)
        try:
            limits[key] = _limit(key, text)
        except ValueError as error:
            yield yaml_places.FileProblem(document.source, line, str(error))
    read.quotas[entity] = limits


def _limit(key: str, given: str | schema.AsIs) -> float:
    """Return a quota's limit in the unit of its key. A limit as ``{as-is: …}`` may be a value that no new quota may
    have; staging refuses it if the cluster has another value.

    Raises:
        ValueError: it is not a quota's value.
    """
    if isinstance(given, str):
        return parse_quota(key, given)
    if not has_number_form(given.as_is) and given.as_is not in ("nan", "inf", "-inf"):
        raise ValueError(f"{key}: as-is states a number")
    return float(given.as_is)


def _acls(
    part: schema.AclPart, number: int, document: yaml_places.Document, read: Read
) -> Iterator[yaml_places.FileProblem]:
    path: yaml_places.Path = ("acls", number)
    line = document.line(path)
    subjects = {"ALLOW": part.allow, "DENY": part.deny, part.permission: part.principal}
    subject = [(word, name) for word, name in subjects.items() if word is not None and name is not None]
    if len(subject) != 1:
        yield yaml_places.FileProblem(
            document.source, line, "an ACL either allows or denies a principal", "allow: User:alice"
        )
        return
    ((permission, principal),) = subject
    named = {type_: name for type_ in codes.ACL_TYPES if (name := getattr(part, type_.replace("-", "_"))) is not None}
    if part.type is not None and part.name is not None:
        named[part.type] = part.name
    if len(named) != 1:
        yield yaml_places.FileProblem(
            document.source, line, "an ACL is on one resource", f"one of {', '.join(codes.ACL_TYPES)}"
        )
        return
    ((type_, name),) = named.items()
    if type_ == "cluster" and name != CLUSTER_NAME:
        yield yaml_places.FileProblem(document.source, line, f"the cluster is called {CLUSTER_NAME}, not {name!r}")
        return
    words: list[Any] = []
    for key, form, word, hint in (
        ("type", codes.AclResourceType, type_, f"one of {', '.join(codes.ACL_TYPES)}"),
        ("pattern", codes.PatternType, part.pattern, "one of literal, prefixed"),
        ("permission", codes.Permission, permission, "write allow: or deny:"),
    ):
        try:
            words.append(form.parse(word))
        except ValueError:
            what = f"no {'type of resource' if key == 'type' else key} {word!r}"
            yield yaml_places.FileProblem(document.source, document.line((*path, key)), what, hint)
            return
    of_type, pattern, allows = words
    operations = part.operations
    for operation in map(str.strip, operations.split(",") if isinstance(operations, str) else operations):
        try:
            parsed = codes.AclOperation.parse(operation)
        except ValueError:
            near = get_close_matches(operation.upper(), codes.AclOperation.NAMES.values(), n=1)
            hint = f"did you mean {near[0]}?" if near else ""
            yield yaml_places.FileProblem(
                document.source, document.line((*path, "operations")), f"no operation {operation!r}", hint
            )
            continue
        acl = Acl(of_type, name, pattern, principal, part.host, parsed, allows)
        read.acls[acl] = None
        read.places[acl, ""] = (document.source, line)
