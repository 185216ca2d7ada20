"""The operator's settings of Spark: `--conf NAME=VALUE`, and Spark's own file of defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from console.collecting.java import NoSpark
from console.lake.spark import EVERYWHERE, SECRETS
from console.model.java_properties import parse_properties
from console.safe_files import UntrustedPath, read_text, require_own, why_unread

FILE = "spark-defaults.conf"
FOLDER = "SPARK_CONF_DIR"
LARGEST = 1 << 20
HELD = frozenset(
    {
        *EVERYWHERE,
        *("spark.master", "spark.submit.deployMode", "spark.jars"),
        *("spark.driver.host", "spark.driver.bindAddress", "spark.authenticate"),
    }
)
"""Names of settings that the operator can't change: the lake's tables, its readers or the safety of this host depend on
them.
"""


def setting_of(text: str) -> tuple[str, str]:
    """Return the name and the value in the text of a ``--conf`` option.

    Raises:
        ValueError: the text is not NAME=VALUE, kac sets this name itself, or the value must not be in a command line;
            the message does not contain the value.
    """
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"spark\.[\w.-]+", name, re.ASCII):
        raise ValueError("write NAME=VALUE with a name of Spark's, as spark.ui.enabled=true")
    if name == "spark.master":
        raise ValueError("spark.master is --master URL")
    if name in HELD:
        raise ValueError(f"{name} is set by kac: the lake's tables or the safety of this host depend on it")
    if re.search(SECRETS, name):
        raise ValueError(
            f"{name} is a secret, and every user of this host sees a command line: write it into {FILE}, in the "
            f"folder that {FOLDER} names"
        )
    return name, value


def settings_of_file(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in the file `spark-defaults.conf` of the folder that `SPARK_CONF_DIR` names, without those
    that kac sets itself; empty without such a file.

    Raises:
        NoSpark: the file can't be read, or another user may change it: it determines the code that Spark loads.
    """
    path = Path(environ.get(FOLDER, ""), FILE)
    if not path.is_absolute() or not path.exists():
        return {}
    try:
        require_own(path)
        entries = parse_properties(read_text(path, LARGEST))
    except UntrustedPath as error:
        raise NoSpark(f"{path} is not read: {error.strerror}") from None
    except (OSError, ValueError) as error:
        raise NoSpark(f"{path} can't be read: {why_unread(error)}") from None
    return {each.key: each.value.strip() for each in entries if each.key.startswith("spark.") and each.key not in HELD}
