"""The order of the house: a room imports those before it, never those after."""

import ast

from tests.configuration import ROOT

ROOMS = ("spectral", "datasets", "model", "training", "experiments", "reporting")
#: Modules that any room may use; they use only those before them.
TOOLS = ("devices", "files", "fractional", "jsonfiles", "locks", "logs", "paths", "versions")


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts == ["flode"]:
                yield from (alias.name for alias in node.names if alias.name in ROOMS + TOOLS)
            elif parts[0] == "flode":
                yield parts[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("flode."):
                    yield alias.name.split(".")[1]


def test_every_room_imports_only_those_before_it():
    seen = 0
    for path in sorted((ROOT / "flode").rglob("*.py")):
        room = path.relative_to(ROOT / "flode").parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for imported in imports(path):
            seen += 1
            if room in TOOLS:
                assert imported in TOOLS[: TOOLS.index(room)], f"{path}: a tool imports {imported}"
            elif imported not in TOOLS:
                assert ROOMS.index(imported) <= ROOMS.index(room), f"{path} imports {imported}"
    assert seen > 50


def test_scripts_are_thin():
    scripts = sorted((ROOT / "workflow" / "scripts").glob("*.py"))
    assert len(scripts) >= 6
    for script in scripts:
        lines = script.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 60, script
        assert not any(line.startswith(("def ", "class ")) for line in lines), script
