"""Which calls let other threads of Python run: those that may take long, and no others."""

import os
import sys
import threading
import uuid

import pytest

import fyris

PAIRS = {n: n for n in range(50_000)}


@pytest.fixture
def table():
    table = fyris.Table("ordered_set")
    table.update(PAIRS)
    return table


@pytest.fixture(autouse=True)
def nobody_is_interrupted():
    """A thread goes on until it gives the lock away by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


def lets_others_run(call):
    """Whether another thread runs before the call is over."""
    go, ran = threading.Lock(), []
    go.acquire()

    def other():
        go.acquire()
        ran.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    go.release()
    call()
    did = bool(ran)
    thread.join()
    return did


@pytest.mark.parametrize("name", ["select", "to_list", "range", "update", "insert_many", "save", "load", "update_by_a_table", "columns", "import_from"])
def test_long_calls_do(table, name, tmp_path):
    file = tmp_path / "table.ets"
    table.save(file)
    dump = tmp_path / "dump.txt"
    rows = "".join(f"{{people,{n},{n}}}.\n" for n in range(5000))
    dump.write_text("{tables,[{people,[{record_name,people},{attributes,[name,age]}]}]}.\n" + rows)
    calls = {
        "select": lambda: table.select("[{{'$1', '_'}, [{'<', {'rem', '$1', 7}, 0}], ['$1']}]"),
        "to_list": table.to_list,
        "range": table.range,
        "update": lambda: table.update(PAIRS),
        "insert_many": lambda: table.insert_many(PAIRS.items()),
        "save": lambda: table.save(file),
        "load": lambda: fyris.Table.load(file),
        "update_by_a_table": lambda: table.update(table),
        "columns": table.__arrow_c_stream__,
        "import_from": lambda: fyris.import_from(dump),
    }
    # The other thread needs a processor in that time, which it may not get at once.
    assert any(lets_others_run(calls[name]) for _ in range(200))


def test_a_commit_does():
    name = f"pytest-{os.getpid()}-{uuid.uuid4().hex}"
    with fyris.Segment(name, 16 << 20, after_unlink=True) as segment:
        fyris.unlink(name)
        for turn in range(200):
            segment[:] = bytes([turn % 256]) * len(segment)
            if lets_others_run(segment.commit):
                return
    raise AssertionError


def test_short_calls_do_not(table):
    walk, items = iter(table), iter(table.items())
    next(walk), next(items)
    calls = [
        lambda: table[7],
        lambda: table.get(-1),
        lambda: 7 in table,
        lambda: table.__setitem__(7, {"a": [1]}),
        lambda: table.lookup(7),
        lambda: table.update_counter(8, 1),
        lambda: next(walk),
        lambda: next(items),
        lambda: len(table),
    ]
    for call in calls:
        assert not any(lets_others_run(call) for _ in range(20))
