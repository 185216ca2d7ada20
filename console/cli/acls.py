"""`kac acls`: lists and changes ACLs, with the options of kafka-acls."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

from console.cli.noun import Noun, OptionsError, Statements
from console.language.quoting import quote, quoted
from console.model.patterns import has_signs

_ACL_EXAMPLES = """\
examples:
  kac acls -c prod --list --principal User:alice
  kac acls -c prod --add --allow-principal User:alice --operation READ,DESCRIBE --topic orders
  kac acls -c prod --add --allow-principal User:svc-8 --consumer --topic orders. --group svc-8 --resource-pattern-type prefixed
  kac acls -c prod --remove --deny-principal User:bob --operation WRITE --topic orders --yes
  kac acls -c prod --explain User:alice READ,DESCRIBE topic orders from 10.0.0.1
  kac acls -c prod --explain User:svc-8 WRITE topic orders --exit-code
"""  # noqa: E501
_RESOURCES = {
    "topic": "topic",
    "group": "group",
    "transactional_id": "transactional-id",
    "delegation_token": "delegation-token",
    "user_principal": "user",
}
_FILTERS = ("any", "match")
_SHORTEST = 3
"""Minimum number of words of an explanation: PRINCIPAL OPERATION cluster."""
_PRODUCER = {
    "topic": "WRITE,DESCRIBE,CREATE",
    "transactional_id": "WRITE,DESCRIBE",
}
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")
_CONSUMER = {"topic": "READ,DESCRIBE", "group": "READ"}


def _acl_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument

    def several(name: str, metavar: str, help_: str) -> None:
        add(name, metavar=metavar, action="append", default=[], help=help_)

    add(
        "--explain",
        metavar="WORD",
        nargs="+",
        help="PRINCIPAL OPERATION RESOURCE [from HOST]: show whether ACLs allow or deny the operation, and which ACL "
        "decides. RESOURCE is topic NAME, group NAME, cluster, …",
    )
    add("--exit-code", action="store_true", help="with --explain: exit with 3 if the operation is denied")
    several("--allow-principal", "TYPE:NAME", "a principal that may, such as User:alice; may be repeated")
    several("--deny-principal", "TYPE:NAME", "a principal that may not")
    several("--operation", "OP,OP", "READ, WRITE, … (default: ALL); with --list: only these")
    several("--topic", "NAME", "a topic; '*' means every topic")
    several("--group", "NAME", "a consumer group")
    several("--transactional-id", "ID", "a transactional id")
    several("--delegation-token", "TOKEN", "a delegation token")
    several("--user-principal", "TYPE:NAME", "a user as a resource")
    several("--principal", "TYPE:NAME", "with --list: the principal of the ACLs")
    add("--cluster", action="store_true", help="the cluster itself")
    add(
        "--allow-host",
        metavar="HOST",
        default="*",
        help="the address from which the principal may (default: every address)",
    )
    add("--deny-host", metavar="HOST", default="*", help="the address from which the principal may not")
    add(
        "--resource-pattern-type",
        choices=("literal", "prefixed", "any", "match"),
        type=str.lower,
        help="how names match; with --list also any, and match: all ACLs that affect the resource",
    )
    add("--producer", action="store_true", help="the rights of a producer: on --topic and --transactional-id")
    add("--consumer", action="store_true", help="the rights of a consumer: on --topic and --group")
    add("--idempotent", action="store_true", help="with --producer: also IDEMPOTENT_WRITE on the cluster")


def _explanation(words: list[str]) -> Statements:
    """Return the words ``User:alice READ topic orders from 10.0.0.1`` as an `explain` statement of the command
    language, in which the word ``on`` may be left out. Raises OptionsError: words are missing, or the type of the
    resource is unknown.
    """
    if len(words) < _SHORTEST:
        raise OptionsError("--explain needs PRINCIPAL OPERATION RESOURCE, as in --explain User:alice READ topic orders")
    principal, operations, *rest = words
    type_, *rest = rest[1:] if rest[0] == "on" else rest
    if type_ not in (kinds := (*_RESOURCES.values(), "cluster")):
        raise OptionsError(f"--explain: '{type_[:80]}' is no type of resource: {', '.join(kinds)}")
    at = len(rest) - 2
    named = " ".join(word if (word, place) == ("from", at) else quote(word) for place, word in enumerate(rest))
    return (f"explain {quote(principal)} {_operation(operations)} on {type_} {named}".rstrip(),)


def _acl_statements(given: argparse.Namespace, action: str) -> Statements:
    if action == "explain":
        return _explanation(given.explain)
    if given.exit_code:
        raise OptionsError("--exit-code needs --explain")
    if action in ("list", "describe"):
        return _acl_list(given)
    who = [("allow", name, given.allow_host) for name in given.allow_principal]
    who += [("deny", name, given.deny_host) for name in given.deny_principal]
    if not who:
        raise OptionsError(f"--{action} needs --allow-principal or --deny-principal")
    verb = {"add": "", "remove": "revoke "}[action]
    if given.resource_pattern_type in _FILTERS:
        raise OptionsError(
            f"--{action} is of one pattern, literal or prefixed; {given.resource_pattern_type} finds several: see them "
            f"with --list --resource-pattern-type {given.resource_pattern_type}, and name each"
        )
    grants = _grants(given)
    return tuple(
        f"{verb}{permission} {quote(principal)} {operations} on {target}{_from(host)}"
        for permission, principal, host in who
        for operations, target in grants
    )


def _from(host: str) -> str:
    return "" if host == "*" else f" from {quote(host)}"


def _acl_list(given: argparse.Namespace) -> Statements:
    """Return a `list acls` statement for each combination of the named principals, resources and operations; without
    any of these, one statement for all ACLs.
    """
    filters = [f"principal={_value(name)}" for name in given.principal] or [""]
    resources = [
        f"resource_type={type_.upper().replace('-', '_')} resource_name={_value(name)}"
        for option, type_ in _RESOURCES.items()
        for name in getattr(given, option)
    ]
    if given.cluster:
        resources.append("resource_type=CLUSTER")
    if given.operation:
        wanted = [each.strip() for text in given.operation for each in text.split(",") if each.strip()]
        resources = [f"{what} operation={_operation(each)}" for what in resources or [""] for each in wanted]
    if given.resource_pattern_type is not None:
        how = f"pattern_type={given.resource_pattern_type.upper()}"
        resources = [f"{what} {how}" for what in resources or [""]]
    return tuple(" ".join(f"list acls {who} {what}".split()) for who in filters for what in (resources or [""]))


def _value(text: str) -> str:
    """Return a plain name as the value of a filter of `list`, quoted if it could be read as a pattern."""
    return quoted(text) if has_signs(text) else quote(text)


def _grants(given: argparse.Namespace) -> list[tuple[str, str]]:
    """Return (operations, target) in the language's words for each resource that the options name. Raises OptionsError:
    the options name no resource.
    """
    prefixed = " prefixed" if given.resource_pattern_type == "prefixed" else ""

    def targets(option: str) -> list[str]:
        return [f"{_RESOURCES[option]} {quote(name)}{prefixed}" for name in getattr(given, option)]

    if given.producer or given.consumer:
        return _roles(given, targets)
    operations = ",".join(map(_operation, given.operation)) or "ALL"
    found = [(operations, target) for option in _RESOURCES for target in targets(option)]
    if given.cluster:
        found.append((operations, f"cluster{prefixed}"))
    if not found:
        raise OptionsError("name a resource: --topic, --group, --cluster, --transactional-id, …")
    return found


def _operation(text: str) -> str:
    """Return the name of an operation in the language: ALTER_CONFIGS for kafka-acls' AlterConfigs."""
    return _HUMP.sub("_", text).upper().replace(" ", "").replace("-", "_")


def _roles(given: argparse.Namespace, targets: Callable[[str], list[str]]) -> list[tuple[str, str]]:
    if given.operation:
        raise OptionsError("--producer and --consumer bring their operations; leave --operation out")
    if not given.topic or (given.consumer and not given.group):
        raise OptionsError("--producer needs --topic, --consumer needs --topic and --group")
    found = []
    for wanted, needs in ((given.producer, _PRODUCER), (given.consumer, _CONSUMER)):
        if wanted:
            found += [(operations, target) for option, operations in needs.items() for target in targets(option)]
    if given.producer and given.idempotent:
        found.append(("IDEMPOTENT_WRITE", "cluster"))
    return found


ACLS = Noun(
    "acls",
    {
        "list": "the ACLs; with --principal or a resource only the ACLs of these",
        "add": "add ACLs that allow or deny",
        "remove": "remove exactly these ACLs",
    },
    _acl_options,
    _acl_statements,
    _ACL_EXAMPLES,
    destructive=("remove",),
    implied={"explain": "explain"},
    aliases=(("create", "add"), ("delete", "remove"), ("describe", "list")),
)
