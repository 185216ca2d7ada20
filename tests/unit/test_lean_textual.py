"""Tests that kac does not need the modules of Textual that it does not load at the start. The tests fail if another
release of Textual uses these modules elsewhere.
"""

import ast
import inspect
import json
import subprocess
import sys
from types import ModuleType

import textual.app
import textual.theme

from console.tui.app import Console
from tests.support.patience import PATIENCE
from widgets.lean_textual import FOLDERS, PALETTE

_IMPORTED = """
import json, sys
from widgets.lean_textual import PALETTE, import_app
import_app()
early = sorted(sys.modules)
from platformdirs import user_downloads_path
from textual.command import CommandPalette, Provider
from textual.widget import Widget
print(json.dumps([early, issubclass(CommandPalette, Widget), Provider.__module__, str(user_downloads_path())]))
"""


def test_an_app_is_imported_without_the_palette_and_the_palette_is_there_later() -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTED], capture_output=True, check=True, timeout=PATIENCE)
    early, is_widget, module, downloads = json.loads(done.stdout)
    assert "textual.app" in early
    assert not {FOLDERS, "tempfile", "shutil"} & set(early)
    assert downloads
    assert not {PALETTE, "textual.types", "textual.widgets._input", "textual.widgets._option_list"} & set(early)
    assert is_widget
    assert module == PALETTE


def test_the_console_uses_neither_the_palette_nor_the_folders_of_textual() -> None:
    assert not Console.ENABLE_COMMAND_PALETTE
    # These functions show the palette, or the palette calls them; action_command_palette checks ENABLE_COMMAND_PALETTE
    # first.
    assert _where_used(textual.app) == {"search_commands", "search_themes", "action_command_palette"}
    assert _where_used(textual.theme) == {"ThemeProvider", "discover", "search"}
    # The console does not deliver files through Textual: it writes them itself.
    assert _where_used(textual.app, FOLDERS) == {"_deliver_binary"}


def _where_used(module: ModuleType, left_out: str = PALETTE) -> set[str]:
    """Return the functions and classes of a module that use a name from the module that is not loaded."""
    tree = ast.parse(inspect.getsource(module))
    names = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == left_out
        for alias in node.names
    }
    assert names
    found: set[str] = set()

    def visit(node: ast.AST, where: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            where = node.name
            children: list[ast.AST] = list(node.body)  # annotations are not evaluated
        elif isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        elif isinstance(node, ast.ClassDef):
            where = node.name
            children = [*node.bases, *node.keywords, *node.decorator_list, *node.body]
        else:
            children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Name) and node.id in names:
            found.add(where)
        for child in children:
            visit(child, where)

    visit(tree, "")
    return found
