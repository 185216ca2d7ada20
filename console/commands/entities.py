"""The grammar's entities, targets and numbers: ``topic NAME``, ``user NAME client <default>``, ``broker 2``."""

from __future__ import annotations

from console.commands.reader import Expected, Reader, Role, What
from console.commands.statements import Entity, Name, Subject
from console.commands.words import Word
from console.language.quoting import DEFAULT_NAME, ENTITY_WORDS
from console.model.codes import BROKER_LOGGER, CLIENT_METRICS, GROUP, AclResourceType
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.numbers import is_natural
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity

INT_MAX = 2**31 - 1

ACL_TYPES = {
    "topic": AclResourceType(2),
    "group": AclResourceType(3),
    "transactional-id": AclResourceType(5),
    "delegation-token": AclResourceType(6),
    "user": AclResourceType(7),
}
ACL_CLUSTER = AclResourceType(4)

_NAME_OF = {
    "topic": Expected(What.TOPIC, "the NAME of a topic"),
    "group": Expected(What.GROUP, "the NAME of a group"),
    "client-metrics": Expected(What.METRICS, "the NAME of a client metrics subscription"),
    "ip": Expected(What.IP, "an IP address or <default>"),
    "client": Expected(What.CLIENT, "a client id or <default>"),
    "user": Expected(What.USER, "the NAME of a user or <default>"),
    "broker": Expected(What.BROKER_OR_DEFAULT, "the number of a broker or <default>"),
    "logger": Expected(What.BROKER, "the number of a broker"),
}


def entity(reader: Reader) -> Entity | None:
    """An entity, or None where the next word is no entity keyword: then it is the selected one."""
    first = reader.word
    keyword = reader.take_keyword(*ENTITY_WORDS, label="an entity (topic, broker, user, …)", what=What.ENTITY)
    if keyword is None or first is None:
        return None
    subject = _subject(reader, keyword)
    return Entity(subject, reader.span_from(first))


def _subject(reader: Reader, keyword: str) -> Subject:
    match keyword:
        case "topic":
            return topic_resource(plain_name(reader, _NAME_OF[keyword], "topics").text or "")
        case "group":
            return ConfigResource(GROUP, plain_name(reader, _NAME_OF[keyword], "groups").text or "")
        case "client-metrics":
            return ConfigResource(CLIENT_METRICS, plain_name(reader, _NAME_OF[keyword], "client metrics").text or "")
        case "broker":
            return _broker(reader)
        case "logger":
            word = reader.take(_NAME_OF["logger"])
            return ConfigResource(BROKER_LOGGER, str(_broker_number(reader, word, "the number of a broker")))
        case "ip":
            return QuotaEntity.of({IP: quota_name(reader, "ip")})
        case "client":
            return QuotaEntity.of({CLIENT_ID: quota_name(reader, "client")})
        case _:
            user = quota_name(reader, "user")
            if reader.take_keyword("client") is None:
                return QuotaEntity.of({USER: user})
            return QuotaEntity.of({USER: user, CLIENT_ID: quota_name(reader, "client")})


def plain_name(reader: Reader, expected: Expected, plural: str) -> Name:
    """A name that has no default beside it: not empty, and not the unquoted ``<default>``."""
    word = reader.take(expected)
    if word.is_bare(DEFAULT_NAME):
        reader.fail(f"{plural} have no {DEFAULT_NAME}", word, f"a name that is spelled so is quoted: '{DEFAULT_NAME}'")
    if not word.text:
        reader.fail(f"{expected.label} can't be empty", word)
    return Name(word.text, reader.span(word))


def quota_name(reader: Reader, keyword: str) -> str | None:
    """The name of a user, client or ip, None for the unquoted ``<default>``."""
    word = reader.take(_NAME_OF[keyword])
    if word.is_bare(DEFAULT_NAME):
        return None
    if not word.text:
        reader.fail(f"{_NAME_OF[keyword].label} can't be empty", word)
    return word.text


def _broker(reader: Reader) -> ConfigResource:
    word = reader.take(_NAME_OF["broker"])
    if word.is_bare(DEFAULT_NAME):
        return CLUSTER_DEFAULT
    return broker_resource(_broker_number(reader, word, _NAME_OF["broker"].label))


def _broker_number(reader: Reader, word: Word, label: str) -> int:
    number = whole_number(word.text)
    if number is None:
        reader.fail(f"expected {label}, not {reader.shown(word)}", word)
    return number


def whole_number(text: str, lowest: int = 0, highest: int = INT_MAX) -> int | None:
    """The number in plain digits within the bounds, None for anything else."""
    if not is_natural(text):
        return None
    number = int(text)
    return number if lowest <= number <= highest else None


def acl_target(reader: Reader) -> tuple[AclResourceType, str | None, bool]:
    """``cluster``, or a type, a name and whether it is a prefix."""
    kind = reader.need_keyword("cluster", *ACL_TYPES, label="cluster or TYPE NAME")
    if kind == "cluster":
        return ACL_CLUSTER, None, False
    name = plain_name(reader, Expected(What.ACL_NAME, f"the NAME of a {kind}, or *", detail=kind), "ACLs")
    prefixed = reader.take_keyword("prefixed") is not None
    return ACL_TYPES[kind], name.text, prefixed


def named(reader: Reader, expected: Expected, role: Role = Role.NAME, *, may_be_empty: bool = False) -> str:
    """A word that must not be the unquoted ``<default>``, nor empty unless that may be."""
    word = reader.take(expected, role)
    if word.is_bare(DEFAULT_NAME):
        reader.fail(
            f"expected {expected.label}, not {DEFAULT_NAME}", word, f"a name spelled so is quoted: '{DEFAULT_NAME}'"
        )
    if not word.text and not may_be_empty:
        reader.fail(f"{expected.label} can't be empty", word)
    return word.text
