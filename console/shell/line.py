"""The input line: its keys, colours, completion and history, multi-line entries, and the toolbar below it."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import FormattedText, StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from console.language.completion import Completer as LanguageCompleter
from console.language.completion import completion_needs
from console.language.lexer import CommandLexer
from console.language.secret_values import redact
from console.language.seen_fields import SeenFields
from console.language.snapshot_parts import Needs
from console.language.statements import Where
from console.language.tokenizer import UNCLOSED, scan
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.session.command_history import CommandHistory
from console.session.snapshot_reader import Refused
from console.terminal import drawn_on, harmless

# -- completion from the cluster, which kac reads during typing --------------------------------------------------------

log = logging.getLogger(__name__)


class ShellCompleter(Completer):
    """Completes the words that the grammar expects at the cursor. It first reads missing names from the cluster; the
    user's next key cancels that.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        read: Callable[[Needs], Awaitable[object]],
        contexts: Sequence[str],
        fields: Callable[[], SeenFields] = SeenFields,
    ) -> None:
        """Create the completer.

        Args:
            snapshot: returns the current snapshot.
            read: reads the parts of the snapshot that are missing. Raises AdminError and Refused.
            contexts: names of the contexts.
            fields: returns the names of the fields in the records that the user has read.
        """
        self._snapshot = snapshot
        self._read = read
        self._language = LanguageCompleter(Where.SHELL, contexts, fields)
        self.helps: dict[str, str] = {}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        """Yield completions from the current snapshot, without a read."""
        found = self._language.complete(document.text, document.cursor_position, self._snapshot())
        self.helps = {each.text: each.help for each in found}
        for each in found:
            start = min(each.start - document.cursor_position, 0)
            yield Completion(each.text, start, display=each.display, display_meta=each.meta)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Read the missing parts of the snapshot, then yield completions; if a read fails, yield those from the parts
        that are known.
        """
        await self._read_missing(document.text)
        for completion in self.get_completions(document, complete_event):
            yield completion

    async def _read_missing(self, text: str) -> None:
        from console.admin.errors import AdminError

        wanted = completion_needs(text, Where.SHELL, self._snapshot())
        if not wanted:
            return
        try:
            await self._read(wanted)
        except (AdminError, Refused) as error:
            log.info("reading for a completion: %s", error.failure)


# Multi-line entries: an entry continues inside an open quote, and after a line that ends with a backslash.

_CONTINUED = "\\\n"


def is_complete(text: str) -> bool:
    """Return whether Enter ends the entry: False inside quotes, and after a backslash."""
    if _quote_is_open(text):
        return False
    return not text.endswith("\\")


def joined(text: str) -> str:
    """Return a multi-line entry as one line: outside quotes, a backslash and the line end after it become one blank."""
    result = text
    at = result.find(_CONTINUED)
    while at >= 0:
        if not _quote_is_open(result[:at]):
            result = result[:at] + " " + result[at + len(_CONTINUED) :]
        at = result.find(_CONTINUED, at + 1)
    return result


def _quote_is_open(text: str) -> bool:
    return any(flaw.message == UNCLOSED for flaw in scan(text).flaws)


# The input line: its keys, colours, history and the toolbar below it.

STYLE = Style.from_dict(
    {
        "pygments.keyword": "bold",
        "pygments.keyword.pseudo": "ansicyan",
        "pygments.name.entity": "",
        "pygments.name.attribute": "ansigreen",
        "pygments.name.decorator": "ansiyellow",
        "pygments.literal.string": "ansiyellow",
        "pygments.comment": "ansibrightblack",
        "pygments.error": "ansired underline",
        "bottom-toolbar": "noreverse",
        "toolbar.writable": "bold",
        "toolbar.read-only": "ansiyellow bold",
        "toolbar.staged": "ansiyellow bold",
        "toolbar.due": "ansired bold",
    }
)
"""The styles of the input line, in only the sixteen colours that every terminal has."""


class ShellLexer(CommandLexer):
    """The lexer of kac's language for the shell, which colours the words of an entry."""

    def __init__(self, **options: object) -> None:
        super().__init__(**{**options, "where": Where.SHELL})


