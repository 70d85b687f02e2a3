"""Segments in one process: what the calls do and refuse, arrays, and a model."""

import array
import asyncio
import copy
import ctypes
import gc
import os
import pickle
import threading
import uuid

import numpy
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import fyris


@pytest.fixture
def name():
    name = f"pytest-{os.getpid()}-{uuid.uuid4().hex}"
    yield name
    try:
        fyris.unlink(name)
    except fyris.NoSuchSegment:
        pass


def test_commit_and_update(name):
    with fyris.Segment(name, 8192) as a, fyris.Segment(name) as b:
        x, y = a.ndarray(1024, "i8"), b.ndarray((1024,), numpy.int64)
        assert (a.size, len(b), a.unit, a.version) == (8192, 8192, 8, b.version)
        x[3] = 7
        assert a.diff() == [(24, 32)] and y[3] == 0 and not b.behind
        version = a.commit()
        assert b.behind and b.trunk_version == version and b.incoming() == [(24, 32)]
        updated = b.update()
        assert (updated.version, updated.pages, updated.conflicts) == (version, 1, 0)
        assert "pages=1" in repr(updated)
        assert y[3] == 7 and not b.behind and b.version == version
        y[4] = 1
        b.discard()
        assert y[4] == 0 and b.diff() == [] and b.commit() == version


def test_conflicts(name):
    a, b = fyris.Segment(name, 4096), fyris.Segment(name)
    x, y = a.ndarray(512, "i8"), b.ndarray(512, "i8")

    def clash(n=1):
        for k in range(n):
            x[k], y[k] = x[k] + 10, y[k] + 5
        y[100] += 1
        a.commit(merge=True)

    clash()
    with pytest.raises(fyris.Behind):
        b.commit()
    for refusing in (b.update, lambda validate: b.commit(merge=True, validate=validate)):
        with pytest.raises(fyris.SegmentConflict, match="changed on both sides") as caught:
            refusing(validate=True)
        assert caught.value.ranges == [(0, 8)]
    assert pickle.loads(pickle.dumps(caught.value)).ranges == [(0, 8)]

    asked = []

    def add(offset, base, local, incoming):
        asked.append(offset)
        base, local, incoming = (int.from_bytes(b, "little") for b in (base, local, incoming))
        return (local + incoming - base).to_bytes(8, "little")

    assert b.update(on_conflict=add).conflicts == 1
    assert asked == [0] and y[0] == 15
    b.commit()
    a.update()
    clash(3)
    b.commit(merge=True, on_conflict=add)
    assert list(y[:3]) == [30, 15, 15] and y[100] == 2
    a.update()
    clash()
    b.update(on_conflict=lambda *_: "incoming")
    assert y[0] == 40 and y[100] == 3
    clash()
    b.update(on_conflict=lambda *_: "local")
    assert y[0] == 45


def test_a_callback_that_fails_changes_nothing(name):
    a, b = fyris.Segment(name, 4096), fyris.Segment(name)
    x, y = a.ndarray(512, "i8"), b.ndarray(512, "i8")
    x[:2] = 1
    a.commit()
    y[1] = 2

    class Mine(Exception):
        pass

    def fail(*_):
        raise Mine("on purpose")

    def inside(*_):
        b.commit()

    for bad, error in (
        (fail, Mine),
        (inside, fyris.InTransaction),
        (lambda *_: "both", fyris.BadValue),
        (lambda *_: b"short", fyris.BadValue),
        (lambda *_: None, fyris.BadValue),
        (lambda: None, TypeError),
    ):
        with pytest.raises(error):
            b.update(on_conflict=bad)
        with pytest.raises(error):
            b.commit(merge=True, on_conflict=bad)
        assert list(y[:2]) == [0, 2] and b.behind
    with pytest.raises(fyris.BadValue):
        b.update(validate=True, on_conflict=fail)
    with pytest.raises(fyris.BadValue):
        b.commit(validate=True)
    assert b.update().conflicts == 1 and list(y[:2]) == [1, 2]


