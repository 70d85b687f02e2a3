#!/usr/bin/env python3
"""Whether each name in README's table of verbs is there, in its language, and each verb of Erlang's in the table.

A cell names functions in backquotes, or says why there is none.

    ci/verbs.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def text(pattern):
    return "\n".join(path.read_text() for path in sorted(ROOT.glob(pattern)))


def found(pattern, files):
    return set(re.findall(pattern, text(files), re.MULTILINE))


def exports():
    """Return the names that `fyris.erl` exports."""
    lists = re.findall(r"^-export\(\[(.*?)\]\)\.", text("erlang/src/fyris.erl"), re.MULTILINE | re.DOTALL)
    return set(re.findall(r"([a-z_0-9]+)/\d", " ".join(lists)))


def names():
    """Return, for each column, the names that there are, and types or modules that a cell may speak of."""
    shell = found(r'name: "([a-z_]+)"', "crates/cli/src/shell/**/*.rs")
    return {
        "Rust": found(r"pub fn ([a-z_0-9]+)", "crates/store/src/**/*.rs") | {"Store", "TypedTable"},
        "Erlang": exports(),
        "Elixir": found(r"^\s*(?:def|defbang|defdelegate)[ (]([a-z_]+[?!]?)", "erlang/elixir/lib/**/*.ex") | {"Enum"},
        "Python": found(r"^\s*def ([a-z_]+)\(", "python/fyris/__init__.pyi") | {"limit"},
        "C": found(r"\b(fyris_[a-z_]+)\(", "crates/capi/include/fyris.h"),
        "Shell": shell | {"$2"},
    }


def table():
    """Return the head and the rows of the table, as lists of cells."""
    section = (ROOT / "README.md").read_text().split("## The same verbs everywhere", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in row] for row in rows]
    return rows[0], rows[2:]


def faults():
    head, rows = table()
    there = names()
    for row in rows:
        if len(row) != len(head):
            yield f"{row[0]}: {len(row)} cells, not {len(head)}"
        for column, cell in zip(head[1:], row[1:]):
            if not cell:
                yield f"{row[0]}, {column}: neither a name nor a reason"
            for name in re.findall(r"`([^`]+)`", cell):
                if name not in there[column]:
                    yield f"{row[0]}, {column}: no {name}"
    named = set(re.findall(r"`([^`]+)`", " ".join(row[2] for row in rows)))
    own = re.search(r"^-export\(\[open/2.*?\]\)\.", text("erlang/src/fyris.erl"), re.MULTILINE | re.DOTALL)
    for verb in sorted(set(re.findall(r"([a-z_0-9]+)/\d", own.group())) - named - {"open"}):
        yield f"fyris:{verb} is in no row"


def main():
    wrong = list(faults())
    for fault in wrong:
        print(f"verbs: README.md: {fault}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    print(f"verbs: {len(table()[1])} rows, all names are there")


main()
