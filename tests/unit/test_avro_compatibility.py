"""Tests of Avro's compatibility rules for readers and writers, compared with fastavro's reader and Avro's own
SchemaCompatibility.
"""

import json
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from console.model.avro_compatibility import (
    DEEPEST,
    AvroSchema,
    Difference,
    NotAvro,
    avro_schema,
    breaks,
    compare,
    problems,
)
from tests.support.apicurio import apicurio_folder
from tests.support.cached_folder import recorded_folder
from tests.support.kafka_jars import BrokersUnavailableError, compiler, java
from tests.support.patience import PATIENCE

fastavro = pytest.importorskip("fastavro")

Json = Any
SOURCE = Path(__file__).parent.parent / "support" / "AvroCompatibility.java"
FIELDS = ("a", "b", "c")
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_DEFAULTS: dict[str, Json] = {"int": 3, "long": 4, "float": 1.5, "double": 2.5, "string": "x", "bytes": "y"}


def record(name: str, *fields: tuple[str, Json] | tuple[str, Json, Json], **more: Json) -> AvroSchema:
    return avro_schema(json.dumps(record_json(name, *fields, **more)))


def record_json(name: str, *fields: tuple[str, Json] | tuple[str, Json, Json], **more: Json) -> Json:
    made = [{"name": each[0], "type": each[1], **({"default": each[2]} if len(each) == 3 else {})} for each in fields]
    return {"type": "record", "name": name, "fields": made, **more}


@st.composite
def schemas(draw: st.DrawFn) -> Json:
    """Draw a record schema. Each named type has a unique name: R, E or F with a number."""
    return _record(draw, 2, [0])


def _record(draw: st.DrawFn, depth: int, count: list[int]) -> Json:
    count[0] += 1
    name = f"R{count[0]}"
    fields = []
    for each in draw(st.lists(st.sampled_from(FIELDS), unique=True, min_size=1, max_size=3)):
        type_ = _type(draw, depth - 1, count)
        field = {"name": each, "type": type_}
        if isinstance(type_, str) and type_ in _DEFAULTS and draw(st.booleans()):
            field["default"] = _DEFAULTS[type_]
        if isinstance(type_, list) and type_[0] == "null" and draw(st.booleans()):
            field["default"] = None
        if draw(st.integers(0, 7)) == 0:
            field["aliases"] = [draw(st.sampled_from(FIELDS))]
        fields.append(field)
    return {"type": "record", "name": name, "fields": fields}


def _type(draw: st.DrawFn, depth: int, count: list[int]) -> Json:
    kinds = ["primitive"] * 4 + ["enum", "fixed", "union"] + (["array", "map", "record"] if depth > 0 else [])
    match draw(st.sampled_from(kinds)):
        case "enum":
            count[0] += 1
            symbols = draw(st.lists(st.sampled_from(["X", "Y", "Z"]), unique=True, min_size=1))
            made = {"type": "enum", "name": f"E{count[0]}", "symbols": symbols}
            return made | ({"default": symbols[0]} if draw(st.booleans()) else {})
        case "fixed":
            count[0] += 1
            return {"type": "fixed", "name": f"F{count[0]}", "size": draw(st.sampled_from([2, 3]))}
        case "union":
            return draw(st.lists(st.sampled_from(_PRIMITIVES), unique=True, min_size=1, max_size=3))
        case "array":
            return {"type": "array", "items": _type(draw, depth - 1, count)}
        case "map":
            return {"type": "map", "values": _type(draw, depth - 1, count)}
        case "record":
            return _record(draw, depth, count)
    return draw(st.sampled_from(_PRIMITIVES))


@st.composite
def edited(draw: st.DrawFn, schema: Json) -> Json:
    """Draw changes of a schema's types, fields and symbols, and return a changed copy."""
    found = json.loads(json.dumps(schema))
    _edit(draw, found)
    return found


