"""Parts of objects changed by their paths, and changes that return what they changed."""

import threading

import fyris
import pytest


def people():
    table = fyris.Table()
    table.insert(("joe", {"langs": ["c", "prolog"], "age": 41}, (1, 2)))
    return table


def test_parts_are_put_and_taken():
    table = people()
    assert table.put_in("joe", [2, "langs", 1], "erlang")
    assert table.put_in("joe", [2, "born"], 1950)
    assert table.put_in("joe", [3, 2], {"a": 1})
    assert not table.put_in("mike", [2], 0)
    whole = ("joe", {"langs": ["erlang", "prolog"], "age": 41, "born": 1950}, (1, {"a": 1}))
    assert table.lookup("joe") == [whole]
    assert table.delete_in("joe", [2, "born"]) == 1950
    assert table.delete_in("joe", [2, "born"]) is None
    assert table.delete_in("joe", [2, "born"], "unknown") == "unknown"
    assert table.delete_in("mike", [2, "born"], 7) == 7
    assert table.delete_in("joe", [2, "langs", 2]) == "prolog"
    assert table.get_in("joe", [2, "langs"]) == ["erlang"]


def test_what_is_no_place_is_refused():
    table = people()
    before = table.lookup("joe")
    for path in [], ["x"], [2, "none", 1], [2, "langs", 3], [2, "age", 1]:
        with pytest.raises(fyris.BadValue):
            table.put_in("joe", path, 0)
    for path in [1], [4], [0]:
        with pytest.raises(fyris.Error):
            table.put_in("joe", path, 0)
    with pytest.raises(fyris.BadValue, match="not taken away"):
        table.delete_in("joe", [3, 1])
    with pytest.raises(fyris.Error):
        fyris.Table("bag").put_in("joe", [2], 0)
    with pytest.raises(KeyError):
        table.update_in("mike", [2], lambda part: part)
    with pytest.raises(ZeroDivisionError):
        table.update_in("joe", [2, "age"], lambda part: part / 0)
    assert table.lookup("joe") == before


def test_no_change_of_a_part_is_lost():
    table = fyris.Table()
    table.insert((1, {}))

    def work(name):
        for _ in range(300):
            table.update_in(1, [2, name], lambda n: n + 1, 0)
            table.update_in(1, [2, "all"], lambda n: n + 1, 0)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table[1] == {"a": 300, "b": 300, "c": 300, "all": 900}


def test_a_change_that_comes_between_is_seen():
    table = fyris.Table()
    table.insert((1, {"n": 1}))
    seen = []

    def slow(n):
        seen.append(n)
        if len(seen) == 1:
            table.put_in(1, [2, "n"], 10)
        return n + 1

    assert table.update_in(1, [2, "n"], slow) == 11
    assert seen == [1, 10]


def test_changes_return_what_they_changed():
    table = fyris.Table("ordered_set")
    table.insert_many([(n, "due" if n % 2 else "later") for n in range(2000)])
    claim = "[{{'$1', \"due\"}, [{'<', '$1', 1000}], [{{'$1', \"claimed\"}}]}]"
    assert table.select_replace_returning(claim) == [(n, "claimed") for n in range(1, 1000, 2)]
    assert table.select_replace_returning(claim) == []
    assert table.select_take("[{{'$1', \"due\"}, [], ['$1']}]") == list(range(1001, 2000, 2))
    assert len(table) == 1500
    assert table.take_many([0, 1, 5000]) == [[(0, "later")], [(1, "claimed")], []]
    assert fyris.write_batch([("take", table, 2), ("take", table, 2)]) == [[(2, "later")], []]
    assert len(table) == 1497
    put = "[{{'$1', '_'}, [], [{{'$1', {map_put, \"n\", '$1', #{}}}}]}]"
    assert table.select_replace_returning(put)[0] == (3, {"n": 3})
