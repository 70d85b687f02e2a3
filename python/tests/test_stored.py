"""What `t[key] = value` writes straight into a table, and `t[key]` makes of it, is what goes by way of terms."""

import pytest
from hypothesis import given, strategies as st
from test_values import same, values

import fyris

texts = st.one_of(st.text(max_size=20), st.text("kéy", min_size=6, max_size=10))
dicts = st.dictionaries(texts, st.one_of(values, texts), max_size=12)


def check(value):
    with fyris.Table() as table, fyris.Table() as other:
        table["key"] = value
        other.insert(("key", value))
        assert same(table["key"], value) and same(other["key"], value)
        assert same(table.get("key"), table.lookup("key")[0][1])
        # By the bytes of both, which have one form for each value.
        assert table.compare_and_swap(("key", value), ("key", 1)) and table["key"] == 1
    with fyris.Table(keypos=2) as turned:
        turned["key"] = value
        assert turned.lookup("key") == [(value, "key")] and same(turned["key"], value)


@given(st.one_of(values, dicts, st.lists(dicts, max_size=3)))
def test_values_are_stored_alike(value):
    check(value)


def test_what_is_long_deep_or_large():
    check({"a": "x" * 300, "b": b"y" * 300, "c": ["z" * 1000, b"", ("", b"y" * 256)], "": 2**70})
    check({f"key {n}": n for n in range(1000)} | {"k" * n: None for n in range(300)})
    check([b"abc", b"", "", (b"", b"a", {"a": b"", "b": b"x"}), {b"": b"", b"a": ""}])
    check([[1, 2, 255], [1, 256], [True, 1], [], ["a", 1], [-1, 2], "", b"\xff" * 3, {}])
    deep = []
    for level in range(100):
        deep = {"a": (deep, [level])} if level % 2 else [deep, {}]
    check(deep)


def test_maps_of_other_keys():
    maps = "#{a => 1, b => 2}", "#{1 => a, <<2>> => b}", "#{[1] => 2}", "#{1 => a, 1.0 => b}", "#{true => a, 1 => b}"
    for text in maps:
        value = fyris.parse(text)
        with fyris.Table() as table:
            table.insert((1, [value, "a"]))
            assert table[1] == [value, "a"] and type(table[1][0]) is type(value)
    with fyris.Table() as table:
        for text in ("[1|2]", "[[]|<<255>>]", "[[], a|b]", "<<1:1>>", "fun lists:map/2", "<0.1.2>", "[{}|<<1>>]"):
            term = fyris.parse(text)
            table.insert((1, {"a": term}))
            assert table[1] == {"a": term}
            table[2] = {"a": term}
            assert table.lookup(2) == [(2, {"a": term})]


class Text(str):
    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


def test_subclasses_and_what_changes_meanwhile():
    with fyris.Table() as table:
        table[1] = {Text("a"): 1, Text("a"): 2, Text("b"): Text("c")}
        assert len(table[1]) == 2 and table[1]["b"] == "c"

        class Shrinks:
            def __index__(self):
                shrinking.clear()
                return 1

        shrinking = ["a", Shrinks(), "b"]
        with pytest.raises(fyris.BadValue, match="changes"):
            table[1] = {"x": shrinking}
        endless = {}
        endless["a"] = [endless]
        with pytest.raises(fyris.LimitReached):
            table[1] = endless
        for value in ({"a": "\ud800"}, {"\ud800": 1}, ["a", float("nan")], {"a": object()}):
            with pytest.raises((fyris.BadValue, TypeError)):
                table[1] = value
        assert len(table[1]) == 2