def test_a_callback_may_let_arrays_go(name):
    a, b = fyris.Segment(name, 4096), fyris.Segment(name)
    a.ndarray(512, "i8")[0] = 1
    a.commit()
    arrays = [b.ndarray(512, "i8"), memoryview(b)]
    arrays[0][0] = 2

    def forget(*_):
        arrays.clear()
        gc.collect()
        return "local"

    assert b.update(on_conflict=forget).conflicts == 1
    assert b.ndarray(512, "i8")[0] == 2


def test_arrays_keep_the_memory(name):
    segment = fyris.Segment(name, 1 << 20)
    array = segment.ndarray((256, 512))
    assert array.dtype == numpy.float64 and array.flags.writeable
    view = memoryview(segment)
    assert view.nbytes == 1 << 20 and not view.readonly
    part = array[10:20]
    segment.close()
    assert segment.closed
    segment.close()
    del array, segment
    gc.collect()
    part[:] = 1.5  # still there
    assert part.sum() == 1.5 * 10 * 512 and bytes(view[-8:]) == bytes(8)
    del part
    view.release()
    gc.collect()


def test_a_closed_segment_says_so(name):
    with fyris.Segment(name, 4096) as segment:
        pass
    for use in (
        segment.commit,
        segment.update,
        segment.discard,
        lambda: segment.version,
        lambda: len(segment),
        lambda: memoryview(segment),
        lambda: segment.ndarray(1),
        lambda: pickle.dumps(segment),
    ):
        with pytest.raises(fyris.Closed):
            use()
    assert "closed" in repr(segment)


def test_arrays_of_shapes(name):
    segment = fyris.Segment(name, 4096)
    grid = segment.ndarray((4, 4), "u2", offset=4)
    grid[1, 2] = 0xABCD
    assert bytes(memoryview(segment)[16:18]) == b"\xcd\xab"
    assert segment.ndarray((), "i4").shape == () and segment.ndarray((0, 3)).size == 0
    assert segment.ndarray(512).shape == (512,)
    for bad in ({"shape": 513}, {"shape": 512, "offset": 1}, {"shape": (-1, 2)}):
        with pytest.raises(fyris.BadValue):
            segment.ndarray(**bad)
    with pytest.raises(fyris.BadValue):
        segment.ndarray(1, offset=-1)
    with pytest.raises(ValueError):
        segment.ndarray(1, "O")


def test_read_only(name):
    writer = fyris.Segment(name, 4096)
    writer.ndarray(512, "i8")[5] = 5
    writer.commit()
    reader = fyris.Segment(name, read_only=True)
    array = reader.ndarray(512, "i8")
    assert reader.read_only and not array.flags.writeable and array[5] == 5
    with pytest.raises(ValueError):
        array[5] = 6
    assert memoryview(reader).readonly
    for use in (reader.commit, reader.discard, lambda: reader.touch(0, 8)):
        with pytest.raises(fyris.ReadOnly):
            use()
    again = pickle.loads(pickle.dumps(reader))
    assert again.read_only and again.ndarray(512, "i8")[5] == 5


def test_growth(name):
    a, b = fyris.Segment(name, 4096, max_size=65536), fyris.Segment(name)
    array = a.ndarray(512)
    a.grow(20000)
    assert a.size == 20000 and a.max_size == 65536 and b.size == 4096
    array[511] = 1.0
    a.ndarray(2500)[2499] = 2.0
    a.commit()
    b.update()
    assert b.size == 20000 and b.ndarray(2500)[2499] == 2.0
    with pytest.raises(fyris.LimitReached):
        a.grow(65537)


def test_declared_and_private(name):
    declared = fyris.Segment(name, 8192, tracking="declared", private=[(4096, 8192)])
    array = declared.ndarray(1024, "i8")
    declared.touch(0, 8)
    array[0] = array[600] = 1
    declared.commit()
    other = fyris.Segment(name).ndarray(1024, "i8")
    assert other[0] == 1 and other[600] == 0
    with pytest.raises(fyris.BadValue):
        declared.touch(8192, 8193)


