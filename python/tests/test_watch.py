"""Watching: what subscriptions tell, to threads and to asyncio."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

import fyris


def all_now(changes):
    """What is to be read without waiting."""
    return list(iter(changes.try_next, None))


def changed(events):
    return [(change.old, change.new) for event in events for change in event.changes]


@pytest.fixture(params=["set", "ordered_set"])
def table(request):
    return fyris.Table(request.param)


def test_inserts_updates_and_deletes_are_told(table):
    with table.subscribe() as changes:
        assert changes.try_next() is None and not changes.ended
        table["a"] = 1
        table["a"] = 2
        table["a"] = 2
        del table["a"]
        table.delete("a")
        first, second, third = all_now(changes)
    assert first == (1, "changes", ((table, None, ("a", 1)),), None, (), 0, 0)
    assert (first.seq, first.kind, first.changes[0].new) == (1, "changes", ("a", 1))
    assert isinstance(first, fyris.WatchEvent) and isinstance(first.changes[0], fyris.ObjectChange)
    assert second.changes == ((table, ("a", 1), ("a", 2)),) and second.changes[0].table is table
    assert third.seq == 3 and third.changes == ((table, ("a", 2), None),)
    assert changes.ended and changes.try_next() is None


def test_a_list_and_a_transaction_are_one_event(table):
    log = fyris.Table("bag")
    changes = fyris.subscribe([table, log])
    table.insert_many([(n, n) for n in range(3)])
    with fyris.transaction() as tx:
        tx.table(table)[1] = "one"
        tx.table(log).insert_many([(1, "a"), (1, "b")])
    listed, committed = all_now(changes)
    assert sorted(new for _, _, new in listed.changes) == [(0, 0), (1, 1), (2, 2)]
    assert [change.table for change in committed.changes] == [table, log, log]
    assert (committed.changes[0].old, committed.changes[0].new) == ((1, 1), (1, "one"))


def test_the_ends_of_tables_are_told(table):
    other = fyris.Table()
    changes = fyris.subscribe([table, other])
    table.update({1: 1, 2: 2})
    table.clear()
    table.drop()
    other[3] = 3
    other.drop()
    events = list(changes)
    assert [event.kind for event in events] == ["changes", "cleared", "deleted", "changes", "deleted"]
    assert (events[1].table, events[1].size) == (table, 2)
    assert (events[2].table, events[4].table) == (table, other)
    assert changes.ended and next(changes, None) is None and changes.next() is None
    assert "ended" in repr(changes)


def test_each_filter():
    table = fyris.Table("ordered_set")
    filters = {
        "key": {"key": 3},
        "none": {"key": None},
        "range": {"range": (2, 5)},
        "low": {"range": (None, 3)},
        "high": {"range": (7, None)},
        "pattern": {"pattern": "{'_', 4}"},
        "value": {"pattern": (fyris.Atom("_"), 4)},
        "spec": {"match_spec": "[{{'_', '$1'}, [{'>', '$1', 7}, {is_integer, '$1'}], [true]}]"},
        "all": {},
    }
    changes = {name: table.subscribe(**filter) for name, filter in filters.items()}
    for n in range(10):
        table[n] = n
    table[None] = None
    seen = {name: [new[0] for _, new in changed(all_now(one))] for name, one in changes.items()}
    assert seen == {
        "key": [3],
        "none": [None],
        "range": [2, 3, 4],
        "low": [0, 1, 2],
        "high": [7, 8, 9, None],
        "pattern": [4],
        "value": [4],
        "spec": [8, 9],
        "all": [*range(10), None],
    }
    # What matched before the change is told as well.
    table[8] = 0
    assert changed(all_now(changes["spec"])) == [((8, 8), (8, 0))]
    assert all_now(changes["pattern"]) == []


def test_what_makes_no_sense_is_refused(table):
    with pytest.raises(TypeError, match="rnage"):
        table.subscribe(rnage=(1, 2))
    with pytest.raises(TypeError):
        table.subscribe(1)
    for wrong in (3, (1,), (1, 2, 3)):
        with pytest.raises((TypeError, ValueError)):
            table.subscribe(range=wrong)
    with pytest.raises(TypeError):
        fyris.subscribe(table)
    with pytest.raises(TypeError):
        table.subscribe(key=object())
    with pytest.raises(OverflowError):
        table.subscribe(queue=-1)
    with pytest.raises(fyris.BadValue, match="not several"):
        table.subscribe(key=1, pattern="{1}")
    with pytest.raises(fyris.BadValue):
        table.subscribe(pattern="{1, ")
    with pytest.raises(fyris.BadValue):
        table.subscribe(match_spec="[{}]")
    for tables in ([], [table, table]):
        with pytest.raises(fyris.BadValue):
            fyris.subscribe(tables)
    with pytest.raises(fyris.WrongType):
        fyris.Table("set").subscribe(range=(1, 2))
    with pytest.raises(fyris.WrongType):
        fyris.Table("bag").subscribe(conflate=True)
    with pytest.raises(fyris.ReadOnly):
        table.snapshot().subscribe()
    with fyris.transaction() as tx, pytest.raises(fyris.InTransaction):
        tx.table(table).subscribe()
    with pytest.raises(fyris.BadValue, match="-1"):
        table.subscribe().next(timeout=-1)
    table.drop()
    with pytest.raises(fyris.NoSuchTable):
        table.subscribe()


def test_a_full_queue_says_what_it_lost(table):
    changes = table.subscribe(queue=2)
    for n in range(5):
        table[n] = n
    first, second, lost = all_now(changes)
    assert (first.seq, second.seq) == (1, 2)
    assert (lost.seq, lost.kind, lost.lost, lost.changes) == (3, "overflow", 3, ())
    table[5] = 5
    assert changes.try_next().seq == 6


def test_of_a_key_the_newest_change_is_told(table):
    changes = table.subscribe(conflate=True)
    for n in range(1000):
        table["price"] = n
    table["other"] = 1
    assert changed(all_now(changes)) == [(None, ("price", 999)), (None, ("other", 1))]


def test_a_write_that_changes_nothing_is_not_told(table):
    table["price"] = 1
    changes, none = table.subscribe(), table.subscribe(queue=0)
    table["price"] = 1
    table["price"] = 2
    assert changed(all_now(changes)) == [(("price", 1), ("price", 2))]
    assert [(event.kind, event.lost) for event in all_now(none)] == [("overflow", 1)]


def test_a_renamed_table_is_the_one_that_was_given():
    tables = [fyris.Table(name=f"watch-{name}-{os.getpid()}") for name in "ab"]
    tables[0][0] = 0
    changes = fyris.subscribe(tables, from_snapshot=True)
    tables[0].rename(f"watch-c-{os.getpid()}")
    tables[0][1] = 1
    tables[1][1] = 1
    objects, current, *events = all_now(changes)
    assert objects.table is tables[0] and current.kind == "current"
    assert [event.changes[0].table for event in events] == tables
    for one in tables:
        one.drop()


def test_the_tables_are_kept_while_a_subscription_lasts():
    table = fyris.Table()
    gone = weakref.ref(table)
    changes = table.subscribe()
    del table
    gc.collect()
    gone()[1] = 1
    assert changes.try_next().changes[0].table is gone()
    del changes
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("conflate", [False, True])
def test_a_snapshot_and_all_since_make_the_table(table, conflate):
    """Each event leaves a copy that is the table as it was at some moment."""
    table.update({n: 0 for n in range(1000)})
    begun = threading.Event()

    def write():
        for n in range(4000):
            if n % 7 == 3:
                table.pop(n % 1500, None)
            else:
                table[n % 1500] = n
            if n == 500:
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait()
    copy, seen = {}, []
    with table.subscribe(from_snapshot=True, conflate=conflate, queue=1_000_000) as changes:
        done = False
        while True:
            event = changes.next(timeout=0 if done else 0.01)
            if event is None:
                if done:
                    break
                done = not writer.is_alive()  # and all that it wrote is to be read
                continue
            if event.kind == "objects":
                copy.update(event.objects)
            for _, old, new in event.changes:
                key = (old or new)[0]
                seen.append((copy.pop(key, None), old and old[1]))
                if new:
                    copy[key] = new[1]
    writer.join()
    assert all(had == told for had, told in seen)
    assert copy == dict(table)


def test_a_materialized_count(table):
    """The worked example of the README, beside a writer."""
    def write():
        for n in range(3000):
            table[n % 100] = ("red", "green", "blue")[n % 3 if n % 5 else 0]
        table.drop()

    counts, known = {}, {}
    changes = table.subscribe(from_snapshot=True)
    writer = threading.Thread(target=write)
    writer.start()
    last = None
    for event in changes:
        for _, old, new in event.changes:
            for of, step in ((old, -1), (new, 1)):
                if of:
                    counts[of[1]] = counts.get(of[1], 0) + step
            known[new[0]] = new[1]
        last = event
    writer.join()
    assert last.kind == "deleted"
    assert sum(counts.values()) == len(known) == 100
    assert counts == {color: list(known.values()).count(color) for color in counts}


def test_a_wait_has_an_end(table):
    changes = table.subscribe()
    begin = time.monotonic()
    assert changes.next(timeout=0.15) is None and changes.next(timeout=0) is None
    assert 0.14 < time.monotonic() - begin < 10


def test_who_waits_is_woken_by_a_write(table):
    changes = table.subscribe()
    got = []
    threads = [threading.Thread(target=lambda: got.append(next(changes).seq)) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.02)
    for n in range(3):
        table[n] = n
    for thread in threads:
        thread.join(60)
    assert sorted(got) == [1, 2, 3]


def test_close_ends_who_waits(table):
    changes = table.subscribe()
    got = []
    waiters = [
        threading.Thread(target=lambda: got.append(list(changes))),
        threading.Thread(target=lambda: got.append(changes.next())),
        threading.Thread(target=lambda: got.append(asyncio.run(first_of(changes)))),
    ]
    for waiter in waiters:
        waiter.start()
    time.sleep(0.05)
    changes.close()
    for waiter in waiters:
        waiter.join(60)
    assert sorted(map(str, got)) == ["None", "None", "[]"]


async def first_of(changes):
    async for event in changes:
        return event


def test_the_end_of_the_table_ends_who_waits(table):
    changes = table.subscribe()
    got = []
    waiter = threading.Thread(target=lambda: got.extend(event.kind for event in changes))
    waiter.start()
    time.sleep(0.02)
    table.drop()
    waiter.join(60)
    assert got == ["deleted"]


@pytest.mark.parametrize("wait", ["next(changes)", "changes.next()", "asyncio.run(first())"])
def test_ctrl_c_ends_a_wait(wait):
    program = f"""
