"""Compiles Protobuf sources to descriptors, by Google's compiler in a separate process with limits."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from console.model.schemas import NotDecoded, SchemaText
from console.programs import finished, python
from console.wire.protobuf import missing

SECONDS = 8
"""Maximum seconds for the compiler, both of elapsed and of processor time."""
MEMORY = 1 << 30
"""Maximum size in bytes of the compiler's address space."""
LARGEST = 16 << 20
"""Maximum size in bytes of the descriptors."""
MAIN = "kac_schema.proto"
"""The file name that the schema itself gets."""
# The new process sets its own limits: a function between fork and exec may hang in a program with threads. It runs
# isolated (-I), so the compiler's path is an argument.
_LIMITED = f"""
import resource, sys
for what, most in ("CPU", {SECONDS}), ("AS", {MEMORY}), ("FSIZE", {LARGEST}):
    resource.setrlimit(getattr(resource, "RLIMIT_" + what), (most, most))
sys.path.append(sys.argv.pop(1))
from grpc_tools import protoc
sys.exit(protoc.main(sys.argv))
"""


_IMPORTS = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"\n]{1,300})"\s*;', re.MULTILINE)
_AT_PLACE = re.compile(r"\.proto:\d")
_IMPORTED = re.compile(r"[\w./-]{1,300}\.proto", re.ASCII)
_CONFLUENTS = {
    "confluent/meta.proto": """\
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; repeated Rule rules = 4; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
    "confluent/type/decimal.proto": """\
syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
""",
    "confluent/type/variant.proto": """\
syntax = "proto3";
package confluent.type;
message Variant { bytes metadata = 1; bytes value = 2; }
""",
}
"""File name -> text, of files that Confluent's serializers import without registering a reference
(ProtobufSchema.KNOWN_DEPENDENCIES). Google's own files are not among them.
"""


def compiled(schema: SchemaText) -> bytes:
    """Return the descriptors of a schema and its imports, as a serialized FileDescriptorSet. Blocks.

    Some serializers register descriptors in base64 instead of a source. Then only the imports without a reference are
    compiled.

    Raises:
        NotDecoded: the compiler refuses the schema, or is not installed.
    """
    tools = find_spec("grpc_tools")
    if tools is None or not tools.submodule_search_locations:
        raise NotDecoded(missing())
    if (given := _descriptor_in(schema.text)) is not None:
        return _descriptor_set(given, schema.references)
    return _compiled(schema.text, [(each.name, each.text) for each in schema.references])


def imports_of(text: str) -> list[str]:
    """Return the names of the files that a Protobuf source imports.

    Raises:
        NotDecoded: a name leads out of the schema's folder.
    """
    return [str(_relative(name)) for name in _IMPORTS.findall(text)]


def _compiled(main: str, references: Sequence[tuple[str, str]]) -> bytes:
    """Compile the source `main`, which becomes the file `MAIN`, and return the descriptors. references: (name, text) of
    the files that it may import. Raises NotDecoded.
    """
    tools = _folder_of("grpc_tools")
    assert tools is not None
    common = _folder_of("google.type")
    with TemporaryDirectory(prefix="kac-protobuf-") as folder:
        place = Path(folder)
        sources, known, made = place / "sources", place / "known", place / "descriptors"
        texts = [(sources / _relative(name), text) for name, text in references]
        texts += [(known / name, text) for name, text in _CONFLUENTS.items()]
        for file, text in (*texts, (sources / MAIN, main)):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        folders = [sources, known, tools / "_proto", *([] if common is None else [common.parent.parent])]
        arguments = (*(f"-I{each}" for each in folders), "--include_imports", f"--descriptor_set_out={made}", MAIN)
        try:
            compiler = python("-I", "-c", _LIMITED, str(tools.parent), *arguments, folder=place)
            done = finished(compiler, SECONDS, stdin=subprocess.DEVNULL, capture_output=True)
        except subprocess.TimeoutExpired:
            raise NotDecoded(f"its schema is not compiled within {SECONDS} s") from None
        if done.returncode:
            why = _why(done.stderr).replace(f"{sources}/", "").removeprefix(f"{MAIN}:")
            raise NotDecoded(
                missing() if common is None and "google/type/" in why else f"its schema is not compiled: {why}"
            )
        if made.stat().st_size > LARGEST:
            raise NotDecoded(f"its schema is compiled to more than {LARGEST >> 20} MiB")
        return made.read_bytes()


def _folder_of(package: str) -> Path | None:
    """Return the folder of an installed package; None if it is not installed."""
    try:
        found = find_spec(package)
    except ModuleNotFoundError:  # the package's parent is missing
        return None
    places = found.submodule_search_locations if found is not None else None
    return Path(places[0]) if places else None


def _descriptor_in(text: str) -> Any:
    """Return the FileDescriptorProto that a base64 text has; None if the text is a Protobuf source."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None


def _descriptor_set(main: Any, references: Sequence[SchemaText]) -> bytes:
    """Return a schema's own descriptor, after those of its imports, as a serialized FileDescriptorSet. Raises
    NotDecoded.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    found: dict[str, Any] = {}
    for each in references:
        file = _descriptor_in(each.text)
        if file is None:
            raise NotDecoded(f"its schema is a descriptor, and {each.name[:100]} is a text")
        file.name = each.name
        found[each.name] = file
    main.name = MAIN
    others = sorted({name for file in (*found.values(), main) for name in file.dependency} - set(found))
    known: list[Any] = []
    if others:
        imports = "".join(f'import "{_importable(each)}";\n' for each in others)
        descriptors = FileDescriptorSet.FromString(_compiled(f'syntax = "proto3";\n{imports}', ()))
        known = [file for file in descriptors.file if file.name != MAIN]
    return bytes(FileDescriptorSet(file=(*known, *found.values(), main)).SerializeToString())


def _importable(name: str) -> str:
    """Return the name of a file, if it may stand in an import statement. Raises NotDecoded otherwise."""
    if not _IMPORTED.fullmatch(name):
        raise NotDecoded(f"its schema imports {name[:100]!r}, which is no file's name")
    return name


def _relative(name: str) -> PurePosixPath:
    """Return the path of an imported file, relative to the folder of the schema.

    Raises:
        NotDecoded: the path leads out of that folder.
    """
    path = PurePosixPath(name)
    odd = path.is_absolute() or ".." in path.parts or not path.parts or len(path.parts) > 20 or len(name) > 300
    if odd or not name.isprintable() or "\\" in name or name == MAIN or any(len(part) > 100 for part in path.parts):
        raise NotDecoded(f"its schema imports {name[:100]!r}, which is no file's name")
    return path


def _why(errors: bytes) -> str:
    """Return the compiler's first error with a position in a file; without one, its last line."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return next((each for each in lines if _AT_PLACE.search(each)), lines[-1] if lines else "it ended without a word")