@pytest.mark.parametrize("tracking", ["userfault", "signal", "auto"])
def test_ways_of_tracking(name, tracking):
    try:
        segment = fyris.Segment(name, 1 << 16, tracking=tracking)
    except fyris.SegmentError as error:
        pytest.skip(str(error))
    array = segment.ndarray((16, 4096), "u1")
    array[3:5, 7] = 9
    segment.commit()
    assert segment.diff() == []
    assert fyris.Segment(name).ndarray((16, 4096), "u1")[4, 7] == 9


def test_refusals(name, tmp_path):
    with pytest.raises(fyris.NoSuchSegment):
        fyris.Segment(name, 4096, create=False)
    with pytest.raises(fyris.NoSuchSegment):
        fyris.unlink(name)
    for bad in ({"unit": 3}, {"tracking": "magic"}):
        with pytest.raises(fyris.BadValue):
            fyris.Segment(name, 4096, **bad)
    fyris.Segment(name, 4096, unit=4).close()
    with pytest.raises(fyris.BadValue):
        fyris.Segment(name, private=[(0, 1 << 40)])
    with pytest.raises(fyris.SegmentExists):
        fyris.Segment(name, 4096, exclusive=True)
    with pytest.raises(fyris.BadValue, match="unit"):
        fyris.Segment(name, unit=8)
    with pytest.raises(fyris.BadValue):
        fyris.Segment(name, 8192)
    with pytest.raises(fyris.BadValue):
        fyris.Segment("no name!", 4096)
    other = tmp_path / "other"
    other.write_bytes(b"something else" * 1000)
    os.chmod(other, 0o600)
    for use in (fyris.Segment, fyris.unlink, fyris.doctor):
        with pytest.raises(fyris.Damaged):
            use(other)
    assert other.exists()


def test_files(tmp_path, monkeypatch):
    path = tmp_path / "segment"
    with fyris.Segment(path, 4096) as segment:
        segment.ndarray(512)[0] = 2.5
        segment.commit()
        segment.sync()
        assert segment.name == str(path)
    monkeypatch.chdir(tmp_path)
    relative = fyris.Segment("./segment")
    assert relative.ndarray(512)[0] == 2.5
    pickled = pickle.dumps(relative)
    monkeypatch.chdir("/")
    assert pickle.loads(pickled).ndarray(512)[0] == 2.5
    fyris.unlink(path)
    assert not path.exists()


def test_a_relative_path_is_that_of_the_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    segment = fyris.Segment("./segment", 4096)
    segment[0] = 7
    segment.commit()
    table = fyris.VersionedMap("./map", 1 << 20)
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(segment))[0] == 7 and segment.name == "./segment"
    assert len(pickle.loads(pickle.dumps(table))) == 0


def test_pickles_differ_as_contents_do(name):
    segment = fyris.Segment(name, 8192)
    clean = pickle.dumps(segment)
    assert pickle.dumps(segment) == clean
    segment[0] = 1
    dirty = {pickle.dumps(segment) for _ in range(3)}
    assert len(dirty | {clean}) == 4
    segment.commit()
    committed = pickle.dumps(segment)
    assert committed not in dirty | {clean} and committed == pickle.dumps(segment)
    assert pickle.loads(committed)[0] == pickle.loads(clean)[0] == 1


def test_who_has_it_is_told_that_its_name_is_gone(name):
    first = fyris.Segment(name, 8192)
    assert not first.unlinked
    fyris.unlink(name)
    assert first.unlinked
    second = fyris.Segment(name, 8192)
    assert first.unlinked and not second.unlinked
    first[0] = 1
    for told in (first.commit, lambda: first.commit(merge=True), first.wait, lambda: asyncio.run(first.wait_async())):
        with pytest.raises(fyris.Unlinked, match=name):
            told()
    assert not second.wait(0) and second[0] == 0
    third = fyris.Segment(name, after_unlink=True)
    fyris.unlink(name)
    third[0] = 1
    third.commit()
    assert not third.wait(0)

    def put_and_unlink(entries):
        entries[b"k"] = b"v"
        fyris.unlink(name)

    with pytest.raises(fyris.Unlinked):
        fyris.VersionedMap(name, 1 << 16).write(put_and_unlink)
    made = fyris.VersionedMap(name, 1 << 16, after_unlink=True)
    made.write(put_and_unlink)
    assert made[b"k"] == b"v"


