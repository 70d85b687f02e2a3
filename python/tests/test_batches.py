"""Batches: writes and checks of several keys, of several tables, in one call."""

import threading

import pytest

import fyris


@pytest.fixture(params=["set", "ordered_set", "bag", "duplicate_bag"])
def any_type(request):
    return fyris.Table(request.param)


@pytest.fixture
def tables():
    table, bag = fyris.Table(), fyris.Table("bag")
    table.update({1: 10, 2: 20})
    bag.insert_many([(1, "a"), (1, "b")])
    return table, bag


def test_each_operation_answers_as_its_method(tables):
    table, bag = tables
    then = table.snapshot()
    answers = fyris.write_batch([
        ("insert", bag, (2, "a")),
        ("insert", bag, [(3, "a"), (3, "b")]),
        ("insert_new", bag, [(4, "a"), (1, "c")]),
        ("insert_new", table, (3, 30)),
        ("delete", bag, 2),
        ("delete_object", bag, (3, "a")),
        ("update_counter", table, 1, 5),
        ("update_counter", table, 1, [(2, 1), (2, 1)]),
        ("update_counter", table, 9, (2, 1), (None, 90)),
        ("update_element", table, 2, (2, "two")),
        ("update_element", table, 8, [(2, 8)]),
        ("update_element", table, 8, [(2, 8)], (0, 0)),
        ("check", table, 1, (1, 10)),
        ("check", table, 9, None),
        ("check", table, 2, then),
        ("check", bag, 1, [(1, "b"), (1, "a")]),
    ])
    counted = [15, [16, 17], 91]
    assert answers == [
        True, True, False, True, True, True, *counted, True, False, True, True, True, True, True,
    ]  # fmt: skip
    assert dict(table) == {1: 17, 2: "two", 3: 30, 8: 8, 9: 91}
    assert bag.lookup(3) == [(3, "b")] and bag.lookup(2) == []
    assert fyris.write_batch([]) == []
    assert fyris.write_batch(iter([("delete", table, 8)])) == [True]


def test_a_list_of_inserts_keeps_its_order(any_type):
    fyris.write_batch([("insert", any_type, (1, n)) for n in range(3)])
    found = any_type.lookup(1)
    assert found == [(1, 2)] or found == [(1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (("check", 0, 1, None), fyris.CheckFailed),
        (("check", 0, 1, (1, 11)), fyris.CheckFailed),
        (("check", 1, 1, [(1, "a")]), fyris.CheckFailed),
        (("check", 0, 1, [(1, 10), 5]), fyris.WrongType),
        (("check", 0, 1), fyris.BadValue),
        (("insert", 0, 5), fyris.WrongType),
        (("insert", 0, ()), fyris.BadValue),
        (("insert", 0), fyris.BadValue),
        (("insert", 0, (1, 1), (2, 2)), fyris.BadValue),
        (("drain", 0, 1), fyris.BadValue),
        (("update_counter", 0, 7, 1), KeyError),
        (("update_counter", 1, 1, 1), fyris.WrongType),
        (("update_element", 0, 1, (1, 2)), fyris.BadValue),
    ],
)
def test_what_fails_leaves_nothing_and_says_where(tables, operation, error):
    before = dict(tables[0]), tables[1].lookup(1)
    name, on, *rest = operation
    with pytest.raises(error) as raised:
        fyris.write_batch([
            ("insert", tables[0], (1, "gone")),
            ("delete", tables[1], 1),
            (name, tables[on], *rest),
        ])
    assert raised.value.at == 2
    assert (dict(tables[0]), tables[1].lookup(1)) == before


def test_what_is_no_table_or_no_operation_is_refused(tables):
    table, bag = tables
    for nonsense in [1, (), ("insert",), ["insert", table, (1, 1)]]:
        with pytest.raises(fyris.BadValue):
            fyris.write_batch([nonsense])
    for wrong in [("insert", {}, (1, 1)), (1, table, (1, 1))]:
        with pytest.raises(TypeError):
            fyris.write_batch([wrong])
    with pytest.raises(TypeError):
        fyris.write_batch(5)
    with pytest.raises(fyris.ReadOnly):
        fyris.write_batch([("delete", table.snapshot(), 1)])
    with pytest.raises(fyris.BadValue):
        fyris.write_batch([("check", table, 1, bag.snapshot())])
    with fyris.transaction() as tx:
        with pytest.raises(fyris.BadValue):
            fyris.write_batch([("delete", tx.table(table), 1)])
    bag.drop()
    with pytest.raises(fyris.NoSuchTable):
        fyris.write_batch([("delete", table, 1), ("delete", bag, 1)])
    assert table[1] == 10


def test_threads_that_check_lose_nothing():
    a, b = fyris.Table(), fyris.Table()
    a["n"], b["n"] = 1000, 0
    lost, stopped = [0, 0, 0], []

    def move(number):
        try:
            for _ in range(100):
                seen, there = a["n"], b["n"]
                try:
                    fyris.write_batch([
                        ("insert", a, ("n", seen - 1)),
                        ("insert", b, ("n", there + 1)),
                        ("check", a, "n", ("n", seen)),
                        ("check", b, "n", ("n", there)),
                    ])
                except fyris.CheckFailed:
                    lost[number] += 1
        except Exception as error:
            stopped.append(error)

    threads = [threading.Thread(target=move, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not stopped
    assert b["n"] == 300 - sum(lost) and a["n"] == 1000 - b["n"]
