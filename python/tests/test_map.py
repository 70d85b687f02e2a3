"""VersionedMap: against a dict, and between processes."""

import multiprocessing
import os
import pickle
import uuid

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import fyris

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def name():
    name = f"pytest-map-{os.getpid()}-{uuid.uuid4().hex}"
    yield name
    fyris.unlink(name)


def test_a_map(name):
    for reads in ({"read_only": True}, {"in_place": True}):
        with pytest.raises(fyris.NoSuchSegment):
            fyris.VersionedMap(name, 1 << 20, **reads)
    with fyris.VersionedMap(name, 1 << 20) as m, fyris.VersionedMap(name, read_only=True) as other:
        m[b"pear"], m[b"apple"], m[b"fig"] = b"green", b"red", b""
        assert len(m) == 3 and m.dirty and b"pear" in m and len(other) == 0
        assert list(m) == list(m.keys()) == [b"apple", b"fig", b"pear"]
        assert list(m.items())[1] == (b"fig", b"") and list(m.values())[0] == b"red"
        assert m.commit() == m.version and not m.dirty and other.behind
        other.update()
        assert other[b"pear"] == b"green" and other.get(b"nut") is None
        assert other.get(b"nut", 5) == 5
        with pytest.raises(KeyError):
            other[b"nut"]
        with pytest.raises(KeyError):
            del m[b"nut"]
        with pytest.raises(fyris.ReadOnly):
            other[b"nut"] = b"x"
        assert m.first() == (b"apple", b"red") and m.last() == (b"pear", b"green")
        assert m.range(start=b"b", stop=b"pear") == [(b"fig", b"")]
        assert m.range(limit=2, reverse=True) == [(b"pear", b"green"), (b"fig", b"")]
        assert m.prefix(b"p") == [(b"pear", b"green")] and m.prefix(b"", limit=2) == m.range(limit=2)
        again = pickle.loads(pickle.dumps(other))
        assert dict(again.items()) == dict(m.items())
        # A walk survives what happens to the map.
        for key in m:
            del m[key]
        assert len(m) == 0 and m.first() is m.last() is None
        with pytest.raises(fyris.Uncommitted):
            m.update()
        m.discard()
        assert len(m) == 3
        m.check()
        for bad in (b"x" * 5000, "text", 5):
            with pytest.raises((fyris.LimitReached, TypeError)):
                m[bad] = b""
    for use in (lambda: m[b"pear"], m.reattach):
        with pytest.raises(fyris.Closed):
            use()


def test_what_is_no_map_says_so(name):
    with fyris.Segment(name, 1 << 16) as segment:
        memoryview(segment)[:4] = b"data"
        segment.commit()
    with pytest.raises(fyris.Error):
        fyris.VersionedMap(name)


def count(m, times):
    def one_more(m):
        m[b"count"] = str(int(m.get(b"count", b"0")) + 1).encode()
        return m[b"count"]

    for _ in range(times):
        assert int(m.write(one_more)) >= 1


def test_processes_count_together(name):
    m = fyris.VersionedMap(name, 1 << 20)
    children = [SPAWN.Process(target=count, args=(m, 150)) for _ in range(2)]
    for child in children:
        child.start()
    count(m, 150)
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    m.update()
    assert m[b"count"] == b"450"
    m.check()


def test_a_write_hands_on_what_is_behind_elsewhere(name):
    m, runs = fyris.VersionedMap(name, 1 << 20), []

    def fail(m):
        m[b"n"] = b"1"
        runs.append(1)
        assert len(runs) < 10
        raise fyris.Behind("another map is")

    with pytest.raises(fyris.Behind, match="another map is"):
        m.write(fail)
    assert runs == [1] and len(m) == 0 and not m.dirty


@pytest.mark.parametrize("within", ["commit", "update", "discard", "write"])
def test_a_write_begins_and_ends_by_itself(name, within):
    m = fyris.VersionedMap(name, 1 << 20)
    before = m.version

    def change(m):
        m[b"a"] = b"1"
        with pytest.raises(fyris.InTransaction):
            getattr(m, within)(*([change] if within == "write" else []))
        m[b"b"] = b"2"

    m.write(change)
    assert dict(m.items()) == {b"a": b"1", b"b": b"2"} and m.version == before + 1


def test_a_damaged_map_ends_a_walk(name):
    m = fyris.VersionedMap(name, 1 << 20)
    keys = [b"key %02d" % n for n in range(20)]
    m.write(lambda m: m.update(dict.fromkeys(keys, b"")))
    raw = fyris.Segment(name)
    raw[raw[:].index(b"key 05") + 4] = ord("9")
    raw.commit()
    m.update()
    for walk in (m, reversed(m), m.items(), m.values()):
        seen = 0
        with pytest.raises(fyris.Damaged, match="ascend"):
            for _ in walk:
                seen += 1
                assert seen < 100


def test_a_change_that_fails_leaves_nothing(name):
    m = fyris.VersionedMap(name, 1 << 16)

    def fail(m):
        m[b"a"] = b"1"
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        m.write(fail)
    assert len(m) == 0 and not m.dirty