def test_handles_are_not_copied(name):
    with fyris.Segment(name, 8192) as segment:
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="check it out"):
                copied(segment)


def test_negative_sizes_and_places_are_named(name):
    with pytest.raises(fyris.BadValue, match="-1"):
        fyris.Segment(name, -1)
    with pytest.raises(fyris.BadValue, match="-5"):
        fyris.Segment(name, 4096, max_size=-5)
    segment = fyris.Segment(name, 8192)
    for wrong in (
        lambda: segment.ndarray(4, offset=-8),
        lambda: segment.touch(-8, 8),
        lambda: segment.grow(-8),
    ):
        with pytest.raises(fyris.BadValue, match="-8"):
            wrong()
    with pytest.raises(TypeError):
        segment.grow("8")


def test_arrays_of_arrays(name):
    array = fyris.Segment(name, 8192).ndarray(3, "(2,2)i4")
    assert array.shape == (3, 2, 2)
    array[1, 1, 0] = 5
    assert fyris.Segment(name).ndarray((0, 3), "(2,2)i4").shape == (0, 3, 2, 2)


def test_slices_take_what_has_bytes(name):
    segment = fyris.Segment(name, 8192, tracking="declared")
    whole = numpy.arange(4, dtype="i8")
    for given in (
        whole,
        array.array("q", range(4)),
        (ctypes.c_int64 * 4)(*range(4)),
        memoryview(whole),
        whole.reshape(2, 2),
    ):
        segment[64:96] = bytes(32)
        segment[64:96] = given
        assert segment[64:96] == whole.tobytes()
    with pytest.raises((BufferError, ValueError)):
        segment[64:80] = whole[::2]
    with pytest.raises(TypeError):
        segment[64:66] = [1, 2]
    with pytest.raises(fyris.BadValue, match="32 bytes for 31"):
        segment[64:95] = whole
    segment[95:63:-1] = whole
    assert segment[64:96] == whole.tobytes()[::-1]
    # A view of the very same bytes.
    segment[0:8] = b"abcdefgh"
    segment[2:8] = memoryview(segment)[0:6]
    assert segment[0:8] == b"ababcdef"
    segment[6::-2] = memoryview(segment)[0:4]
    assert segment[0:8] == b"bbabbdaf"
    segment[3:3] = b""
    segment.commit()
    assert fyris.Segment(name)[64:96] == whole.tobytes()[::-1]


@pytest.mark.parametrize("option", ["foreign_writes", "one_writer"])
def test_ways_to_find_writes(name, option):
    segment = fyris.Segment(name, 1 << 20, **{option: True})
    for n in range(20):
        segment[0] = n
        segment[4096 * n] = n + 1
        segment.commit()
    with fyris.Segment(name) as other:
        assert other[:] == segment[:] and other[4096 * 19] == 20
    again = pickle.loads(pickle.dumps(segment))
    again[5] = 9
    assert again.commit() == segment.version + 1


def test_doctor(name):
    segment = fyris.Segment(name, 8192, unit=16)
    segment.ndarray(8)[0] = 1
    segment.commit()
    report = fyris.doctor(name)
    assert report["size"] == 8192 and report["unit"] == 16
    assert report["version"] == segment.version
    assert [p["pid"] for p in report["processes"]] == [os.getpid()]
    assert report["processes"][0]["alive"] and report["processes"][0]["commits"] == 1


