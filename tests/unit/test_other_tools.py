"""Tests of messages that name another tool: each is listed here, with the reason why it names no command of kac."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from console.cli import main as cli
from console.language.verbs import VERBS

ROOT = Path(__file__).parents[2]
TOOL = re.compile(
    r"(?<![\w.-])(kafka-(?!admin-console|cluster\b)[a-z]+(?:-[a-z]+)*|kafkactl|kubectl|keytool|openssl|kcat|kaf|rpk|kcl|"
    r"zookeeper-shell|kinit|klist|ssh-add|az account|aws (?:sso|configure)|pip install|chmod)(?:\.sh)?(?![\w.])"
)
LIKE_TOOL = re.compile(
    r"kafka-|kafkactl|kubectl|keytool|openssl|kcat|kaf|rpk|kcl|zookeeper|kinit|klist|ssh-|az |aws|pip|chmod"
)
"""A pattern that matches in each file that names a tool, also if the code writes the name in two pieces."""
ALLOWED = {
    "aws configure": "AWS' own credentials: only its command line makes them",
    "aws sso": "AWS' own login: only its command line makes it",
    "az account": "Azure's own token: its command line is the token command",
    "chmod": "file modes: the operator's, not the cluster's",
    "keytool": "key stores of Java: kac reads them and writes none",
    "kinit": "tickets of Kerberos: kac uses them and gets none",
    "klist": "the same",
    "ssh-add": "the agent of ssh",
    "pip install": "an extra of kac's own",
}
"""Tool -> the reason why any message may name it."""
OTHERS_WORDS = "console/language/other_words.py"
"""The module with other tools' words, and with kac's line for each of their commands."""
OTHERS_NOUNS = {verb.noun for verb in VERBS.values()}
"""Other tools' words for nouns, in the records of verbs."""
NOTE = "a note in a script of that tool's commands, which was asked for"
SAYING = {
    ("console/cli/kafka_configs/command.py", "kafka-configs"): "kac configs becomes it where it is asked to",
    ("console/cli/kafka_configs/command_line.py", "kafka-configs"): "kac configs becomes it where it is asked to",
    ("console/contexts/other_tools.py", "kafkactl"): "whose contexts are read",
    ("console/admin/kube.py", "kubectl"): "it makes the connections, and says why it makes none",
    ("console/contexts/secret_sources.py", "kubectl"): "it reads the Secret",
    ("console/files/foreign/kafka_acls.py", "kafka-acls"): "a form that is read",
    ("console/files/foreign/kafka_configs.py", "kafka-configs"): "a form that is read",
    ("console/files/foreign/reassignment.py", "kafka-reassign-partitions"): "a form that is read",
    ("console/triage/causes/changed.py", "kafka-streams-application-reset"): "it resets the state of an application",
    ("console/plan/group_commands.py", "kafka-consumer-groups"): NOTE,
    ("console/plan/group_commands.py", "kafka-share-groups"): NOTE,
    ("console/plan/kinds/acls.py", "kafka-acls"): NOTE,
    ("console/plan/kinds/configs.py", "kafka-configs"): NOTE,
    ("console/plan/kinds/quotas.py", "kafka-configs"): NOTE,
    ("console/plan/kinds/scram.py", "kafka-configs"): NOTE,
    ("console/cli/files.py", "kafka-reassign-partitions"): "a form that is read",
    ("console/cli/files.py", "kafka-acls"): "a form that is read",
    ("console/cli/files.py", "kafka-configs"): "a form that is read",
    ("console/cli/main.py", "kafka-configs"): "whose options kac configs has",
    ("console/cli/manual/pages.py", "kafka-configs"): "whose options kac configs has",
    ("console/cli/moves.py", "kafka-reassign-partitions"): "a form that is written",
    ("console/language/verbs/plan.py", "kafka-topics"): "a runbook is made of them",
    ("console/language/verbs/plan.py", "kafka-configs"): "a runbook is made of them",
    ("console/language/verbs/plan.py", "kafka-acls"): "a runbook is made of them",
    ("console/admin/tokens.py", "kafka-delegation-tokens"): "brokers tell a token's HMAC to its owner; "
    "kac shows it once, and on a terminal alone",
}
"""(file, tool) -> the reason why the file names the tool."""


def constants(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the strings in a module's source that are not docstrings."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


@cache
def named() -> list[tuple[str, int, str]]:
    """Return file, line and tool for each tool that a string of the product names."""
    paths = (path for room in ("console", "widgets", "themes") for path in sorted((ROOT / room).rglob("*.py")))
    return [
        (str(path.relative_to(ROOT)), line, found[1])
        for path in paths
        if LIKE_TOOL.search(source := path.read_text(encoding="utf-8"))
        for line, text in constants(source)
        # A word by itself is no message: it is a program that kac runs, a word of a script, or the name of a form.
        if not TOOL.fullmatch(text) and text not in OTHERS_NOUNS
        for found in TOOL.finditer(text)
    ]


def is_right(file: str, tool: str) -> bool:
    return tool in ALLOWED or file == OTHERS_WORDS or (file, tool) in SAYING


def test_each_tool_that_a_message_names_has_a_reason_and_none_is_left_over() -> None:
    assert [each for each in named() if not is_right(each[0], each[2])] == []
    there = {(file, tool) for file, _, tool in named()}
    assert SAYING.keys() <= there
    assert ALLOWED.keys() <= {tool for _, tool in there}


def test_a_message_that_sends_people_to_another_tool_is_found() -> None:
    text = "replicas are moved by a reassignment, see kafka-reassign-partitions"
    assert TOOL.search(text) is not None
    assert LIKE_TOOL.search(text) is not None
    assert not is_right("console/cli/nouns.py", "kafka-reassign-partitions")
    assert TOOL.search("ALTER on CLUSTER kafka-cluster; kafka-request.log of kafka-admin-console") is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--replication-factor", "3"], "kac moves replication t.x 3 plans it, and with --run does it"),
        (["--replica-assignment", "1:2,2:1"], "kac run -e 'move topic t.x partition N to ID,ID,…' stages it"),
    ],
)
def test_other_replicas_are_the_command_that_moves_them(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["topics", "-b", "127.0.0.1:1", "--alter", "--topic", "t.x", *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
