"""Records messages of Kafka that the package kio lacks, as dataclasses in kio's style: the folder console/wire/newer.

``python -m tests.support.record_newer_messages`` writes it from the definitions in the newest release's clients jar: a
module for each version of an API that the embedded cluster answers and kio lacks, and their index. The folder is empty
once kio has all of these versions.
"""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from kio.schema.index import api_key_map, schema_name_map

from console.embedded.request_pipeline import handled_apis
from tests.support.kafka_jars import NEWEST, RELEASES, jars

FOLDER = Path(__file__).parents[2] / "console" / "wire" / "newer"
_DEFINITION = re.compile(r"common/message/\w+(?:Request|Response)\.json")
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_WIDTH = 119
_API_VERSIONS = 18
_BASES = {"request": "Request", "response": "Response", "nested": "Part"}
_BASES_MODULE = "console.wire.message_bases"
_PLAIN_HEADER = "kio.schema.response_header.v0.header"

Definition = Mapping[str, Any]


class Api(NamedTuple):
    """Kafka's JSON definitions of an API's request and response."""

    request: Definition
    response: Definition


class Kind(NamedTuple):
    """The type of a field. python: the type as written in the dataclass. kafka: kio's name of the type; "" for a
    structure. imports: module and name of each import that it needs.
    """

    python: str
    kafka: str
    imports: tuple[tuple[str, str], ...] = ()


def definitions(version: str) -> dict[int, Api]:
    """Return API key -> the definitions of the API in a version of Kafka."""
    found: dict[int, dict[str, Definition]] = {}
    with zipfile.ZipFile(jars(version) / f"kafka-clients-{version}.jar") as jar:
        for name in jar.namelist():
            if _DEFINITION.fullmatch(name):
                definition = json.loads(_COMMENT.sub("", jar.read(name).decode()))
                found.setdefault(definition["apiKey"], {})[definition["type"]] = definition
    return {key: Api(**both) for key, both in found.items()}


LEFT_OUT = frozenset({"txn_offset_commit"})
"""APIs whose newest version the embedded cluster does not serve, because it names topics by their ids."""


def newer(apis: Mapping[int, Api]) -> Iterator[tuple[str, int, Api]]:
    """Yield (kio's name of the API, version, definitions) for each version that kio lacks, of the APIs that the
    embedded cluster serves.
    """
    for key, api in sorted(apis.items()):
        name = api_key_map.get(key)
        if name in handled_apis() - LEFT_OUT:
            for version in _range(api.request["validVersions"]):
                if version > max(schema_name_map[name]):
                    yield name, version, api


def module_text(api: Api, version: int, *, whole: bool = False) -> str:
    """Return the source text of the module for an API's version: its request, its response, and their structures.

    whole: whether to declare also structures that equal those of kio's newest version, instead of importing them from
    kio. Raises ValueError if request and response have different structures of the same name.
    """
    messages = [_Message(each, version, whole=whole) for each in api]
    names = [name for each in messages for name in each.classes]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{api.request['name']}: both sides have a structure {', '.join(sorted(twice))}")
    imports: dict[str, set[str]] = {"dataclasses": {"dataclass", "field"}}
    for each in messages:
        for module, name in each.imports:
            imports.setdefault(module, set()).add(name)
    lines = [f'"""{api.request["name"].removesuffix("Request")} ({api.request["apiKey"]}), v{version}.', ""]
    lines += [f"Written from Kafka {NEWEST}'s definitions by ``python -m tests.support.record_newer_messages``."]
    lines += ['"""', ""]
    lines += [f"from {module} import {', '.join(sorted(found))}" for module, found in sorted(imports.items())]
    same = [line for each in messages for line in each.same]
    return "\n".join([*lines, "", *same, "", *(line for each in messages for line in each.lines)]) + "\n"


