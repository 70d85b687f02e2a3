"""Tables as dictionaries, against a dictionary."""

from collections.abc import MutableMapping

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import fyris

# Keys that are the same in Python and in Erlang, or different in both.
keys = st.one_of(st.integers(-3, 3), st.text("ab", max_size=2), st.binary(max_size=1))
values = st.one_of(st.integers(), st.text(max_size=3), st.lists(st.none(), max_size=2))


class Model(RuleBasedStateMachine):
    """The same calls on a table and on a dict."""

    def __init__(self):
        super().__init__()
        self.table = fyris.Table(self.kind, keypos=self.keypos)
        self.dict = {}

    kind, keypos = "set", 1

    def both(self, call):
        """Does it to both, and compares what comes back: a value or a KeyError."""

        def result(mapping):
            try:
                return call(mapping)
            except KeyError as error:
                return ("KeyError", error.args)

        assert result(self.table) == result(self.dict)

    @rule(key=keys, value=values)
    def set(self, key, value):
        self.both(lambda m: m.__setitem__(key, value))

    @rule(key=keys)
    def get(self, key):
        self.both(lambda m: m[key])
        self.both(lambda m: m.get(key, "none"))
        self.both(lambda m: key in m)
        self.both(lambda m: key in m.keys())

    @rule(key=keys)
    def delete(self, key):
        self.both(lambda m: m.__delitem__(key))

    @rule(key=keys)
    def pop(self, key):
        self.both(lambda m: m.pop(key))
        self.both(lambda m: m.pop(key, 1))

    @rule(key=keys, value=values)
    def setdefault(self, key, value):
        self.both(lambda m: m.setdefault(key, value))

    @rule(more=st.dictionaries(keys, values, max_size=5))
    def update(self, more):
        self.both(lambda m: m.update(more))

    @rule(key=keys, value=values)
    def item_in(self, key, value):
        self.both(lambda m: (key, value) in m.items())
        self.both(lambda m: value in m.values())

    @rule()
    def popitem(self):
        if self.dict:
            key, value = self.table.popitem()
            assert self.dict.pop(key) == value
        else:
            with pytest.raises(KeyError):
                self.table.popitem()

    @rule()
    def clear(self):
        self.both(lambda m: m.clear())

    @invariant()
    def the_same_content(self):
        assert len(self.table) == len(self.table.keys()) == len(self.dict)
        assert dict(self.table.items()) == self.dict
        assert dict(self.table) == self.dict
        assert set(self.table) == set(self.dict)
        assert len(list(self.table.values())) == len(self.dict)

    def teardown(self):
        self.table.drop()


class Ordered(Model):
    kind = "ordered_set"

    @invariant()
    def in_order(self):
        keys = list(self.table)
        numbers = [key for key in keys if isinstance(key, int)]
        texts = [key for key in keys if isinstance(key, str)]
        binaries = [key for key in keys if isinstance(key, bytes)]
        assert keys == sorted(numbers) + sorted(texts) + sorted(binaries)
        assert list(reversed(self.table)) == keys[::-1]


class SecondElement(Model):
    keypos = 2


TestSet = Model.TestCase
TestOrdered = Ordered.TestCase
TestSecondElement = SecondElement.TestCase


def test_it_is_a_mutable_mapping():
    table = fyris.Table()
    assert isinstance(table, MutableMapping)
    table.update({"a": 1}, b=2)
    table.update([("c", 3)])
    table.update(d=4)
    assert dict(table) == {"a": 1, "b": 2, "c": 3, "d": 4}
    # Of a pattern, Python takes what says that it is a mapping.
    match table:
        case {"a": one}:
            assert one == 1
        case _:
            raise AssertionError


def test_where_erlang_and_python_differ():
    table = fyris.Table()
    table[1], table[1.0], table[True] = "integer", "float", "atom"
    assert len(table) == 3 and table[1] == "integer"
    ordered = fyris.Table("ordered_set")
    ordered[1], ordered[1.0] = "integer", "float"
    assert len(ordered) == 1


def test_what_is_no_dictionary_says_so():
    bag = fyris.Table("bag")
    for use in (
        lambda: bag["a"],
        lambda: bag.__setitem__("a", 1),
        lambda: bag.setdefault("a", 1),
        lambda: bag.pop("a"),
        lambda: bag.update(a=1),
    ):
        with pytest.raises(fyris.WrongType, match="a bag has no values"):
            use()
    table = fyris.Table()
    table.insert(("wide", 1, 2))
    with pytest.raises(fyris.BadValue, match="3 elements"):
        table["wide"]
    with pytest.raises(fyris.BadValue, match="3 elements"):
        list(table.items())
    assert "wide" in table and list(table) == ["wide"]
    third = fyris.Table(keypos=3)
    with pytest.raises(fyris.WrongType, match="no dictionary"):
        third["a"] = 1


def test_errors_change_nothing():
    table = fyris.Table()
    table["a"] = 1
    with pytest.raises(TypeError):
        table.update({"b": 2, "c": object()})
    with pytest.raises(TypeError):
        table["a"] = object()
    assert dict(table) == {"a": 1}
