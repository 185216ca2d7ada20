"""Colours and attributes of terminal cells, and the shortest way from one to the next."""

from __future__ import annotations

from typing import NamedTuple

VISIBLE_ON_BLANKS = frozenset({"4", "7", "9", "21", "51", "52", "53"})
"""Attributes that show on a blank too: underlines, reverse, strike, frames, overline."""

FIRST_CODE = 0xE000


class Pen(NamedTuple):
    """What the next character is drawn with: SGR parameters, empty where the terminal's own colour is used."""

    attributes: frozenset[str] = frozenset()
    foreground: str = ""
    background: str = ""


PLAIN = Pen()


def read_pen(parameters: str) -> Pen:
    """Return the pen that the parameters of one SGR sequence, starting from a reset, describe (ECMA-48, 8.3.117)."""
    attributes: set[str] = set()
    foreground = background = ""
    codes = iter(parameters.replace(":", ";").split(";"))
    for code in codes:
        if code in ("", "0"):
            attributes, foreground, background = set(), "", ""
        elif code in ("38", "48"):
            kind = next(codes, "")
            rest = [next(codes, "0") for _ in range(3 if kind == "2" else 1)]
            color = ";".join((code, kind, *rest))
            foreground, background = (color, background) if code == "38" else (foreground, color)
        elif code == "39":
            foreground = ""
        elif code == "49":
            background = ""
        elif code[0] in "39" and len(code) == 2:
            foreground = code
        elif (code[0] == "4" and len(code) == 2) or (code[:2] == "10" and len(code) == 3):
            background = code
        else:
            attributes.add(code)
    return Pen(frozenset(attributes), foreground, background)


def change(old: Pen, new: Pen) -> str:
    """Return the shortest SGR sequence that leads from `old` to `new`."""
    if old == new:
        return ""
    whole = [*sorted(new.attributes), *filter(None, (new.foreground, new.background))]
    from_reset = f"\x1b[0;{';'.join(whole)}m" if whole else "\x1b[m"
    if not old.attributes <= new.attributes:
        return from_reset
    parts = sorted(new.attributes - old.attributes)
    if new.foreground != old.foreground:
        parts.append(new.foreground or "39")
    if new.background != old.background:
        parts.append(new.background or "49")
    by_difference = f"\x1b[{';'.join(parts)}m"
    return min(by_difference, from_reset, key=len)


class PenTable:
    """Pens by one-character codes, so that the styles of a row compare and hash as fast as text."""

    def __init__(self) -> None:
        self._codes: dict[Pen, str] = {}
        self._pens: list[Pen] = []
        self._read: dict[str, tuple[str, str]] = {}
        self.plain = self.code(PLAIN)

    def code(self, pen: Pen) -> str:
        """Return the code of `pen`."""
        code = self._codes.get(pen)
        if code is None:
            code = self._codes[pen] = chr(FIRST_CODE + len(self._pens))
            self._pens.append(pen)
        return code

    def pen(self, code: str) -> Pen:
        """Return the pen with this code."""
        return self._pens[ord(code) - FIRST_CODE]

    def read(self, parameters: str) -> tuple[str, str]:
        """Return the codes of the pen in SGR parameters: for characters, and for blanks (where ink doesn't show)."""
        codes = self._read.get(parameters)
        if codes is None:
            pen = read_pen(parameters)
            codes = self._read[parameters] = self.code(pen), self.code(on_blank(pen))
        return codes


def on_blank(pen: Pen) -> Pen:
    """Return what of `pen` can be seen on a blank."""
    return pen if pen.attributes & VISIBLE_ON_BLANKS else Pen(background=pen.background)