class _Message:
    """A message in one version, as lines of Python. classes: class declarations in order. same: lines that import the
    structures that equal those of kio's newest version.
    """

    def __init__(self, definition: Definition, version: int, *, whole: bool) -> None:
        self.classes: list[str] = []
        self.same: list[str] = []
        self._before = None if whole else max(schema_name_map[api_key_map[definition["apiKey"]]])
        self.imports: set[tuple[str, str]] = set()
        self.lines: list[str] = []
        self._definition = definition
        self._version = version
        self._flexible = version in _range(definition["flexibleVersions"])
        self._structures = {each["name"]: each for each in definition.get("commonStructs", ())}
        about = f"The {definition['type']}."
        self._declare(definition["name"], definition["fields"], definition["type"], about)

    def _declare(self, name: str, fields: list[Definition], type_: str, about: str) -> None:
        if name in self.classes:
            return
        own = [each for each in fields if self._version in _range(each["versions"])]
        if type_ == "nested" and self._before is not None and self._is_same(fields):
            self.classes.append(name)
            package = f"kio.schema.{api_key_map[self._definition['apiKey']]}.v{self._before}"
            self.imports.add((package, f"{self._definition['type']} as before"))
            self.same.append(f"{name} = before.{name}")
            return
        declared = [line for each in own for line in self._field(each)]
        self.classes.append(name)
        base = f"{'Flexible' * self._flexible}{_BASES[type_]}"
        self.imports.add((_BASES_MODULE, base))
        key = "" if type_ == "nested" else f"key={self._definition['apiKey']}, "
        self.lines += ["", "@dataclass(frozen=True, slots=True, kw_only=True)"]
        self.lines += [f"class {name}({base}, {key}version={self._version}):", _docstring(about), ""]
        if type_ == "response" and self._definition["apiKey"] == _API_VERSIONS:
            # Every client can read the header of the response to ApiVersions, whatever its version.
            self.imports |= {("typing", "ClassVar"), (_PLAIN_HEADER, "ResponseHeader")}
            self.lines += ["    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader"]
        self.lines += [*declared, ""]

    def _is_same(self, fields: list[Definition]) -> bool:
        """Return whether a structure's fields, and the structures in them, equal those in kio's newest version."""
        assert self._before is not None
        for each in fields:
            for key, none in (("versions", ""), ("nullableVersions", "none"), ("taggedVersions", "none")):
                known = _range(each.get(key, none))
                if (self._version in known) is not (self._before in known):
                    return False
            common = self._structures.get(each["type"].removeprefix("[]"), {})
            if not self._is_same(each.get("fields") or common.get("fields", [])):
                return False
        return True

    def _field(self, field: Definition) -> Iterator[str]:
        element = field["type"].removeprefix("[]")
        kind = self._kind(field, element)
        self.imports |= set(kind.imports)
        is_array = field["type"] != element
        type_ = f"tuple[{kind.python}, ...]" if is_array else kind.python
        is_nullable = self._version in _range(field.get("nullableVersions", "none"))
        metadata = {"kafka_type": kind.kafka} if kind.kafka else {}
        tag = int(field["tag"]) if self._version in _range(field.get("taggedVersions", "none")) else None
        options = [json.dumps(metadata | ({} if tag is None else {"tag": tag}))] if metadata or tag is not None else []
        options = [f"metadata={each}" for each in options]
        default = _default(field, kind, is_array=is_array, is_nullable=is_nullable, is_tagged=tag is not None)
        options += [] if default is None else [f"default={default}"]
        declared = f"    {_name(field)}: {type_}{' | None' if is_nullable else ''}"
        yield f"{declared} = field({', '.join(options)})" if options else declared
        yield _docstring(field["about"])

    def _kind(self, field: Definition, element: str) -> Kind:
        structure = field.get("fields") or self._structures.get(element, {}).get("fields")
        if structure:
            common = self._structures.get(element)
            about = f"A structure of {self._definition['name']}." if common else field["about"]
            self._declare(element, structure, "nested", about)
            return Kind(element, "")
        return scalar(field, element)


_ENTITY_TYPES = {"groupId": "GroupId", "topicName": "TopicName", "brokerId": "BrokerId"}
_NUMBERS = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16"}


