"""The type stubs promise what there is: no name that cannot be imported, none left out."""

import ast
import runpy
from pathlib import Path

import fyris

STUB = ast.parse(Path(fyris.__file__).with_suffix(".pyi").read_text())


def names(body):
    """What a module or class of the stub defines, by name."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found[node.targets[0].id] = node
    return found


def public(found):
    return {name for name in found if not name.startswith("_")}


def test_what_the_stub_names_can_be_imported():
    # `from fyris import Value` once satisfied mypy and failed when it ran.
    assert public(names(STUB.body)) == set(fyris.__all__) - {"__version__"}


def test_classes_have_the_members_that_the_stub_names():
    for name, node in names(STUB.body).items():
        real = getattr(fyris, name, None)
        if not isinstance(node, ast.ClassDef) or not isinstance(real, type):
            continue
        if issubclass(real, Exception):
            continue
        assert public(names(node.body)) == public(vars(real)), name


def test_the_program_that_checkers_find_right_runs(capsys):
    runpy.run_path(str(Path(__file__).parent / "typed" / "right.py"), run_name="__main__")
    assert capsys.readouterr().out == "right\n"
