"""Segments between processes: spawned, forked, killed."""

import multiprocessing
import os
import signal
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


def add_one(offset, base, local, incoming):
    """What the others have made of it, and the one that is added here. base is not asked: a process that was not scheduled for long
    finds it gone."""
    return (int.from_bytes(incoming, "little") + 1).to_bytes(8, "little")


def count(segment, me, times):
    """In a spawned process: the segment comes pickled, and is checked out anew."""
    array = segment.ndarray((8, 512), "i8")
    for _ in range(times):
        array[0, 0] += 1  # everybody
        array[me, me] += 1  # only me
        segment.commit(merge=True, on_conflict=add_one)


def test_spawned_processes_count_together(name):
    with fyris.Segment(name, 8 * 4096) as segment:
        array = segment.ndarray((8, 512), "i8")
        array[7, 7] = 1  # not committed: not in the pickled one
        children = [SPAWN.Process(target=count, args=(segment, me, 200)) for me in (1, 2, 3)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 3
        assert array[0, 0] == 0
        segment.update()
        assert array[0, 0] == 600
        assert [array[me, me] for me in (1, 2, 3)] == [200] * 3
        assert segment.diff() == [(8 * (7 * 512 + 7), 8 * (7 * 512 + 8))]


def square(segment, row):
    array = segment.ndarray((8, 512), "i8")
    array[row] = row * row
    return segment.commit(merge=True)


def test_a_pool_of_processes(name):
    with fyris.Segment(name, 8 * 4096) as segment, SPAWN.Pool(2) as pool:
        versions = pool.starmap(square, [(segment, row) for row in range(1, 8)])
        assert sorted(versions) == list(range(segment.version + 1, segment.version + 8))
        segment.update()
        assert segment.ndarray((8, 512), "i8").sum() == 512 * sum(n * n for n in range(8))


def in_fork(work):
    """Runs work in a forked child; its assertion errors are ours."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0


def test_a_forked_child_is_told_until_it_reattaches(name):
    segment = fyris.Segment(name, 8192)
    array = segment.ndarray(1024, "i8")
    array[0] = 1
    segment.commit()
    array[1] = 2  # stays with the parent

    def child():
        for use in (
            segment.commit,
            segment.update,
            segment.diff,
            segment.discard,
            lambda: segment.ndarray(1),
            lambda: memoryview(segment),
        ):
            with pytest.raises(fyris.Forked, match="reattach"):
                use()
        assert "parent" in repr(segment)
        segment.reattach()
        mine = segment.ndarray(1024, "i8")
        assert list(mine[:2]) == [1, 0]
        mine[2] = 3
        segment.commit()
        segment.close()
        assert mine[2] == 3  # the export of the new copy counts

    in_fork(child)
    segment.reattach()  # nothing to do here
    assert array[1] == 2 and segment.behind
    segment.update()
    assert list(array[:3]) == [1, 2, 3]


def test_a_child_that_just_ends_takes_nothing_along(name):
    segment = fyris.Segment(name, 8192)
    array = segment.ndarray(1024, "i8")
    in_fork(lambda: None)
    in_fork(lambda: segment.close())
    array[0] = 1
    segment.commit()
    assert fyris.doctor(name)["processes"][0]["alive"]
    assert fyris.Segment(name).ndarray(1024, "i8")[0] == 1


def commit_for_ever(segment):
    array = segment.ndarray((8, 512), "i8")
    while True:
        array += 1  # the same number everywhere, always
        segment.commit(merge=True)


def test_killed_processes_harm_nobody(name):
    with fyris.Segment(name, 8 * 4096) as segment:
        array = segment.ndarray((8, 512), "i8")
        for _ in range(3):
            before = segment.version
            child = SPAWN.Process(target=commit_for_ever, args=(segment,))
            child.start()
            until = time.monotonic() + 30
            while segment.trunk_version < before + 50 and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(child.pid, signal.SIGKILL)
            child.join()
            segment.update()
            assert segment.version >= before + 50
            assert array.min() == array.max() == segment.version  # whole commits only
            report = fyris.doctor(name)
            assert [p["pid"] for p in report["processes"]] == [os.getpid()]