def test_forked_children_reattach(name):
    m = fyris.VersionedMap(name, 1 << 16)
    m[b"a"] = b"1"
    m.commit()
    child = os.fork()
    if child == 0:
        try:
            for use in (
                lambda: m[b"a"], lambda: list(m), lambda: len(m), m.update, m.commit, lambda: m.write(len),
                lambda: m.get(b"x"), m.discard, lambda: m.dirty, lambda: m.version,
            ):
                with pytest.raises(fyris.Forked):
                    use()
            m.reattach()
            m[b"b"] = m[b"a"]
            m.commit()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    m.update()
    assert m[b"b"] == b"1"


keys = st.one_of(st.binary(max_size=3), st.binary(min_size=100, max_size=300))
values = st.one_of(st.binary(max_size=5), st.binary(min_size=1000, max_size=9000))


class Model(RuleBasedStateMachine):
    """One map and a dict, and what was committed of it."""

    @initialize()
    def begin(self):
        self.name = f"pytest-map-model-{os.getpid()}-{uuid.uuid4().hex}"
        self.map = fyris.VersionedMap(self.name, 1 << 16, max_size=1 << 22)
        self.reader = fyris.VersionedMap(self.name, read_only=True)
        self.dict, self.committed = {}, {}

    @rule(key=keys, value=values)
    def set(self, key, value):
        self.map[key] = value
        self.dict[key] = value

    @rule(key=keys)
    def delete(self, key):
        key = min((k for k in self.dict if k >= key), default=key)
        if self.dict.pop(key, None) is None:
            with pytest.raises(KeyError):
                del self.map[key]
        else:
            del self.map[key]

    @rule()
    def commit(self):
        self.map.commit()
        self.committed = dict(self.dict)

    @rule()
    def discard(self):
        self.map.discard()
        self.dict = dict(self.committed)

    @rule(start=keys, stop=keys)
    def range(self, start, stop):
        expected = sorted(item for item in self.dict.items() if start <= item[0] < stop)
        assert self.map.range(start=start, stop=stop) == expected
        assert self.map.range(start=start, stop=stop, reverse=True) == expected[::-1]

    @invariant()
    def the_same(self):
        if hasattr(self, "map"):
            assert list(self.map.items()) == sorted(self.dict.items())
            self.reader.update()
            assert list(self.reader.items()) == sorted(self.committed.items())

    def teardown(self):
        if hasattr(self, "map"):
            self.map.check()
            fyris.unlink(self.name)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)


def test_a_map_is_a_mutable_mapping(name):
    from collections.abc import ItemsView, KeysView, MutableMapping, ValuesView

    with fyris.VersionedMap(name, 1 << 20) as m:
        assert isinstance(m, MutableMapping) and m == {} and not m
        assert m.update({b"b": b"2", b"a": b"1"}) is None
        m.update([(b"c", b"3")])
        assert m == {b"a": b"1", b"b": b"2", b"c": b"3"} != m.keys()
        assert m != {b"a": b"1"} and {b"a": b"1"} != m
        keys, values, items = m.keys(), m.values(), m.items()
        assert isinstance(keys, KeysView) and isinstance(values, ValuesView)
        assert isinstance(items, ItemsView) and len(items) == len(keys) == 3
        assert keys & {b"a", b"x"} == {b"a"} and (b"c", b"3") in items and b"2" in values
        assert (b"c", b"4") not in items and list(reversed(keys)) == list(reversed(m))
        assert list(reversed(m)) == [b"c", b"b", b"a"]
        assert list(reversed(items))[0] == (b"c", b"3") and list(reversed(values))[-1] == b"1"
        assert m.setdefault(b"a", b"9") == b"1" and m.setdefault(b"d", b"4") == b"4"
        assert m.pop(b"d") == b"4" and m.pop(b"d", None) is None and b"d" not in m
        with pytest.raises(KeyError):
            m.pop(b"d")
        with pytest.raises(TypeError):
            m.pop(b"d", 1, 2)
        assert m.popitem() == (b"a", b"1")
        assert m.commit() and m.update().version == m.version
        m.clear()
        with pytest.raises(KeyError):
            m.popitem()
        with pytest.raises(TypeError):
            m.update({b"a": b"1", b"b": 1})
        assert len(m) == 0
        m.discard()
        assert m | {b"b": 1} == {b"b": 1, b"c": b"3"} and {b"c": 1, b"d": 2} | m == {**m, b"d": 2}
        same = m
        m |= {b"d": b"4"}
        assert m is same and m[b"d"] == b"4"
        m.discard()
        assert list(m) == [b"b", b"c"]


def test_a_with_statement_commits_a_map_or_takes_back(name):
    with fyris.VersionedMap(name, 1 << 20) as a, fyris.VersionedMap(name) as b:
        with a.begin() as same:
            assert same is a
            a[b"x"] = b"1"
        assert not a.dirty and b.wait(60)
        with pytest.raises(ZeroDivisionError), a.begin():
            a[b"x"] = b"2"
            1 / 0
        assert a[b"x"] == b"1" and not a.dirty
        with pytest.raises(fyris.Behind, match="make the changes again"), a.begin():
            b.update()
            b[b"y"] = b"1"
            b.commit()
            a[b"x"] = b"3"
        assert a[b"x"] == b"1" and not a.dirty
        a[b"z"] = b""
        with pytest.raises(fyris.Uncommitted):
            a.begin().__enter__()
