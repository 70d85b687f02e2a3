"""What a user of dict is used to, of a dict and of tables side by side."""

import array
import copy
import operator
import os
import pickle
import uuid
from collections import ChainMap, Counter, OrderedDict, UserDict
from collections.abc import ItemsView, KeysView, Mapping, MutableMapping, Set, ValuesView
from types import MappingProxyType

import pytest

import fyris

ABC = {"a": 1, "b": 2, "c": 3}


class Keyed:
    """A mapping by what dict.update asks for; iterated it gives something else."""

    def keys(self):
        return ["ab"]

    def __getitem__(self, key):
        return (1, 2)

    def __iter__(self):
        return iter([(1, 2)])


def changed(change):
    """The content after a change, which returns nothing."""

    def habit(m):
        assert change(m) is None
        return dict(m)

    return habit


def put(m, key, value):
    m[key] = value


def cut(m, key):
    del m[key]


def inplace(m, other):
    same = m
    m |= other
    assert m is same


def emptied(m):
    taken = [m.popitem() for _ in range(3)]
    return sorted(taken), m.popitem()


def matched(m):
    match m:
        case {"a": one, **rest}:
            return one, rest


# Each is done to {"a": 1, "b": 2, "c": 3}.
HABITS = {
    "isinstance": lambda m: (isinstance(m, MutableMapping), isinstance(m, Mapping)),
    "length": lambda m: (len(m), bool(m)),
    "get item": lambda m: m["a"],
    "get item of a missing key": lambda m: m["x"],
    "get item of any key": lambda m: m[object],
    "set item": changed(lambda m: put(m, "d", [4])),
    "set item again": changed(lambda m: put(m, "a", None)),
    "delete": changed(lambda m: cut(m, "a")),
    "delete a missing key": lambda m: cut(m, "x"),
    "delete any key": lambda m: cut(m, object),
    "in": lambda m: ("a" in m, "x" in m, 1 in m, "a" not in m),
    "in of any key": lambda m: (object in m, float("nan") in m, 1j in m, frozenset() in m),
    "get": lambda m: (m.get("a"), m.get("x"), m.get("x", 7), m.get(object, 8), m.get(object)),
    "pop": lambda m: (m.pop("a"), m.pop("x", 7), m.pop(object, 8), m.pop("x", None), dict(m)),
    "pop a missing key": lambda m: m.pop("x"),
    "pop any key": lambda m: m.pop(object),
    "popitem": lambda m: emptied(m),
    "setdefault": lambda m: (m.setdefault("a", 7), m.setdefault("d", 4), m.setdefault("e"), dict(m)),
    "clear": lambda m: (m.clear(), len(m), bool(m), list(m)),
    "iterate": lambda m: sorted(m) + sorted(reversed(m)),
    "update by a mapping": changed(lambda m: m.update({"a": 0, "d": 4}, e=5)),
    "update by keys and items": changed(lambda m: m.update(Keyed())),
    "update by pairs": changed(lambda m: m.update([("a", 0), ["d", 4], "ef", iter("gh")])),
    "update by others": changed(
        lambda m: [m.update(o) for o in (UserDict(d=4), MappingProxyType({"e": 5}), zip("f", [6]))][0]
    ),
    "update by nothing": changed(lambda m: (m.update(), m.update({}), m.update([]))[0]),
    "update by none": lambda m: m.update(None),
    "update by what has no pairs": lambda m: m.update([1]),
    "update by a triple": lambda m: m.update(["abc"]),
    "update by two": lambda m: m.update({}, {}),
    "equal": lambda m: (
        m == ABC, ABC == m, m != ABC, m == {}, m == {**ABC, "a": 0}, m == {"a": 1, "b": 2, object: 3}),
    "equal to others": lambda m: (
        m == [], m == UserDict(ABC), m == OrderedDict(ABC), m == Counter(ABC), m == None),  # noqa: E711
    "equal by values": lambda m: (m == {"a": 1.0, "b": 2, "c": 3}, m == m),
    "no hash": lambda m: hash(m),
    "no order": lambda m: m < m,
    "union": lambda m: (m | {"a": 0, "d": 4}, {"a": 0, "d": 4} | m, m | m),
    "union with pairs": lambda m: m | [("a", 0)],
    "union in place": lambda m: (inplace(m, {"a": 0}), inplace(m, [("d", 4)]), dict(m)),
    "dict": lambda m: (dict(m), {**m}, dict(m, d=4), dict(m.items()), (lambda **kw: kw)(**m)),
    "match": matched,
    "keys as a set": lambda m: (
        m.keys() & {"a", 1}, m.keys() | ["x"], m.keys() - ["a"], m.keys() ^ {"a", "x"}, {"a", 1} - m.keys(),
        {"x"} | m.keys(), m.keys() == set("abc"), {"a"} <= m.keys(), m.keys() < set("abcd"), m.keys() >= {"x"},
        m.keys().isdisjoint("xyz"), m.keys() == m.keys(), m.keys() != {"a"}),
    "items as a set": lambda m: (
        m.items() & {("a", 1), ("b", 0)}, m.items() - [("a", 1)], m.items() == ABC.items(), m.items() >= {("a", 1)},
        m.items() | {5}, m.items().isdisjoint([("a", 2)])),
    "in views": lambda m: (
        "a" in m.keys(), object in m.keys(), ("a", 1) in m.items(), ("a", 1.0) in m.items(), ("a", 2) in m.items(),
        ("x", 1) in m.items(), 5 in m.items(), ("a",) in m.items(), (object, 1) in m.items(), 1 in m.values(),
        1.0 in m.values(), object in m.values()),
    "kinds of views": lambda m: (
        isinstance(m.keys(), KeysView), isinstance(m.values(), ValuesView), isinstance(m.items(), ItemsView),
        isinstance(m.keys(), Set), isinstance(m.values(), Set)),
    "views": lambda m: (
        len(m.keys()), len(m.values()), len(m.items()), sorted(m.values()), sorted(m.items()), sorted(reversed(m.values())),
        sorted(reversed(m.items())), sorted(reversed(m.keys())), m.keys().mapping == ABC, m.values() == m.values()),
    "views see changes": lambda m: (
        lambda keys: (m.update(d=4), len(keys), "d" in keys, m.clear(), list(keys)))(m.keys()),
    "views have no hash": lambda m: hash(m.keys()),
    "values are no set": lambda m: m.values() & m.values(),
    "in other mappings": lambda m: (
        ChainMap(m, {"x": 0})["a"], dict(ChainMap({}, m)), Counter(m).most_common(1), MappingProxyType(m)["a"]),
    "best key": lambda m: (
        max(m, key=m.get), sum(m.values()), operator.itemgetter("a", "b")(m), list(map(m.get, "ax"))),
    "format": lambda m: ("{0[a]} {b}".format(m, **m), "{a}".format_map(m), "%(a)d" % m),
}


