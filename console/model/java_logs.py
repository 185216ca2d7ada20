"""Log lines that a Java tool prints before its output, by log4j, SLF4J or the virtual machine. Pure."""

from __future__ import annotations

import re

_AT = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3,9}\S*"
_LINE = re.compile(
    rf"\A(?:\[{_AT}\] (?:TRACE|DEBUG|INFO|WARN) .*"  # Kafka's own log pattern for its tools
    rf"|{_AT} (?:\[[^\]]*\] |\S+ - )*(?:TRACE|DEBUG|INFO|WARN) .*"
    r"|(?:log4j|SLF4J)(?:\([A-Z]\))?[: ].*"
    r"|(?:main |ERROR |WARN )?StatusLogger .*"
    r"|(?:main )?(?:WARN|INFO) (?:StatusLogger|No |Unable |The |Loading |Reading |Using ).*"
    r"|(?:OpenJDK|Java HotSpot\(TM\)|Eclipse OpenJ9)[^:]* VM warning: .*"
    r"|Picked up \w+: .*"
    r"|WARNING: .*"
    r"|Warning: .*deprecated.*)"
)
_TRACE = re.compile(
    r"\A(?:\s+at .*|Caused by: .*|\s+\.\.\. \d+ (?:more|common frames omitted)|[\w.$]+(?:Exception|Error)(?:: .*)?)"
)


_ERROR = re.compile(
    rf"\A(?:(?:\[{_AT}\] |{_AT} \S* ?)(?:ERROR|FATAL) .*|Error(?::| while| occurred) .*|Exception in thread .*)"
)


def is_error(line: str) -> bool:
    """Return whether a line of a Java tool's output reports an error."""
    return _ERROR.fullmatch(line.rstrip()) is not None


def without_log_lines(text: str) -> str:
    """Return the text with each log line before the output replaced by an empty line, so that line numbers stay the
    same.

    A log line that reports an error is kept, because the output after it may be incomplete.
    """
    at = skipped = 0
    while at < len(text):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)].rstrip("\r")
        if line.strip() and not _LINE.fullmatch(line) and not (skipped and _TRACE.fullmatch(line)):
            break
        skipped += 1
        at = end + 1 if end >= 0 else len(text)
    return "\n" * skipped + text[at:]