def _edit(draw: st.DrawFn, found: Json) -> None:
    if not isinstance(found, dict):
        return
    if found.get("type") == "record":
        fields = found["fields"]
        match draw(st.sampled_from(["keep", "keep", "drop", "add", "retype", "rename"])):
            case "drop" if len(fields) > 1:
                fields.pop()
            case "add" if all(each["name"] != "d" for each in fields):
                fields.append({"name": "d", "type": "int"} | ({"default": 0} if draw(st.booleans()) else {}))
            case "retype":
                fields[0]["type"] = draw(st.sampled_from(_PRIMITIVES))
                fields[0].pop("default", None)
            case "rename":
                fields[0]["aliases"] = [fields[0]["name"]]
                fields[0]["name"] = "e"
        for each in fields:
            _edit(draw, each["type"])
    elif found.get("type") == "enum" and draw(st.booleans()):
        found["symbols"] = draw(st.lists(st.sampled_from(["X", "Y", "Z"]), unique=True, min_size=1))
        found.pop("default", None)
    elif found.get("type") in ("array", "map"):
        _edit(draw, found.get("items", found.get("values")))


def datum(draw: st.DrawFn, schema: Json) -> Json:
    """Draw a value of a schema for fastavro's writer; for a union, a tuple of the branch and its value."""
    if isinstance(schema, list):
        branch = draw(st.sampled_from(schema))
        return (branch, datum(draw, branch))
    match schema if isinstance(schema, str) else schema["type"]:
        case "null":
            return None
        case "boolean":
            return draw(st.booleans())
        case "int" | "long":
            return draw(st.integers(-5, 5))
        case "float" | "double":
            return draw(st.sampled_from([0.0, 1.5, -2.25]))
        case "bytes":
            return draw(st.sampled_from([b"", b"ab"]))
        case "string":
            return draw(st.sampled_from(["", "xy"]))
        case "enum":
            return draw(st.sampled_from(schema["symbols"]))
        case "fixed":
            return b"\0" * schema["size"]
        case "array":
            return [datum(draw, schema["items"]) for _ in range(draw(st.integers(0, 2)))]
        case "map":
            return {str(place): datum(draw, schema["values"]) for place in range(draw(st.integers(0, 2)))}
        case "record":
            return {each["name"]: datum(draw, each["type"]) for each in schema["fields"]}
    raise AssertionError(schema)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_what_is_said_to_be_readable_is_read_by_fastavro(data: st.DataObject) -> None:
    writer = data.draw(schemas())
    reader = data.draw(edited(writer))
    assume(not _has_alias_of_another(writer) and not _has_alias_of_another(reader))
    assume(_is_valid(reader) and not problems(avro_schema(json.dumps(reader)), avro_schema(json.dumps(writer))))
    value = data.draw(st.composite(lambda draw: datum(draw, writer))())
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(writer), value)
    out.seek(0)
    read = fastavro.schemaless_reader(out, fastavro.parse_schema(writer), fastavro.parse_schema(reader))
    assert set(read) == {each["name"] for each in reader["fields"]}


def _is_valid(schema: Json) -> bool:
    try:
        fastavro.parse_schema(json.loads(json.dumps(schema)))
        avro_schema(json.dumps(schema))
    except (NotAvro, fastavro.schema.SchemaParseException, ValueError):
        return False
    return True


def _has_alias_of_another(schema: Json) -> bool:
    """Return whether an alias in a schema is the name of another field; libraries disagree about such records."""
    if isinstance(schema, list):
        return any(map(_has_alias_of_another, schema))
    if not isinstance(schema, dict):
        return False
    fields = schema.get("fields", [])
    names = [each["name"] for each in fields]
    aliases = [alias for each in fields for alias in each.get("aliases", ()) if alias != each["name"]]
    inner = (schema.get("items"), schema.get("values"), *(each["type"] for each in fields))
    return bool({*names} & {*aliases}) or any(map(_has_alias_of_another, inner))


@given(schemas())
def test_a_schema_reads_itself_and_differs_in_nothing(schema: Json) -> None:
    one, other = avro_schema(json.dumps(schema)), avro_schema(json.dumps(schema))
    assert problems(one, other) == ()
    assert compare(one, other) == ()


@given(st.data())
def test_each_problem_is_a_difference_that_is_shown(data: st.DataObject) -> None:
    old = data.draw(schemas())
    new = data.draw(edited(old))
    before, after = avro_schema(json.dumps(old)), avro_schema(json.dumps(new))
    shown = compare(before, after)
    assert any(each.breaks_new for each in shown) == bool(problems(after, before))
    assert any(each.breaks_old for each in shown) == bool(problems(before, after))


