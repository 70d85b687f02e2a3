"""The programs and notebooks in examples/ run."""

import ast
import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("example", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


@pytest.mark.parametrize("notebook", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_shows_what_its_cells_give(notebook):
    pytest.importorskip("numpy")
    scope = {"__name__": "__main__"}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert run_cell("".join(cell["source"]), scope) == shown(cell["outputs"])


def run_cell(source, scope):
    """What a cell prints, and then the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), scope)
        value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), scope)
    return printed.getvalue() + ("" if value is None else repr(value))


def shown(outputs):
    """The same as the notebook has it."""
    texts = (output.get("text") or output["data"]["text/plain"] for output in outputs)
    return "".join("".join(text) for text in texts)
