"""Transactions over tables."""

import asyncio
import gc
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest

import fyris


@pytest.fixture(params=["set", "ordered_set"])
def accounts(request):
    table = fyris.Table(request.param)
    table.update(ada=100, bob=0)
    return table


def test_a_block_commits_at_its_end(accounts):
    log = fyris.Table("bag")
    with fyris.transaction() as tx:
        within, entries = tx.table(accounts), tx.table(log)
        assert type(within) is fyris.Table and dict(within) == dict(accounts)
        within["ada"] -= 30
        within.update_counter("bob", 30)
        within["cy"] = within.pop("bob")
        entries.insert_many([("ada", 1), ("ada", 2)])
        assert dict(within) == {"ada": 70, "cy": 30} and len(entries) == 2
        assert within.select("[{{'$1', 70}, [], ['$1']}]") == ["ada"]
        assert dict(accounts) == {"ada": 100, "bob": 0} and len(log) == 0
    assert dict(accounts) == {"ada": 70, "cy": 30}
    assert log.lookup("ada") == [("ada", 1), ("ada", 2)]


def test_an_exception_aborts_and_goes_on(accounts):
    with pytest.raises(ZeroDivisionError), fyris.transaction() as tx:
        tx.table(accounts)["ada"] = 1
        1 / 0
    tx = fyris.transaction()
    tx.table(accounts)["ada"] = 1
    del tx
    with fyris.transaction() as tx:
        tx.table(accounts)["ada"] = 1
        tx.abort()
        tx.abort()
    assert accounts["ada"] == 100
    with fyris.transaction() as tx:
        tx.table(accounts)["ada"] = 1
        tx.commit()
        accounts["ada"] = 2
    assert accounts["ada"] == 2


def test_a_conflict_names_table_and_key(accounts):
    other = fyris.Table(name=f"other-{os.getpid()}")
    with pytest.raises(fyris.Conflict, match="another write to .* was faster, key") as caught:
        with fyris.transaction() as tx:
            tx.table(other)["seen"] = tx.table(accounts)["ada"]
            accounts["ada"] = 99
    conflict = caught.value
    assert conflict.table is accounts and conflict.key == "ada" and "seen" not in other
    assert isinstance(conflict, fyris.Error) and not isinstance(conflict, fyris.SegmentError)
    assert issubclass(fyris.SegmentConflict, fyris.Conflict)
    again = pickle.loads(pickle.dumps(conflict))
    assert (str(again), again.table, again.key) == (str(conflict), None, "ada")
    # Where another table comes in, and then at the commit.
    tx = fyris.transaction()
    assert tx.table(other).get("seen") is None
    other["seen"] = 1
    for go_on in (lambda: tx.table(accounts), tx.commit):
        with pytest.raises(fyris.Conflict) as caught:
            go_on()
        assert caught.value.table is other and caught.value.key is None
    # A table that is emptied or dropped.
    for change, error in ((other.clear, fyris.Conflict), (other.drop, fyris.Error)):
        with pytest.raises(error), fyris.transaction() as tx:
            tx.table(other)["new"] = 1
            change()
    assert len(accounts) == 2


def test_what_only_reads_meets_no_conflict(accounts):
    with fyris.transaction() as tx:
        before = tx.table(accounts)
        assert before["ada"] == 100
        accounts["ada"] = accounts["bob"] = 50
        assert before["bob"] == 0 and list(before.items()) == list(tx.table(accounts).items())


def test_what_has_ended_says_so(accounts):
    for end in ("commit", "abort"):
        tx = fyris.transaction()
        within = tx.table(accounts)
        walk = iter(within)
        getattr(tx, end)()
        for use in (
            lambda: within["ada"],
            lambda: within.insert(("ada", 1)),
            lambda: len(within),
            lambda: within.info(),
            lambda: within.select("[{'_', [], ['$_']}]"),
            lambda: next(walk),
            lambda: tx.table(accounts),
            lambda: tx.commit(),
            lambda: tx.__enter__(),
        ):
            with pytest.raises(fyris.TransactionEnded, match="the transaction has ended"):
                use()
        assert "the transaction has ended" in repr(within)
    assert dict(accounts) == {"ada": 100, "bob": 0}


def test_what_is_about_the_table_itself_is_refused(accounts):
    with fyris.transaction() as tx:
        within = tx.table(accounts)
        for what in (within.drop, within.clear, within.snapshot, lambda: within.rename("x")):
            with pytest.raises(fyris.InTransaction, match="does not work in a transaction"):
                what()
        with pytest.raises(fyris.InTransaction):
            fyris.Table.snapshots([within])
        with pytest.raises(fyris.ReadOnly):
            tx.table(accounts.snapshot())
        with pytest.raises(fyris.BadValue, match="another transaction"):
            fyris.transaction().table(within)
        with pytest.raises(TypeError):
            tx.table("accounts")
        with within:  # drops tables, but not this one
            within["ada"] = 1
    assert accounts["ada"] == 1


def test_wrong_arguments_change_nothing(accounts):
    with pytest.raises(TypeError):
        fyris.transaction(attempts=1)
    with pytest.raises(TypeError):
        fyris.Transaction()
    with pytest.raises(TypeError):
        fyris.transactional(tries=1)
    with pytest.raises(TypeError):
        fyris.transactional(attempts=1.5)
    with pytest.raises(fyris.BadValue, match="0 attempts"):
        fyris.transactional(attempts=0)
    with fyris.transaction() as tx:
        tx.table(accounts)["ada"] = 1
        for wrong in (tx.commit, tx.abort):
            with pytest.raises(TypeError):
                wrong(now=True)
        assert accounts["ada"] == 100
    assert accounts["ada"] == 1


