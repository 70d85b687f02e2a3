"""Ranges, prefixes and other verbs by which objects are found, taken and changed."""

import threading
import time
from datetime import date

import fyris
import pytest
from fyris import Atom


def squares():
    table = fyris.Table("ordered_set")
    table.update((n, n * n) for n in range(10))
    return table


def test_prefixes():
    any_ = Atom("_")
    table = fyris.Table("ordered_set")
    texts = ["", "car", "cart", "cas", "caß", "ca\U0010ffff", "ca\U0010ffffx", "cb", "\U0010ffff"]
    parts = [("ada", 1), ("ada", 2), ("ada", 1, 1), ("bob", 1), ("ada",)]
    rest = [b"car", b"cart", b"cb", b"", [1], [1, 2], [2], [], 1, 1.5, Atom("car"), {"car": 1}]
    table.insert_many((key,) for key in [*texts, *parts, *rest])

    def found(prefix, **options):
        return [key for (key,) in table.prefix(prefix, **options)]

    for prefix in ["", "c", "ca", "car", "cas", "ca\U0010ffff", "\U0010ffff", "d"]:
        assert found(prefix) == sorted(text for text in texts if text.startswith(prefix)), prefix
    assert found("ca", limit=2) == ["car", "cart"]
    assert found("ca", limit=1, reverse=True) == ["ca\U0010ffffx"]
    assert found(b"car") == [b"car", b"cart"] and found(b"") == [b"", b"car", b"cart", b"cb"]
    assert found([1]) == [[1], [1, 2]]
    assert found(("ada", any_)) == [("ada", 1), ("ada", 2)]
    assert found(("ada", any_, any_)) == [("ada", 1, 1)]
    assert found((any_, any_)) == [("ada", 1), ("ada", 2), ("bob", 1)]
    assert found(("ada", 1)) == [("ada", 1)]
    for wrong in (1, None, (any_, 1), {"a": 1}, Atom("car")):
        with pytest.raises(fyris.BadValue):
            table.prefix(wrong)
    with pytest.raises(fyris.WrongType):
        fyris.Table().prefix("ca")


def test_seek():
    table = squares()
    assert table.seek(3) == table.seek(2.5) == (3, 9)
    assert table.seek(3, reverse=True) == table.seek(3.5, reverse=True) == (3, 9)
    assert table.seek(10) is None and table.seek(-1, reverse=True) is None
    with pytest.raises(fyris.WrongType):
        fyris.Table().seek(1)


def test_ranges_are_taken_and_deleted():
    table = squares()
    assert table.take_range(start=2, stop=4) == [(2, 4), (3, 9)]
    assert table.take_range(start=2, limit=1, reverse=True) == [(9, 81)]
    assert table.delete_range(start=6, stop=8) == 2 and table.delete_range(start=6, stop=8) == 0
    assert list(table) == [0, 1, 4, 5, 8]
    with pytest.raises(TypeError):
        table.take_range(form=3)
    with pytest.raises(TypeError):
        table.delete_range(5)
    with pytest.raises(TypeError):
        table.delete_range(start=5, limit=1)
    assert len(table) == 5
    assert table.drain() == [(n, n * n) for n in (0, 1, 4, 5, 8)] and not table.drain()


def test_parts_of_objects():
    table = fyris.Table()
    table["ada"] = {"born": (10, 12, 1815), "by": ["x", "y"]}
    assert table.get_in("ada", [2, "born", 3]) == 1815
    assert table.get_in("ada", (2, "nobody")) is None
    assert table.get_in("bob", [2], default=0) == 0
    assert table.get_in("ada", [2, "by", 1]) == "x"
    for wrong in ([], ["born"], [0], [-1], "born", [2.0]):
        for use in (table.get_in, table.delete_in):
            with pytest.raises(fyris.BadValue, match="position"):
                use("ada", wrong)
    with pytest.raises(fyris.BadValue, match="position"):
        table.put_in("ada", [], 1)


def test_the_order_of_keys_that_the_readme_tells():
    keys = [-1, 1.5, 2, Atom("a"), False, True, None, (), (2, 1), (1, 1, 1), {"z": 1}, {"a": 1, "b": 1}, [], [1]]
    keys += ["", "a", "b", "\U0010ffff", [[1]], b"", b"a"]
    table = fyris.Table("ordered_set")
    table.insert_many((key,) for key in reversed(keys))
    assert list(table) == keys
    assert table.range(start=(1,), stop=(2,)) == []
    # Not by time: the map's day comes before its month.
    days = [date(2024, 2, 1), date(2024, 1, 2)]
    table = fyris.Table("ordered_set")
    table.insert_many((day,) for day in days)
    assert list(table) == days


def test_compute():
    table = fyris.Table("ordered_set")
    assert table.compute("hits", lambda n: n + 1, 0) == 1
    assert table.compute("hits", lambda n: n + 1, 0) == 2
    assert table.compute("absent", lambda value: value) is None and table["absent"] is None
    # One key, of which one is put in and the other asked for.
    table[1.0] = 5
    assert table.compute(1, lambda n: n * 2) == 10 and table[1.0] == 10
    second = fyris.Table(keypos=2)
    second.insert((1, "k"))
    assert second.compute("k", lambda n: n + 1) == 2 and second.lookup("k") == [(2, "k")]
    with pytest.raises(ZeroDivisionError):
        table.compute("hits", lambda n: n // 0)
    with pytest.raises(TypeError):
        table.compute("hits", lambda n: object())
    assert table["hits"] == 2
    table.insert(("triple", 1, 2))
    with pytest.raises(fyris.BadValue):
        table.compute("triple", lambda n: n)
    with pytest.raises(fyris.WrongType):
        fyris.Table("bag").compute("k", lambda n: n)


def test_compute_loses_nothing():
    # In the place of another thread, between what the function reads and what is stored: a write, a delete, a new key.
    table = fyris.Table()
    for before, meanwhile, seen in (
        ({"hits": 1}, lambda: table.update(hits=10), [1, 10]),
        ({"hits": 1}, lambda: table.pop("hits"), [1, 0]),
        ({}, lambda: table.update(hits=10), [0, 10]),
    ):
        table.clear()
        table.update(before)
        values, after = [], [meanwhile, lambda: None]

        def count(n):
            values.append(n)
            after[len(values) - 1]()
            return n + 1

        assert table.compute("hits", count, 0) == table["hits"] == seen[-1] + 1 and values == seen


def test_a_function_that_writes_its_own_key_ends():
    table, runs = fyris.Table(), []
    table["hits"] = 0

    def write(n):
        runs.append(n)
        table["hits"] += 1
        return 0

    for compute in (lambda: table.compute("hits", write), lambda: table.update_in("hits", [2], write)):
        runs.clear()
        with pytest.raises(fyris.Conflict, match="or by the function itself") as caught:
            compute()
        assert caught.value.table is table and caught.value.key == "hits" and len(runs) == 1000


def test_compute_of_several_threads_loses_nothing():
    table = fyris.Table()

    def one_more(n):
        time.sleep(0)  # Other threads go on.
        return n + 1

    def count():
        for _ in range(500):
            table.compute("hits", one_more, 0)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table["hits"] == 2000


def test_transactions_have_them():
    table = squares()

    def move(tx):
        within = tx.table(table)
        within.compute(1, lambda n: n + 1)
        return within.take_range(stop=1), within.delete_range(start=8), within.seek(8)

    with fyris.transaction() as tx:
        assert move(tx) == ([(0, 0)], 2, None)
    assert list(table) == list(range(1, 8)) and table[1] == 2