def test_threads_take_turns(name):
    """A thread that comes while another is inside waits, and nothing is lost."""
    segment = fyris.Segment(name, 1 << 16)
    array = segment.ndarray(8192, "i8")
    def work(me):
        for n in range(200):
            array[me * 512] += 1
            segment.commit()

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    segment.commit()
    other = fyris.Segment(name).ndarray(8192, "i8")
    assert list(other[: 4 * 512 : 512]) == [200] * 4


UNIT, UNITS = 4, 3000


class Model(RuleBasedStateMachine):
    """Three checkouts against lists: the same writes, commits, updates."""

    @initialize()
    def begin(self):
        self.name = f"pytest-model-{os.getpid()}-{uuid.uuid4().hex}"
        self.trunk = [0] * UNITS
        self.version = 0
        self.copies = []
        for _ in range(3):
            segment = fyris.Segment(self.name, UNIT * UNITS, unit=UNIT)
            array = segment.ndarray(UNITS, "u4")
            self.copies.append([segment, array, list(self.trunk), list(self.trunk), 0])

    who = st.integers(0, 2)
    where = st.one_of(st.integers(0, UNITS - 1), st.integers(0, 3))

    @rule(who=who, where=where, many=st.integers(1, 5), value=st.integers(0, 3))
    def write(self, who, where, many, value):
        _, array, _, local, _ = self.copies[who]
        stop = min(where + many, UNITS)
        array[where:stop] = value
        local[where:stop] = [value] * (stop - where)

    def clashes(self, who):
        _, _, base, local, _ = self.copies[who]
        return [n for n in range(UNITS) if local[n] != base[n] and self.trunk[n] != base[n]]

    def merge(self, who, decide):
        copy = self.copies[who]
        _, _, base, local, _ = copy
        clashing = set(self.clashes(who))
        for n in range(UNITS):
            if n in clashing:
                local[n] = decide(local[n], self.trunk[n])
            elif local[n] == base[n]:
                local[n] = self.trunk[n]
        copy[2], copy[4] = list(self.trunk), self.version

    @rule(who=who)
    def update(self, who):
        assert self.copies[who][0].update().conflicts == len(self.clashes(who))
        self.merge(who, lambda local, incoming: local)

    @rule(who=who)
    def update_validated(self, who):
        segment = self.copies[who][0]
        clashing = self.clashes(who)
        if clashing:
            with pytest.raises(fyris.SegmentConflict) as caught:
                segment.update(validate=True)
            units = [n for a, b in caught.value.ranges for n in range(a // UNIT, b // UNIT)]
            assert units == clashing
        else:
            segment.update(validate=True)
            self.merge(who, None)

    @rule(who=who)
    def update_asking(self, who):
        seen = []

        def most(offset, base, local, incoming):
            seen.append(offset // UNIT)
            return max(local, incoming)

        expected = self.clashes(who)
        self.copies[who][0].update(on_conflict=most)
        assert sorted(set(seen)) == expected
        self.merge(who, max)

    def committed(self, who):
        copy = self.copies[who]
        if copy[3] != self.trunk:
            self.trunk, self.version = list(copy[3]), self.version + 1
        copy[2], copy[4] = list(self.trunk), self.version

    @rule(who=who)
    def commit(self, who):
        segment, _, _, _, at = self.copies[who]
        if at < self.version:
            with pytest.raises(fyris.Behind):
                segment.commit()
        else:
            segment.commit()
            self.committed(who)

    @rule(who=who)
    def commit_merging(self, who):
        self.copies[who][0].commit(merge=True)
        self.merge(who, lambda local, incoming: local)
        self.committed(who)

    @rule(who=who)
    def discard(self, who):
        copy = self.copies[who]
        copy[0].discard()
        copy[3] = list(copy[2])

    @invariant()
    def the_same(self):
        for segment, array, base, local, at in getattr(self, "copies", []):
            assert array.tolist() == local
            assert segment.behind == (at < self.version)
            changed = [n for a, b in segment.diff() for n in range(a // UNIT, b // UNIT)]
            assert changed == [n for n in range(UNITS) if local[n] != base[n]]

    def teardown(self):
        if hasattr(self, "name"):
            fyris.unlink(self.name)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