def scalar(field: Definition, element: str) -> Kind:
    """Return the type of a field, or of an array's elements, as kio declares it. Raises ValueError for a type that this
    module does not map.
    """
    name = field["name"]
    if name == "ErrorCode" and element == "int16":
        return Kind("ErrorCode", "error_code", (("kio.schema.errors", "ErrorCode"),))
    if name == "ThrottleTimeMs" and element == "int32":
        return Kind("i32Timedelta", "timedelta_i32", (("kio.static.primitive", "i32Timedelta"),))
    if name.endswith("Ms"):
        raise ValueError(f"how kio declares {name} is not known here")
    if (entity := _ENTITY_TYPES.get(field.get("entityType", ""))) is not None:
        return Kind(entity, element, (("kio.schema.types", entity),))
    if element in _NUMBERS:
        return Kind(_NUMBERS[element], element, (("kio.static.primitive", _NUMBERS[element]),))
    if element in ("string", "bool"):
        return Kind({"string": "str"}.get(element, element), element)
    raise ValueError(f"{name} is a {element}, which is not known here")


def _default(field: Definition, kind: Kind, *, is_array: bool, is_nullable: bool, is_tagged: bool) -> str | None:
    """Return the Python expression of a field's default value; None for a field without a default."""
    if is_array:
        return "()" if is_tagged or kind.kafka else None
    if "default" not in field:
        return None
    value = field["default"]
    if value == "null":
        return "None" if is_nullable else None
    if kind.kafka == "bool":
        return {"true": "True", "false": "False"}[str(value).lower()]
    return json.dumps(value) if kind.kafka == "string" else f"{kind.python}({int(value)})"


def _name(field: Definition) -> str:
    name = "ThrottleTime" if field["name"] == "ThrottleTimeMs" else field["name"]
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _docstring(text: str) -> str:
    said = text.strip().rstrip(".") + "."
    return fill(f'"""{said}"""', _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _range(versions: str) -> range:
    """Parse a range of versions, such as "0-3", "2+" or "1"; "none" gives an empty range."""
    if versions == "none":
        return range(0)
    lowest, _, highest = versions.rstrip("+").partition("-")
    if versions.endswith("+"):
        return range(int(lowest), 1 << 15)
    return range(int(lowest), int(highest or lowest) + 1)


def index_text(found: list[tuple[str, int, Api]]) -> str:
    """Return the source text of the package's `__init__` module: the module of each message, in the form of kio's
    index.
    """
    lines = [f'"""Kafka {NEWEST}\'s messages that kio does not have, a module for each version of an API.', ""]
    lines += ["Written by ``python -m tests.support.record_newer_messages``.", '"""', ""]
    lines += ["from collections.abc import Mapping", "from typing import Final", ""]
    lines += ["from kio.static.constants import EntityType", ""]
    lines += ["NEWER: Final[Mapping[str, Mapping[int, Mapping[EntityType, str]]]] = {"]
    for name in dict.fromkeys(each[0] for each in found):
        lines += [f'    "{name}": {{']
        for _, version, api in (each for each in found if each[0] == name):
            module = f"console.wire.newer.{module_name(name, version)}"
            lines += [f"        {version}: {{"]
            lines += [f'            EntityType.{each["type"]}: "{module}:{each["name"]}",' for each in api]
            lines += ["        },"]
        lines += ["    },"]
    lines += ["}", '"""kio\'s name of an API -> version -> the module and the class of each of its messages."""']
    return "\n".join(lines) + "\n"


def module_name(api: str, version: int) -> str:
    return f"{api}_v{version}"


def texts() -> dict[str, str]:
    """Return the files of the folder: file name -> source text."""
    found = list(newer(definitions(RELEASES[NEWEST])))
    made = {f"{module_name(name, version)}.py": module_text(api, version) for name, version, api in found}
    return {name: _formatted(text) for name, text in {"__init__.py": index_text(found), **made}.items()}


def _formatted(text: str) -> str:
    for command in (("check", "--select", "I", "--fix-only", "--quiet"), ("format",)):
        call = [str(Path(sys.executable).with_name("ruff")), *command, "--stdin-filename", str(FOLDER / "x.py"), "-"]
        text = subprocess.run(call, input=text, capture_output=True, text=True, check=True, cwd=FOLDER).stdout
    return text


def main() -> int:
    """Write the folder, and delete modules that are no longer needed."""
    made = texts()
    for former in set(FOLDER.glob("*.py")) - {FOLDER / name for name in made}:
        former.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)
        print(FOLDER / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
