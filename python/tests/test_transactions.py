"""Transactions, with statements that commit, waiting, slices, and which segments there are."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
import uuid

import pytest

import fyris

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def name():
    name = f"pytest-{os.getpid()}-{uuid.uuid4().hex}"
    yield name
    fyris.unlink(name)


def number(segment, at=0):
    return int.from_bytes(segment[at : at + 8], "little")


def add_one(segment):
    segment[0:8] = (number(segment) + 1).to_bytes(8, "little")
    return number(segment)


@pytest.mark.parametrize("tracking", ["auto", "declared"])
def test_a_transaction_begins_again_when_another_was_faster(name, tracking):
    a, b = fyris.Segment(name, 8192, tracking=tracking), fyris.Segment(name)
    runs = []

    def change(segment):
        assert segment is a
        runs.append(number(segment))
        if len(runs) == 1:
            assert b.transaction(add_one) == 1
        return add_one(segment)

    assert a.transaction(change) == 2 and runs == [0, 1] and a.version == 2

    def fail(segment):
        add_one(segment)
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        a.transaction(fail)
    assert number(a) == 2 and a.diff() == []
    b.update()
    b[100] = 1
    with pytest.raises(fyris.Uncommitted):
        b.transaction(add_one)
    with pytest.raises(fyris.Uncommitted):
        b.begin().__enter__()
    assert b[100] == 1


def test_a_transaction_hands_on_what_is_behind_elsewhere(name):
    segment, runs = fyris.Segment(name, 8192), []

    def fail(segment):
        runs.append(add_one(segment))
        assert len(runs) < 10
        raise fyris.Behind("another segment is")

    with pytest.raises(fyris.Behind, match="another segment is"):
        segment.transaction(fail)
    assert runs == [1] and segment.diff() == [] and segment.version == 0


@pytest.mark.parametrize(
    "within",
    [
        lambda s: s.commit(),
        lambda s: s.commit(merge=True, on_conflict=lambda *a: "local"),
        lambda s: s.update(),
        lambda s: s.update(on_conflict=lambda *a: "local"),
        lambda s: s.discard(),
        lambda s: s.begin().__enter__(),
        lambda s: s.transaction(add_one),
    ],
)
def test_a_transaction_begins_and_ends_by_itself(name, within):
    segment = fyris.Segment(name, 8192)

    def change(segment):
        add_one(segment)
        with pytest.raises(fyris.InTransaction):
            within(segment)
        segment.touch(0, 8)
        return add_one(segment)

    assert segment.transaction(change) == 2
    assert segment.version == 1 and segment.diff() == [] and number(segment) == 2


def count(segment, times):
    for _ in range(times):
        segment.transaction(add_one)


def test_processes_count_together(name):
    segment = fyris.Segment(name, 4096)
    others = [SPAWN.Process(target=count, args=(segment, 100)) for _ in range(2)]
    for other in others:
        other.start()
    count(segment, 100)
    for other in others:
        other.join()
        assert other.exitcode == 0
    segment.update()
    assert number(segment) == 300


def test_a_with_statement_commits_or_takes_back(name):
    a, b = fyris.Segment(name, 4096), fyris.Segment(name)
    with a.begin() as same:
        assert same is a
        a[8:16] = b"12345678"
    assert a.diff() == [] and a.version == 1
    with pytest.raises(ZeroDivisionError), a.begin():
        a[8] = 0
        1 / 0
    assert a[8] == ord("1")
    # Somebody is faster: Behind, and nothing remains.
    with pytest.raises(fyris.Behind), a.begin():
        b.transaction(add_one)
        a[8] = 0
    assert a[8] == ord("1") and a.diff() == []
    # Unless others are merged.
    with a.begin(merge=True):
        b.transaction(add_one)
        a[8] = 0
    assert a[8] == 0 and number(a) == 2
    with pytest.raises(fyris.Conflict), a.begin(merge=True, validate=True):
        b.transaction(add_one)
        a[0] = 99
    assert number(a) in (2, 3)
    with pytest.raises(fyris.BadValue):
        a.begin(validate=True)


def test_slices(name):
    with fyris.Segment(name, 8192) as segment, fyris.Segment(name, read_only=True) as reader:
        segment[10:15] = b"uppsa"
        segment[15:17] = bytearray(b"la")
        assert segment[10:17] == b"uppsala" and segment[10] == segment[10 - 8192] == ord("u")
        assert segment[16:9:-1] == b"alasppu" and segment[10:17:2] == b"upaa"
        assert segment[8190:9999] == b"\0\0" and segment[5:5] == b""
        segment[20:27] = memoryview(segment)[10:17]
        segment[11:18] = memoryview(segment)[10:17]  # over itself
        assert segment[10:18] == b"uuppsala" and segment[20:27] == b"uppsala"
        segment[-1] = 255
        segment[0:6:2] = b"abc"
        assert segment[0:6] == b"a\0b\0c\0"
        before = segment[:]
        for bad, value, error in [
            (8192, 1, IndexError),
            (-8193, 1, IndexError),
            (0, 256, OverflowError),
            (0, b"x", TypeError),
            ("x", 1, TypeError),
            (slice(0, 2), b"abc", ValueError),
            (slice(0, 2), "ab", TypeError),
            (slice(0, 2, 0), b"", ValueError),
        ]:
            with pytest.raises(error):
                segment[bad] = value
        assert segment[:] == before
        segment.commit()
        reader.update()
        assert reader[:] == before
        with pytest.raises(fyris.ReadOnly):
            reader[0] = 1
        assert list(segment)[:3] == [97, 0, 98] and len(list(segment)) == 8192
    with pytest.raises(fyris.Closed):
        segment[0]


def test_a_sleeper_is_woken_and_keeps_nobody_out(name):
    a, b = fyris.Segment(name, 4096), fyris.Segment(name)
    assert not b.wait(0) and not b.wait(0.01)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(b.wait(60)))
    thread.start()
    assert b.diff() == []  # not Busy
    a.transaction(add_one)
    thread.join(30)
    assert seen == [True] and b.wait() and b.behind
    for bad in (-1, float("nan")):
        with pytest.raises(ValueError):
            b.wait(bad)
    assert b.wait(float("inf"))


def test_a_signal_ends_a_sleep(name):
    segment = fyris.Segment(name, 4096)

    class Rung(Exception):
        pass

    def ring(*_):
        raise Rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Rung):
            segment.wait()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_asyncio(name):
    a, b = fyris.Segment(name, 4096), fyris.Segment(name)

    async def main():
        assert not await b.wait_async(0.01)
        sleeper = asyncio.create_task(b.wait_async(60))
        await asyncio.sleep(0)
        a.transaction(add_one)
        assert await sleeper
        b.update()
        sleeper = asyncio.create_task(b.wait_async())
        await asyncio.sleep(0.01)
        sleeper.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeper

    asyncio.run(main())


def test_tasks_wait_without_threads(name):
    a, b = fyris.Segment(name, 4096), fyris.Segment(name)

    async def main():
        before = threading.active_count()
        sleepers = [asyncio.create_task(b.wait_async(60)) for _ in range(50)]
        await asyncio.sleep(0.05)
        assert threading.active_count() == before
        a.transaction(add_one)
        assert all(await asyncio.gather(*sleepers))
        b.update()
        # A name that goes without a call of ours is noticed, too.
        sleeper = asyncio.create_task(b.wait_async(60))
        await asyncio.sleep(0)
        (path,) = [one["path"] for one in fyris.segments() if one["name"] == name]
        os.remove(path)
        with pytest.raises(fyris.Unlinked):
            await sleeper

    asyncio.run(main())
    a.close()
    b.close()
    # For the fixture, which removes it.
    fyris.Segment(name, 4096).close()


@pytest.mark.parametrize("kind", [fyris.Segment, fyris.VersionedMap])
def test_threads_wait_for_each_others_transactions(name, kind):
    handle = kind(name, 1 << 20)
    run = handle.transaction if kind is fyris.Segment else handle.write
    place = slice(0, 8) if kind is fyris.Segment else b"key"
    inside, answers = threading.Event(), []

    def change(to, wait):
        def it(h):
            h[place] = b"halfway "
            if wait:
                inside.set()
                time.sleep(0.05)  # The others come meanwhile.
            h[place] = to
            return to

        return it

    calls = [
        lambda: handle[place],
        lambda: handle.commit() and handle[place],
        lambda: run(change(b"second  ", False)) and handle[place],
    ]

    def other(call):
        inside.wait()
        answers.append(call())

    threads = [threading.Thread(target=run, args=[change(b"first   ", True)])]
    threads += [threading.Thread(target=other, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == len(calls) and set(answers) <= {b"first   ", b"second  "}


def test_a_thread_that_was_forked_in_a_transaction_is_told(name):
    segment = fyris.Segment(name, 4096)
    inside, go_on = threading.Event(), threading.Event()

    def change(segment):
        inside.set()
        go_on.wait()

    thread = threading.Thread(target=segment.transaction, args=[change])
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        try:
            segment.commit()
        except fyris.Forked:
            segment.reattach()
            segment.transaction(add_one)
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    go_on.set()
    thread.join()


def test_segments_are_listed(name):
    with fyris.Segment(name, 8192, max_size=1 << 16) as segment:
        segment.transaction(add_one)
        (mine,) = [one for one in fyris.segments() if one["name"] == name]
        assert (mine["size"], mine["max_size"], mine["unit"]) == (8192, 1 << 16, 8)
        assert (mine["version"], mine["processes"]) == (1, 1) and mine["backed"] > 4096
        assert os.path.exists(mine["path"])


def test_a_reader_in_place(name):
    with fyris.Segment(name, 1 << 20) as writer:
        writer[:] = bytes(range(256)) * 4096
        writer.commit()
        with fyris.Segment(name, in_place=True) as reader:
            assert reader.read_only and reader[:] == writer[:]
            writer[5000] = 1
            writer.commit()
            assert reader[5000] == 5000 % 256
            here = reader.ndarray(1 << 20, "u1")
            reader.update()
            assert reader[5000] == here[5000] == 1 and not here.flags.writeable
            with pytest.raises(fyris.ReadOnly):
                reader[0] = 1
            assert [one["in_place"] for one in fyris.doctor(name)["processes"]] == [False, True]