@pytest.mark.slow
def test_as_avros_own_java_says() -> None:
    """kac and Avro's Java library give the same verdict, readable or not, for each of 600 pairs of schemas; one Java
    process checks all pairs.
    """
    try:
        command = _java_command()
    except BrokersUnavailableError as error:
        pytest.skip(str(error))
    pairs: list[tuple[str, str]] = []

    @settings(max_examples=600, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(st.data())
    def draw_pairs(data: st.DataObject) -> None:
        writer = data.draw(schemas())
        reader = data.draw(edited(writer)) if data.draw(st.booleans()) else data.draw(schemas())
        pairs.append((json.dumps(reader), json.dumps(writer)))

    draw_pairs()
    lines = "".join(f"{reader}\t{writer}\n" for reader, writer in pairs)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=PATIENCE)
    answers = done.stdout.split()
    assert len(answers) == len(pairs)
    valid = [(*pair, answer == "true") for pair, answer in zip(pairs, answers, strict=True) if answer != "invalid"]
    assert len(valid) > 300, "most are schemas"
    assert {each[2] for each in valid} == {True, False}
    for reader, writer, readable in valid:
        found = problems(avro_schema(reader), avro_schema(writer))
        assert (not found) == readable, (reader, writer, found)


def _java_command() -> list[str]:
    jars = apicurio_folder() / "lib"

    def fill(folder: Path) -> None:
        command = [compiler(), "-proc:none", "-nowarn", "-cp", f"{jars}/*", str(SOURCE), "-d", str(folder)]
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)

    classes = recorded_folder("AvroCompatibility", (SOURCE,), fill)
    return [java(), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*:{classes}", "AvroCompatibility"]


def test_a_field_without_a_default_breaks_readers_with_the_new_version_alone() -> None:
    old = record("Order", ("id", "long"))
    new = record("Order", ("id", "long"), ("note", "string"))
    (found,) = breaks("FULL", new, [(1, old)])
    assert str(found) == (
        "readers with the new version can't read records of version 1: /note: the writer has no such field, and it has "
        "no default"
    )
    assert breaks("FORWARD", new, [(1, old)]) == ()
    assert breaks("NONE", new, [(1, old)]) == ()


def test_a_transitive_level_looks_at_all_versions() -> None:
    first = record("Order", ("id", "long"), ("sku", "string"))
    second = record("Order", ("id", "long"))
    third = record("Order", ("id", "long"), ("sku", "int", 0))
    assert breaks("BACKWARD", third, [(1, first), (2, second)]) == ()
    (found,) = breaks("BACKWARD_TRANSITIVE", third, [(1, first), (2, second)])
    assert (found.version, found.problem.path, found.of_old) == (1, "/sku", False)


def test_differences_say_what_both_sorts_of_readers_see() -> None:
    old = record("Order", ("id", "int"), ("gone", "int"))
    new = record("Order", ("id", "long"), ("note", ["null", "string"], None))
    assert compare(old, new) == (
        Difference("/id", "int", "long", "read it as long", "long can't be read as int", False, True),
        Difference("/note", "", "union of null, string = null", "read null", "skip it", False, False),
        Difference("/gone", "int", "", "skip it", "the writer has no such field, and it has no default", False, True),
    )


def test_a_record_may_contain_itself_and_types_of_other_texts() -> None:
    tree = {"name": "Tree", "fields": [("next", ["null", "Tree"], None), ("n", "int")]}
    old, new = record(tree["name"], *tree["fields"]), record(tree["name"], tree["fields"][0], ("n", "long"))
    assert problems(new, old) == ()
    assert [each.path for each in compare(old, new)] == ["/n"]
    address = json.dumps(record_json("Address", ("street", "string"), namespace="shop"))
    order = json.dumps(record_json("Order", ("to", "shop.Address")))
    assert avro_schema(order, [address]).named.keys() == {"Order", "shop.Address"}
    with pytest.raises(NotAvro, match=r"the type shop.Address is not defined"):
        avro_schema(order)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is not JSON"),
        ('"order"', "the type order is not defined"),
        ('["null", ["int"]]', "a union has a union"),
        ('{"type": "record", "name": "A"}', "has no fields"),
        ('{"type": "fixed", "name": "A"}', "has no size"),
        ("3", "3 is no type"),
        ('{"type": "array", "items": ' * (DEEPEST + 2) + '"int"' + "}" * (DEEPEST + 2), "deep"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', "a symbol twice"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(NotAvro, match=why):
        avro_schema(text)
