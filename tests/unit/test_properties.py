"""Tests of Java's properties format: the parser returns the entries that were written, with their lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.java_properties import Property, parse_properties

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BLANK = st.sampled_from(["", " ", "\t", "\f", "  \t"])
SEPARATOR = st.tuples(BLANK, st.sampled_from(["=", ":"]), BLANK).map("".join) | st.sampled_from([" ", "\t", "\f "])
LINE_END = st.sampled_from(["\n", "\r\n", "\r"])
NOISE = st.sampled_from(["", "  ", "# a comment = none", "  ! another \\", "#"])


def escaped(text: str, *, key: bool, ascii_only: bool) -> str:
    """Return a key or a value as java.util.Properties#store writes it."""
    out = []
    for place, character in enumerate(text):
        if character in "\t\n\r\f":
            out.append("\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[character])
        elif character in "=:#!\\" or (character == " " and (key or place == 0)):
            out.append("\\" + character)
        elif ascii_only and not " " <= character <= "~":
            units = character.encode("utf-16-be")
            out += [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
        else:
            out.append(character)
    return "".join(out)


@st.composite
def written_files(draw: st.DrawFn) -> tuple[str, list[Property]]:
    """Draw the text of a properties file, and its entries with the numbers of the lines on which they start."""
    lines: list[str] = []
    entries: list[Property] = []
    ascii_only = draw(st.booleans())
    for key, value in draw(st.lists(st.tuples(TEXT, TEXT), max_size=6)):
        lines += draw(st.lists(NOISE, max_size=2))
        separator = draw(SEPARATOR)
        if not key:
            # A line of blanks is not an entry; a visible separator makes it one.
            separator = "="
        entries.append(Property(key, value, len(lines) + 1))
        text = escaped(key, key=True, ascii_only=ascii_only) + separator
        text += escaped(value, key=False, ascii_only=ascii_only)
        lines += draw(broken_at_backslashes(text))
    return draw(LINE_END).join(lines), entries


@st.composite
def broken_at_backslashes(draw: st.DrawFn, text: str) -> list[str]:
    """Draw one to four lines of an entry; each line but the last ends with a backslash."""
    places = [at for at, before in enumerate(text) if at and before not in " \t\f" and _breakable(text, at)]
    cuts = sorted(draw(st.sets(st.sampled_from(places), max_size=3))) if places else []
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    indents = [draw(BLANK) for _ in cuts]
    return [
        ("" if place == 0 else indents[place - 1]) + piece + ("\\" if place < len(cuts) else "")
        for place, piece in enumerate(pieces)
    ]


def _breakable(text: str, at: int) -> bool:
    """Return whether a line may be continued after a backslash before the character at an index, which is not so inside
    an escape.
    """
    backslashes = len(text[:at]) - len(text[:at].rstrip("\\"))
    return backslashes % 2 == 0 and "\\u" not in text[max(0, at - 5) : at]


@given(written_files())
def test_what_was_written_is_read_back_with_its_lines(file: tuple[str, list[Property]]) -> None:
    text, entries = file
    assert list(parse_properties(text)) == entries


@given(st.text())
def test_any_text_is_entries_or_a_complaint_with_its_line(text: str) -> None:
    complaint = None
    lines: list[int] = []
    try:
        lines = [entry.line for entry in parse_properties(text)]
    except ValueError as error:
        complaint = str(error)
    assert lines == sorted(lines)
    assert complaint is None or complaint.startswith("line ")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("a=b", "a", "b"),
        ("a:b", "a", "b"),
        ("a b", "a", "b"),
        ("a = = b", "a", "= b"),
        ("a\\ b\\=c = d ", "a b=c", "d "),
        ("a", "a", ""),
        ("=b", "", "b"),
        ("a=\\u00e9\\t\\z\\\\", "a", "é\tz\\"),
        ("a=\\ud83d\\ude00", "a", "😀"),
        ("   a = one\\\n      two\\\r\n  three", "a", "onetwothree"),
        ("a=1\\\\\nb=2", "a", "1\\"),
        ("a=end\\", "a", "end"),
        ("a=x\\\n\nb=y", "a", "x"),
        ("\\\n# no comment ends here\na=b", "a", "b"),
        (
            'sasl.jaas.config=M required \\\n  # no comment\\\n  k="v";',
            "sasl.jaas.config",
            'M required # no commentk="v";',
        ),
    ],
)
def test_single_entries(text: str, key: str, value: str) -> None:
    assert parse_properties(text)[0][:2] == (key, value)


def test_lines_of_entries_that_go_on_over_several() -> None:
    text = "# one\n\na=1\nb=2\\\n  3\\\n  4\n! seven\nc=5\n"
    assert [(entry.key, entry.line) for entry in parse_properties(text)] == [("a", 3), ("b", 4), ("c", 8)]


@pytest.mark.parametrize("bad", ["\\u12", "\\u12g4", "\\u", "\\ud83d", "\\ude00"])
def test_broken_escapes_name_their_line(bad: str) -> None:
    with pytest.raises(ValueError, match=r"^line 2: ") as caught:
        parse_properties(f"a=1\nb={bad}\n")
    assert "\\u" in str(caught.value)
