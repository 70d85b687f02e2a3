"""Runs the queries of the file `queries` by sqlite3 over the tables `*.jsonl` and `*.short`, and compares with what the
shell said, which is standard input. Rows without an order are compared sorted.

Two texts are the same if numbers of 15 digits in them differ by one in the last: sqlite3 before 3.43 makes the text of a
float by arithmetic that is not exact, so a half is rounded up or down.
"""
import json
import math
import re
import sqlite3
import sys

TABLES = {"t": ["id", "i", "f", "s", "x"], "u": ["k", "i", "s", "x"], "w": ["id", "i", "f", "s"]}


def key(value):
    """The order of sqlite3; floats that differ in the last digits are next to each other."""
    if value is None:
        return (0, 0)
    if isinstance(value, (int, float)):
        return (1, value)
    return (2, value)


def infinite(value):
    """JSON has no infinity: the shell writes it as a text."""
    return float(value) if value in ("Inf", "-Inf") else value


def same(one, two):
    if isinstance(one, float) or isinstance(two, float):
        numbers = all(isinstance(value, (int, float)) for value in (one, two))
        return numbers and (one == two or math.isclose(one, two, rel_tol=1e-12))
    if isinstance(one, str) and isinstance(two, str) and one != two:
        return nearly(one, two)
    return one == two


LONG = re.compile(r"\d[\d.]{12,}")


def nearly(one, two):
    """Whether texts differ in the last of 15 digits only."""
    numbers = [[int(digits.replace(".", "")) for digits in LONG.findall(text)] for text in (one, two)]
    near = all(abs(a - b) <= 10 for a, b in zip(*numbers))
    return near and LONG.sub("", one) == LONG.sub("", two)


def answers(text):
    """What was said before each line `true`, which `member t 1` says."""
    decoder, at = json.JSONDecoder(), 0
    found = []
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        while at < len(text) and text[at].isspace():
            at += 1
        if value is True:
            yield found
            found = []
        else:
            found.append(value)


database = sqlite3.connect(":memory:")
for table, columns in TABLES.items():
    database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
    files = [open(f"{table}.{end}", encoding="utf-8") for end in ("jsonl", "short")]
    for line in files[0].readlines() + files[1].readlines():
        row = json.loads(line)
        marks = ", ".join("?" * len(columns))
        database.execute(f"INSERT INTO {table} VALUES ({marks})", [row[name] for name in columns])

queries = open("queries", encoding="utf-8").read().split("\n")
said = list(answers(sys.stdin.read()))
if len(said) != len(queries):
    sys.exit(f"{len(queries)} queries, {len(said)} answers")
wrong = 0
rows = 0
for query, found in zip(queries, said):
    for statement in query.split("; "):
        wanted = [list(row) for row in database.execute(statement).fetchall()]
    ours = [[infinite(value) for value in row.values()] for row in (found[0] if found else [])]
    if "ORDER BY" not in query:
        wanted.sort(key=lambda row: [key(value) for value in row])
        ours.sort(key=lambda row: [key(value) for value in row])
    rows += len(wanted)
    good = len(wanted) == len(ours) and all(
        len(a) == len(b) and all(map(same, a, b)) for a, b in zip(wanted, ours)
    )
    if not good:
        wrong += 1
        if wrong <= 10:
            pairs = [(a, b) for a, b in zip(wanted, ours) if len(a) != len(b) or not all(map(same, a, b))]
            print(f"{query}\n  {len(wanted)} rows of sqlite3, {len(ours)} of fyris, (sqlite3, fyris): {pairs[:3]}")
print(f"{len(queries) - wrong} of {len(queries)} queries agree, with {rows} rows")
sys.exit(wrong > 0)