class KeptHistory(History):
    """The history that the shell shares with the screen: commands without their secrets, in a file."""

    def __init__(self, file: CommandHistory | None) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, the latest first."""
        return reversed(self._file.read()) if self._file else ()

    def append_string(self, string: str) -> None:
        """Add an entry to this shell's history, without its secrets."""
        super().append_string(redact(string))

    def store_string(self, string: str) -> None:
        """Write an entry to the file; a multi-line entry as one line."""
        if self._file is not None:
            self._file.add("; ".join(line for line in string.splitlines() if line.strip()))


class Line:
    """Prompts for entries. The line below the prompt shows the help of the selected completion; without a selected one,
    `toolbar`.
    """

    def __init__(
        self,
        completer: ShellCompleter,
        toolbar: Callable[[], StyleAndTextTuples],
        *,
        history: CommandHistory | None = None,
        vi: bool = False,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._completer = completer
        self._toolbar = toolbar
        output = _harmless(output or _output())
        self._prompt: PromptSession[str] = PromptSession(
            history=KeptHistory(history),
            completer=completer,
            complete_while_typing=True,
            lexer=PygmentsLexer(ShellLexer),
            style=STYLE,
            bottom_toolbar=self._below,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            key_bindings=_keys(),
            multiline=True,
            enable_suspend=True,
            prompt_continuation="… ",
            reserve_space_for_menu=6,
            input=input,
            output=output,
        )
        self._other: PromptSession[str] = PromptSession(input=input, output=output)

    async def entry(self, prompt: str) -> str:
        """Prompt for an entry and return it.

        Raises:
            KeyboardInterrupt: Ctrl-C.
            EOFError: Ctrl-D on an empty line.
        """
        return await self._prompt.prompt_async(prompt)

    @property
    def answers(self) -> bool:
        """Whether a user can answer questions: always True at a prompt."""
        return True

    @property
    def keeps_secrets(self) -> bool:
        """Whether input can be hidden: always True at a prompt."""
        return True

    async def line(self, prompt: str) -> str:
        """Return the answer to a question; ``""`` for Ctrl-C and Ctrl-D."""
        try:
            return (await self._other.prompt_async(prompt, is_password=False)).strip()
        except (KeyboardInterrupt, EOFError):
            return ""

    async def secret(self, prompt: str) -> Secret:
        """Prompt for a secret without echo and return it.

        Raises:
            KeyboardInterrupt: Ctrl-C.
            EOFError: Ctrl-D.
        """
        return Secret(await self._other.prompt_async(f"{prompt}: ", is_password=True))

    def _below(self) -> FormattedText:
        state = get_app().current_buffer.complete_state
        chosen = state.current_completion if state is not None else None
        text = self._completer.helps.get(chosen.text, "") if chosen is not None else ""
        return FormattedText([("", f" {text}")] if text else self._toolbar())


def _output() -> Output:
    stdout = drawn_on("stdout")
    # prompt_toolkit's default output writes escape sequences even to a dumb terminal.
    return PlainTextOutput(stdout) if is_dumb_terminal() else create_output(stdout)


def _harmless(output: Output) -> Output:
    """Return an output that removes control characters from texts, except line ends.

    prompt_toolkit's own escape sequences pass, because it writes them with `write_raw`.
    """
    write = output.write

    def written(data: str) -> None:
        write("".join(part if part in ("\r", "\n") else harmless(part) for part in re.split(r"([\r\n])", data)))

    output.write = written  # type: ignore[method-assign]
    return output


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @Condition
    def whole() -> bool:
        return is_complete(get_app().current_buffer.text)

    @keys.add("enter", filter=whole & ~is_searching)
    def enter(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys
