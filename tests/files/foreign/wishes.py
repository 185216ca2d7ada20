"""Functions that read a text in another tool's format, and return the wanted state, the problems or the notes."""

from pathlib import Path

from console.files.read import Read, for_cluster
from console.files.reading import read_files
from console.model.yaml_places import FileProblems


def wanted(folder: Path, text: str, context: str | None = None) -> Read:
    """Write a file with this text, and read it. context: the name of the context; None if there is no context."""
    file = folder / "file.yaml"
    file.write_text(text)
    return for_cluster(read_files([str(file)]), context)


def problems(folder: Path, text: str, context: str | None = None) -> list[str]:
    """Return the problems of a file with this text, without the name of its folder; empty if it has none."""
    try:
        wanted(folder, text, context)
    except FileProblems as found:
        return [str(each).replace(f"{folder}/file.yaml", "file") for each in found.problems]
    return []


def notes(folder: Path, text: str) -> list[str]:
    """Return the notes that kac makes about a file with this text."""
    return [str(each).replace(f"{folder}/file.yaml", "file") for each in wanted(folder, text).notes]
