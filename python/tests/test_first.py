"""Transactions that go first, after others were faster too often."""

import operator
import threading

import pytest

import fyris


def first(table, hold, read, then):
    """Runs `then` in a transaction that others have been faster than eight times."""
    lost = []

    @fyris.transactional(hold=hold)
    def run(tx):
        within = tx.table(table)
        read(within)
        lost.append(None)
        if len(lost) <= 8:
            thread = threading.Thread(target=table.insert, args=((1, len(lost)),))
            thread.start()
            thread.join()
            return within.insert((0, 0))
        return then(within)

    return run()


@pytest.mark.parametrize("write", [
    lambda t: t.insert((5, 1)),
    lambda t: t.insert_many([(5, 1), (105, 1)]),
    lambda t: t.__setitem__(5, 1),
    lambda t: t.pop(5),
    lambda t: t.delete(5),
    lambda t: t.update_counter(5, 1),
    lambda t: t.update_element(5, (2, 1)),
    lambda t: t.compare_and_swap((5, 0), (5, 1)),
])
def test_writers_wait_for_one_that_goes_first(write):
    table = fyris.Table()
    table.insert_many([(n, 0) for n in range(10)])
    waiting = threading.Thread(target=write, args=(table,))

    def then(within):
        waiting.start()
        # It waits, and lets the interpreter go on.
        waiting.join(0.02)
        assert waiting.is_alive() and table[5] == 0
        within[0] = within[5]
        return "done"

    read = operator.itemgetter(1, 5)
    assert first(table, 20, read, then) == "done"
    waiting.join()
    assert table.get(5, "gone") in (1, "gone")


def test_a_hold_has_an_end():
    table = fyris.Table()
    table.insert_many([(n, 0) for n in range(10)])

    def then(within):
        thread = threading.Thread(target=table.insert, args=((5, "late"),))
        thread.start()
        thread.join()
        within[0] = 1

    with pytest.raises(fyris.HoldExpired):
        first(table, 0.02, operator.itemgetter(1, 5), then)
    assert table[0] == 0


def test_a_hold_is_a_time():
    for wrong in (-1, float("nan"), float("inf"), 1e300):
        with pytest.raises(fyris.BadValue, match="hold"):
            fyris.transaction(hold=wrong)
    with fyris.transaction(hold=0):
        pass