def outcome(habit, mapping):
    """What it returns, or the class of what it raises."""
    try:
        return habit(mapping)
    except (KeyError, TypeError, ValueError) as error:
        kind = next(kind for kind in (KeyError, TypeError, ValueError) if isinstance(error, kind))
        return kind, error.args if kind is KeyError and "popitem" not in str(error) else None


@pytest.mark.parametrize("kind", ["set", "ordered_set"])
@pytest.mark.parametrize("habit", HABITS)
def test_habits(habit, kind):
    with fyris.Table(kind) as table:
        table.update(ABC)
        assert outcome(HABITS[habit], table) == outcome(HABITS[habit], dict(ABC))


@pytest.mark.parametrize("habit", sorted(HABITS.keys() - {"clear", "views see changes"}))
def test_habits_in_a_transaction(habit):
    # What is left out empties the table, which is about it as a whole.
    table = fyris.Table()
    table.update(ABC)
    with fyris.transaction() as tx:
        assert outcome(HABITS[habit], tx.table(table)) == outcome(HABITS[habit], dict(ABC))


def test_habits_of_dict_that_tables_do_not_have():
    table = fyris.Table("ordered_set")
    table["b"], table["a"] = 1, 2
    # Order is that of the keys, or of a hash: nobody knows who of several threads was first.
    assert list(table) == ["a", "b"] and table.popitem() == ("a", 2)
    # A walk goes on while others write.
    for key in table:
        table.update(a=1, c=3)
        del table[key]
    assert table.keys() == {"a", "c"} or table.keys() == {"a"}
    # Values are copies.
    table.clear()
    table.setdefault("x", []).append(3)
    assert table["x"] == []
    table["x"] += [3]
    assert table.compute("x", lambda list: [*list, 4], []) == table["x"] == [3, 4]
    # Keys need no hash.
    table[[1]] = 1
    assert [1] in table and table[[1]] == 1
    # Its arguments say what it is, and nothing that is shared is copied by the way.
    with pytest.raises(TypeError):
        fyris.Table({"a": 1})
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(table)
    assert not hasattr(table, "copy") and not hasattr(table, "fromkeys")
    # It may be large: its text says how large.
    assert repr(table).endswith(f"ordered_set of {len(table)}>")


def test_equality_of_tables():
    one, other, named = fyris.Table(), fyris.Table("ordered_set"), fyris.Table(keypos=2)
    for table in (one, other, named):
        table.update({"a": [1], 2: None})
    assert one == other == named == one.snapshot()
    before = one.snapshot()
    one[1.0] = one[1] = 0
    assert one != before == other and len(one) == 4 and one != {**before, 1: 0}
    other.insert(("wide", 1, 2))
    bag = fyris.Table("bag")
    assert other == other and other != {**before, "wide": 1} and other != named
    bag.insert((1, 2))
    assert bag == bag and bag != {1: 2} and {1: 2} != bag and bag != bag.snapshot() and bag != one


def test_a_table_by_types():
    table = fyris.Table[str, int]("ordered_set")
    table["a"] = 1
    assert type(table) is fyris.Table and table == {"a": 1}


def test_a_map_of_a_segment_has_the_same(request):
    name = f"pytest-habits-{os.getpid()}-{uuid.uuid4().hex}"
    request.addfinalizer(lambda: fyris.unlink(name))
    with fyris.VersionedMap(name, 1 << 20) as m:

        class Named:
            def keys(self):
                return [b"ab"]

            def __getitem__(self, key):
                return b"1"

            def __iter__(self):
                return iter([(b"a", b"b")])

        m.update(Named())
        m.update([[b"c", bytearray(b"2")], (memoryview(b"d"), array.array("H", [1]))])
        assert m == {b"ab": b"1", b"c": b"2", b"d": array.array("H", [1]).tobytes()} != {b"ab": b"1", "c": 2, 3: 4}
        for others in (None, [b"x"], [b"abc"]):
            with pytest.raises((TypeError, ValueError)):
                m.update(others)
        assert "ab" not in m and m.get(1, 2) == 2 and bytearray(b"ab") in m
        assert m.range(stop=memoryview(b"b"))[0][0] == b"ab"
        assert (b"ab", b"1") in m.items() and 5 not in m.items() and m.keys().mapping[b"c"] == b"2"
