"""What kafka-acls --list prints (AclCommand; its lines are those of ResourcePattern and AccessControlEntry, since 2.0).

A listing says which bindings there are, and of no other that it should not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.files.foreign_form import AclWords, TextForm, acl_of
from console.files.read import Read
from console.model.yaml_places import FileProblem

_RESOURCE = re.compile(
    r"Current ACLs for resource `ResourcePattern\(resourceType=(\w+), name=(.+), patternType=(\w+)\)`: ?"
)
_ENTRY = re.compile(r"\s+\(principal=(.+), host=(.+), operation=(\w+), permissionType=(\w+)\) ?")
_OLD = re.compile(r"Current ACLs for resource `\w+:.*`: ?")
_OF_PRINCIPAL = re.compile(r"ACLs for principal `.+`")
_BEGINS = ("Current ACLs for resource `", "ACLs for principal `")


def _owns(beginning: str) -> bool:
    return beginning.startswith(_BEGINS)


def _take(text: str, source: str, read: Read) -> Iterator[FileProblem]:
    resource: tuple[str, ...] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or _OF_PRINCIPAL.fullmatch(line):
            continue
        if _OLD.fullmatch(line):
            hint = "list them with kafka-acls of 2.0 or newer"
            yield FileProblem(source, number, "this form has no type of pattern: it is from before Kafka 2.0", hint)
            return
        if found := _RESOURCE.fullmatch(line):
            resource = found.groups()
        elif (found := _ENTRY.fullmatch(line)) and resource is not None and line.strip().isprintable():
            principal, host, operation, permission = found.groups()
            type_, name, pattern = resource
            try:
                acl = acl_of(AclWords(type_, name, pattern, principal, host, operation, permission))
            except ValueError as error:
                yield FileProblem(source, number, str(error), "a newer release of kac may know it")
                continue
            read.acls[acl] = None
            read.places[acl, ""] = (source, number)
        else:
            yield FileProblem(source, number, "this is no line of kafka-acls --list", "take it out")


FORM = TextForm("kafka-acls --list", _owns, _take)