def test_a_table_without_a_name_lasts_as_long_as_its_transaction():
    with fyris.transaction() as tx:
        within = tx.table(fyris.Table())
        gc.collect()
        within["key"] = 1
        assert within["key"] == 1
    with pytest.raises(fyris.Error):
        within["key"]


def test_a_function_runs_until_it_is_first(accounts):
    runs = []

    @fyris.transactional
    def pay(tx, giver, *, amount):
        """Pays."""
        within = tx.table(accounts)
        within[giver] -= amount
        runs.append(within[giver])
        if len(runs) < 4:
            accounts[giver] += 1  # as another thread would
        return within[giver]

    assert pay("ada", amount=30) == 73 and runs == [70, 71, 72, 73]
    assert accounts["ada"] == 73 and (pay.__name__, pay.__doc__) == ("pay", "Pays.")


def test_attempts_are_bounded(accounts):
    runs = []

    def lose(tx):
        runs.append(tx.table(accounts)["ada"])
        tx.table(accounts)["seen"] = True
        accounts["ada"] += 1

    with pytest.raises(fyris.Conflict):
        fyris.transactional(attempts=3)(lose)()
    with pytest.raises(fyris.Conflict):
        fyris.transactional(lose, attempts=1)()
    assert runs == [100, 101, 102, 103] and "seen" not in accounts


def test_exceptions_end_it_unless_they_come_of_a_conflict(accounts):
    other, runs = fyris.Table(), []

    @fyris.transactional
    def fail(tx, error):
        runs.append(error)
        tx.table(accounts)["ada"] = 1
        raise error

    with pytest.raises(KeyError, match="on purpose"):
        fail(KeyError("on purpose"))
    assert len(runs) == 1 and accounts["ada"] == 100

    @fyris.transactional
    def hide(tx):
        runs.append(tx.table(accounts)["ada"])
        if len(runs) == 2:
            accounts["ada"] = 50
        try:
            tx.table(other)
        except fyris.Conflict:
            raise RuntimeError("hidden") from None
        return runs[-1]

    assert hide() == 50 and runs[1:] == [100, 50]


def test_threads(accounts):
    """Each moves money to and fro; nobody ever sees another sum."""
    accounts.clear()
    accounts.update({key: 100 for key in range(8)})
    log, rounds, runs, sums = fyris.Table("duplicate_bag"), 100, [], []

    @fyris.transactional
    def move(tx, me, n):
        runs.append(me)
        within = tx.table(accounts)
        giver, taker = (me + n) % 8, (3 * me + 5 * n + 1) % 8
        within[giver] -= 1
        time.sleep(0)
        within[taker] += 1
        tx.table(log).insert((me, n))

    @fyris.transactional
    def total(tx):
        return sum(tx.table(accounts).values())

    def work(me):
        for n in range(rounds):
            move(me, n)
            sums.append(total())

    threads = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert len(runs) > 4 * rounds  # some were in the way of others
    assert sums == [800] * 4 * rounds and sum(accounts.values()) == 800
    assert sorted(log.to_list()) == [(me, n) for me in range(4) for n in range(rounds)]


def test_threads_share_one():
    table = fyris.Table()
    with fyris.transaction() as tx:
        within = tx.table(table)

        def work(me):
            for n in range(200):
                within[me, n] = n
                assert len(tx.table(table).select("[{{'_', 199}, [], [true]}]")) <= 4
                time.sleep(0)

        threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(table) == 0
    assert len(table) == 800


def test_one_within_another_is_refused(accounts):
    @fyris.transactional
    def fee(tx, who):
        tx.table(accounts)[who] -= 1

    @fyris.transactional
    def pay(tx, how):
        tx.table(accounts)["bob"] += 1
        return how(tx)

    with pytest.raises(fyris.InTransaction, match="fee was called within .*pay.*: pass tx on"):
        pay(lambda tx: fee("ada"))
    assert accounts["bob"] == 0
    # Not those of other threads, nor what comes afterwards; and the one that was decorated takes tx.
    pay(lambda tx: fee.__wrapped__(tx, "ada"))
    assert (accounts["ada"], accounts["bob"]) == (99, 1)

    def elsewhere(tx):
        thread = threading.Thread(target=fee, args=("cy",))
        thread.start()
        thread.join()

    accounts["cy"] = 5
    pay(elsewhere)
    fee("cy")
    assert accounts["cy"] == 3

    async def later():
        fee("cy")

    async def main():
        tasks = []
        pay(lambda tx: tasks.append(asyncio.create_task(later())))
        await tasks[0]

    asyncio.run(main())
    assert accounts["cy"] == 2


def test_what_runs_after_its_transaction_is_refused():
    async def coroutine(tx):
        pass

    async def generator_of_tasks(tx):
        yield

    def generator(tx):
        yield

    for wrong in (coroutine, generator_of_tasks, generator, 5, "pay"):
        for decorate in (fyris.transactional, fyris.transactional(attempts=2)):
            with pytest.raises(TypeError):
                decorate(wrong)


def test_methods(accounts):
    class Bank:
        @fyris.transactional
        def give(tx, self, amount):
            tx.table(accounts)["ada"] += amount
            return self

    bank = Bank()
    assert bank.give(5) is bank and accounts["ada"] == 105


FORKED = """
import fyris, os
table = fyris.Table()
tx = fyris.transaction()
within = tx.table(table)
child = os.fork()
if child == 0:
    said = 0
    for use in (fyris.transaction, tx.commit, tx.abort, lambda: tx.table(table), tx.__enter__, lambda: within[1]):
        try:
            use()
        except fyris.Forked:
            said += 1
    del tx, within
    os._exit(said)
within[1] = 1
tx.commit()
assert table[1] == 1 and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6
"""


def test_forked_children_have_none():
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=60)
