"""The output of kafka-acls --list (AclCommand): lines of ResourcePattern and AccessControlEntry; from tools up to 2.3,
over ZooKeeper, lines of kafka.security.auth's Resource and Acl.

Such a list shows ACLs that exist; it does not mean that other ACLs must not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.files.foreign_form import AclWords, TextForm, acl_of, fields
from console.files.read import Read
from console.model.yaml_places import FileProblem

_WORD = re.compile(r"\w+")
_OF_ZOOKEEPER = re.compile(r"\ACurrent ACLs for resource `(\w+):(LITERAL|PREFIXED):(.+)`: ?")
_OLD = re.compile(r"\ACurrent ACLs for resource `\w+:.*`: ?")
_HAS = re.compile(r"\A\s++(\S.*) has (Allow|Deny) permission for operations: (\w+) from hosts: (\S+) ?")
_OF_PRINCIPAL = re.compile(r"\AACLs for principal `.+`")
_BEGINS = ("Current ACLs for resource `", "ACLs for principal `")


def _resource(line: str) -> tuple[str, ...] | None:
    """Return the type, the name and the pattern type of the resource in a heading; None for other lines."""
    if zookeeper := _OF_ZOOKEEPER.fullmatch(line):
        return zookeeper[1], zookeeper[3], zookeeper[2]
    found = fields(
        line.removesuffix(" "),
        "Current ACLs for resource `ResourcePattern(resourceType=",
        (", name=", ", patternType="),
        ")`:",
    )
    if found is None:
        return None
    # Split at the last separator: the name may contain its text, but the type can't.
    type_, separator, rest = f"{found[0]}, name={found[1]}".partition(", name=")
    return (type_, rest, found[2]) if separator and rest and _are_words(type_, found[2]) else None


def _entry(line: str) -> tuple[str, ...] | None:
    """Return the principal, the host, the operation and the permission in a line of an ACL; None for other lines."""
    if has := _HAS.fullmatch(line):
        return has[1], has[4], has[3], has[2].upper()
    text = line.lstrip()
    found = fields(text.removesuffix(" "), "(principal=", (", host=", ", operation=", ", permissionType="), ")")
    if found is None or len(text) == len(line):
        return None
    principal, host, operation, permission = found
    return found if principal and host and _are_words(operation, permission) else None


def _are_words(*texts: str) -> bool:
    return all(_WORD.fullmatch(each) for each in texts)


def _take(text: str, source: str, read: Read) -> Iterator[FileProblem]:
    resource: tuple[str, ...] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or _OF_PRINCIPAL.fullmatch(line):
            continue
        if found := _resource(line):
            resource = found
        elif _OLD.fullmatch(line):
            hint = "kac export writes them, from the cluster itself"
            yield FileProblem(source, number, "this form has no type of pattern: it is from before Kafka 2.0", hint)
            return
        elif (found := _entry(line)) and resource is not None and line.strip().isprintable():
            principal, host, operation, permission = found
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


FORM = TextForm("kafka-acls --list", lambda beginning: beginning.startswith(_BEGINS), _take)
