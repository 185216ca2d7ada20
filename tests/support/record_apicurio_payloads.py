"""Writes apicurio_payloads.json: payloads of Apicurio's own serializers, and the registry's answers for their ids.

``python -m tests.support.record_apicurio_payloads`` needs Java, its compiler, Maven and the network.
"""

import json
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.apicurio import API, VERSION, apicurio, apicurio_folder
from tests.support.kafka_jars import FETCH_SECONDS, compiler, java

SOURCE = Path(__file__).with_name("ApicurioPayloads.java")
RECORDED = Path(__file__).with_name("apicurio_payloads.json")
OWN = "/apis/registry/v2"
_ARTIFACTS = ("apicurio-registry-serdes-avro-serde", "apicurio-registry-serdes-protobuf-serde")
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>payloads</groupId><artifactId>payloads</artifactId><version>1</version><dependencies>{}</dependencies></project>"""


def main() -> None:
    """Record the payloads and answers, and write the file."""
    with tempfile.TemporaryDirectory() as name, apicurio(apicurio_folder()) as url:
        folder, base = Path(name), url.removesuffix(API)
        classes = f"{folder}:{_jars(folder)}/*"
        subprocess.run([compiler(), "-proc:none", "-nowarn", "-cp", classes, "-d", name, str(SOURCE)], check=True)
        command = [java(), "-cp", classes, SOURCE.stem, base + OWN]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        paths = []
        for of in ("globalId", "contentId"):
            for number in {int(value, 16) for line in lines for key, value in json.loads(line)["headers"] if of in key}:
                paths += [f"/ids/{of}s/{number}", f"/ids/{of}s/{number}/references", f"/search/artifacts?{of}={number}"]
        answers: dict[str, Any] = {}
        # The loop also adds the paths of references.
        for path in paths:
            answers[OWN + path] = _got(base + OWN + path)
            if path.endswith("/references"):
                for each in json.loads(answers[OWN + path]):
                    found = f"/groups/default/artifacts/{quote(each['artifactId'], safe='')}/versions/{each['version']}"
                    paths += [found, f"{found}/references"]
    payloads = [json.loads(line) for line in lines]
    made = {"release": VERSION, "payloads": payloads, "answers": dict(sorted(answers.items()))}
    RECORDED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def _jars(folder: Path) -> Path:
    dependencies = "".join(
        f"<dependency><groupId>io.apicurio</groupId><artifactId>{each}</artifactId><version>{VERSION}</version></dependency>"
        for each in _ARTIFACTS
    )
    (folder / "pom.xml").write_text(_POM.format(dependencies), encoding="utf-8")
    goal = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"
    command = [str(shutil.which("mvn")), "-q", "-B", goal, "-DoutputDirectory=jars"]
    subprocess.run(command, check=True, cwd=folder, timeout=FETCH_SECONDS)
    return folder / "jars"


def _got(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        return str(answer.read().decode())


if __name__ == "__main__":
    main()
