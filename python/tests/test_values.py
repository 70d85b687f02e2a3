"""Python values as terms and back: nothing is lost."""

import pickle

import pytest
from hypothesis import given, strategies as st

import fyris
from fyris import Atom

WORDS = {"true", "false", "undefined"}
names = st.text(max_size=30).filter(lambda name: name not in WORDS)
texts = st.text(max_size=20)
scalars = st.one_of(
    st.integers(),
    st.integers(min_value=-(2**200), max_value=2**200),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    texts,
    st.binary(max_size=20),
    names.map(Atom),
)
keys = st.one_of(scalars, st.tuples(scalars, scalars))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
    ),
    max_leaves=12,
)


def same(a, b):
    """Equal, and of the same types all the way down: 1 == 1.0 == True is not enough."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        if len(a) != len(b):
            return False
        kept = {fyris.encode(key): value for key, value in b.items()}
        return all(same(value, kept[fyris.encode(key)]) for key, value in a.items())
    return repr(a) == repr(b)  # which tells 0.0 from -0.0


@given(values)
def test_values_survive_a_table(value):
    with fyris.Table() as table:
        table["key"] = value
        assert same(table["key"], value)


@given(values)
def test_values_survive_external_format_and_text(value):
    assert same(fyris.decode(fyris.encode(value)), value)
    assert same(fyris.parse(fyris.format(value)), value)


@given(keys)
def test_keys_are_found_again(key):
    with fyris.Table() as table:
        table[key] = 1
        assert key in table
        assert same(list(table), [key])


def test_what_stands_for_what():
    def erlang(value):
        return fyris.format(value)

    assert erlang(2**64) == "18446744073709551616"
    assert erlang(1.0) == "1.0"
    assert erlang([True, False, None]) == "[true,false,undefined]"
    assert erlang((Atom("ok"), b"bytes", [1, 2.5])) == '{ok,<<"bytes">>,[1,2.5]}'
    assert erlang({"a": 1}) == '#{[[]|<<"a">>] => 1}'
    assert erlang(bytearray(b"x")) == '<<"x">>'


def test_terms_that_python_has_no_value_for():
    terms = {
        "<0.1.2>": "pid",
        "[1|2]": "improper_list",
        "#m:n{x = 1,y = [a]}": "native_record",
        "<<1:1>>": "bitstring",
        "fun lists:map/2": "fun",
        "#{1 => a, 1.0 => b}": "map",
        "#{[1] => a}": "map",
        "#{0.0 => a, -0.0 => b}": "map",
        "#{true => a, 1 => b}": "map",
        "[[]|<<255>>]": "improper_list",
    }
    for text, kind in terms.items():
        term = fyris.parse(text)
        assert isinstance(term, fyris.Term) and term.kind == kind, text
        assert fyris.parse(str(term)) == term
        assert hash(fyris.parse(str(term))) == hash(term)
        assert pickle.loads(pickle.dumps(term)) == term
        assert fyris.decode(fyris.encode([term])) == [term]
    assert fyris.parse("[1, 2|3]").parts() == ([1, 2], 3)
    assert fyris.parse("#{1 => a, [] => {}}").parts() == [(1, Atom("a")), ([], ())]
    assert fyris.parse("#m:n{x = 1, y = {}}").parts() == [(Atom("x"), 1), (Atom("y"), ())]
    with pytest.raises(TypeError, match="a pid has no parts"):
        fyris.parse("<0.1.2>").parts()


def test_atoms():
    ok = Atom("ok")
    assert ok == Atom("ok") and ok != Atom("no") and ok != "ok"
    assert hash(ok) == hash(Atom("ok")) and Atom("a") < Atom("b")
    assert ok.name == str(ok) == "ok" and repr(ok) == "Atom('ok')"
    assert pickle.loads(pickle.dumps(ok)) == ok
    with pytest.raises(fyris.BadValue, match="True in Python"):
        Atom("true")
    with pytest.raises(fyris.LimitReached):
        Atom("a" * 256)


class Number(int):
    pass


def test_refusals():
    for value in (float("nan"), float("inf"), "\ud800"):
        with pytest.raises(fyris.BadValue):
            fyris.encode(value)
    for value in (object(), {1, 2}, range(3), 1j):
        with pytest.raises(TypeError, match="no Erlang term stands for"):
            fyris.encode(value)
    with pytest.raises(fyris.BadValue):
        fyris.parse("{a, ")
    with pytest.raises(fyris.BadValue):
        fyris.decode(b"\x83m\xff\xff\xff\xff")
    assert fyris.parse(fyris.format(Number(7))) == 7


def test_a_safe_decode_makes_no_atoms():
    name = b"only_looked_for_by_python"
    encoded = b"\x83w" + bytes([len(name)]) + name
    for _ in range(2):
        with pytest.raises(fyris.BadValue, match=name.decode()):
            fyris.decode(encoded, safe=True)
    assert fyris.decode(encoded) == fyris.decode(encoded, safe=True) == fyris.Atom(name.decode())
    assert fyris.decode(fyris.encode([1, {"a": 2.5}]), safe=True) == [1, {"a": 2.5}]
    with pytest.raises(fyris.LimitReached):
        fyris.parse("a" * 256)


def test_any_depth_goes_there_and_back():
    levels = 1_000_000
    for wrap in (lambda inner: (inner,), lambda inner: [inner], lambda inner: {1: inner}):
        deep = 7
        for _ in range(levels):
            deep = wrap(deep)
        encoded = fyris.encode(deep)
        assert fyris.encode(fyris.decode(encoded)) == encoded
    # Python would recurse into such a key for its hash.
    keyed = fyris.parse("#{" + "{" * levels + "}" * levels + " => 1}")
    assert isinstance(keyed, fyris.Term)
    assert fyris.encode([keyed]) == fyris.encode([fyris.decode(fyris.encode(keyed))])


def test_what_contains_itself_is_refused():
    endless = []
    endless.append({1: (endless,)})
    with pytest.raises(fyris.LimitReached):
        fyris.encode(endless)
    # The same part twice is no circle.
    part = [[1]]
    for _ in range(10):
        part = [part, part]
    assert len(fyris.encode(part)) > 2**10