import asyncio, fyris, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
changes = fyris.Table().subscribe()
async def first():
    async for _ in changes:
        pass
print("waits", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted")
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "waits\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted\n"


def test_asyncio(table):
    async def watch():
        with fyris.subscribe([table], from_snapshot=True) as changes:
            return [event.kind async for event in changes]

    async def main():
        table[0] = 0
        tasks = [asyncio.create_task(watch()) for _ in range(50)]
        await asyncio.sleep(0.01)
        for n in range(1, 4):
            await asyncio.to_thread(table.update, {n: n})
            await asyncio.sleep(0)
        table.drop()
        return await asyncio.gather(*tasks)

    told = asyncio.run(main())
    assert told == [["objects", "current", "changes", "changes", "changes", "deleted"]] * 50
    # Another loop, and in no loop.
    with pytest.raises(RuntimeError):
        fyris.Table().subscribe().__anext__().send(None)


def test_tasks_share_a_subscription(table):
    async def main():
        changes = table.subscribe()
        tasks = [asyncio.create_task(anext(changes)) for _ in range(5)]
        await asyncio.sleep(0.01)
        for n in range(5):
            table[n] = n
        return sorted(event.seq for event in await asyncio.gather(*tasks))

    assert asyncio.run(main()) == [1, 2, 3, 4, 5]


def test_who_is_cancelled_loses_nothing(table):
    """Tasks give up all the time, beside a writer."""
    def write():
        for n in range(300):
            table[n] = n
            time.sleep(0.0002)
        table.drop()

    async def main():
        changes, seen = table.subscribe(), []
        writer = threading.Thread(target=write)
        writer.start()
        while True:
            try:
                event = await asyncio.wait_for(anext(changes), 0.0003)
            except TimeoutError:
                continue
            except StopAsyncIteration:
                break
            seen.append(event.seq)
        writer.join()
        return seen

    assert asyncio.run(main()) == list(range(1, 302))


def test_a_cancelled_task_ends_at_once(table):
    async def main():
        changes = table.subscribe()
        task = asyncio.create_task(anext(changes))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        table[1] = 1
        return (await anext(changes)).seq

    begin = time.monotonic()
    assert asyncio.run(main()) == 1
    assert time.monotonic() - begin < 10


def test_writers_do_not_wait_for_who_waits(table):
    """Threads wait, tasks wait, and nobody reads fast enough: writers go on."""
    changes = [table.subscribe(queue=10) for _ in range(4)]
    stop = threading.Event()

    def read(one):
        while not stop.is_set():
            one.next(timeout=0.01)

    async def tasks():
        while not stop.is_set():
            try:
                await asyncio.wait_for(anext(changes[3]), 0.01)
            except TimeoutError:
                pass

    readers = [threading.Thread(target=read, args=(one,)) for one in changes[:3]]
    readers.append(threading.Thread(target=lambda: asyncio.run(tasks())))
    for reader in readers:
        reader.start()

    def write(from_key):
        for n in range(3000):
            table[from_key + n % 50] = n

    writers = [threading.Thread(target=write, args=(1000 * n,)) for n in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    slow = any(writer.is_alive() for writer in writers)
    stop.set()
    for reader in readers:
        reader.join(60)
    assert not slow and not any(reader.is_alive() for reader in readers)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_told(table):
    changes = table.subscribe()
    table[1] = 1
    child = os.fork()
    if child == 0:
        code = 1
        try:
            told = 0
            for use in (changes.try_next, changes.close, lambda: next(changes), lambda: changes.ended, table.subscribe):
                try:
                    use()
                except fyris.Forked:
                    told += 1
            code = 0 if told == 5 else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert changes.try_next().seq == 1
