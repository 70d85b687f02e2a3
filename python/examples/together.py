"""Four small programs of threads that work together: a bank, seats that are reserved, a queue of jobs, and counts that
are kept in step with a table.

    python examples/together.py
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import fyris

THREADS = 4


def together(function):
    """Runs a function in several threads at once, and returns all that it has returned in one list."""
    with ThreadPoolExecutor(THREADS) as pool:
        return [one for some in pool.map(function, range(THREADS)) for one in some]


class TooLittleError(Exception):
    """There is not enough in an account."""


@fyris.transactional  # runs again if others were faster; if it raises, nothing has happened
def transfer(tx, accounts, giver, taker, amount):
    within = tx.table(accounts)
    within[giver] -= amount
    within[taker] += amount
    if within[giver] < 0:
        raise TooLittleError(giver)


def bank():
    """Transfers between accounts: none is overdrawn, and the sum stays."""
    accounts = fyris.Table()
    accounts.update((number, 100) for number in range(5))

    def transfers(thread):
        for n in range(200):
            try:
                transfer(accounts, (thread + n) % 5, (thread + 3 * n + 1) % 5, 10 + n % 50)
                yield "done"
            except TooLittleError:
                yield "refused"

    results = Counter(together(lambda thread: list(transfers(thread))))
    assert results.total() == 800
    try:
        transfer(accounts, 0, 1, 501)
        raise AssertionError("there is no such sum")
    except TooLittleError as refused:
        assert refused.args == (0,)
    balances = list(accounts.values())
    assert all(balance >= 0 for balance in balances) and sum(balances) == 500
    print(f"bank: {results['done']} of 800 transfers, the sum is 500")


@fyris.transactional
def reserve(tx, seats, person):
    """Gives a person the first free seat; returns its number, or None. That the person has none yet is looked at when
    it is committed."""
    within = tx.table(seats)
    for number, _ in within.lookup_by("by_state", "free"):
        within.insert((number, "taken", person))
        return number
    return None


def reservations():
    """Everybody tries to reserve a seat in each of the threads, and nobody gets two."""
    # A free seat, (number, "free"), has no third element, so the unique index does not have it.
    secondary = {"by_state": ("element", 2), "by_person": ("unique", ("element", 3))}
    seats = fyris.Table("ordered_set", secondary=secondary)
    seats.insert_many((number, "free") for number in range(1, 9))
    people = ["ada", "bob", "cleo", "dan", "eva", "finn"]

    def refused(_):
        for person in people:
            try:
                assert reserve(seats, person) is not None
            except fyris.NotUnique as taken:
                assert (taken.index, taken.value) == ("by_person", person)
                yield person

    second = Counter(together(lambda thread: list(refused(thread))))
    assert second == {person: THREADS - 1 for person in people}
    assert all(len(seats.lookup_by("by_person", person)) == 1 for person in people)
    assert len(seats.lookup_by("by_state", "free")) == 2
    print(f"reservations: 6 people have a seat each, {second.total()} second ones were refused")


class WorkError(Exception):
    """A job could not be done."""


@fyris.transactional
def claim(tx, jobs):
    """Takes the oldest ready job; returns its number and which attempt this is, or None."""
    within = tx.table(jobs)
    # The state is the first part of the key, so the ready jobs are a range. None, an atom, is above all numbers.
    for (_, number), attempts in within.range(start=("ready", 0), stop=("ready", None), limit=1):
        del within["ready", number]
        within["taken", number] = attempts + 1
        return number, attempts + 1
    return None


def settle(jobs, number, attempt, state):
    """Gives a taken job its next state. No function is needed between what is seen and what is written."""
    taken = ("taken", number)
    check = ("check", jobs, taken, (taken, attempt))
    fyris.write_batch([check, ("delete", jobs, taken), ("insert", jobs, ((state, number), attempt))])


def job_queue():
    """Workers take jobs until none is ready. Who fails gives the job back and goes on, so none is left behind."""
    jobs = fyris.Table("ordered_set")
    jobs.update((("ready", number), 0) for number in range(1, 101))

    def work(number, attempt):
        if number % 10 == 0 and attempt == 1:
            raise WorkError(number)

    def worker(_):
        while claimed := claim(jobs):
            try:
                work(*claimed)
            except WorkError:
                settle(jobs, *claimed, "ready")
            else:
                settle(jobs, *claimed, "done")
                yield claimed[0]

    assert sorted(together(lambda thread: list(worker(thread)))) == list(range(1, 101))  # each once
    assert {state for state, _ in jobs} == {"done"} and len(jobs) == 100
    again = list(jobs.values()).count(2)
    assert again == 10
    print(f"job queue: 100 jobs done once each, {again} of them at the second attempt")


def watch(changes, counts):
    """Adds up what a subscription tells. An event is counted as one: who reads the counts never sees half of it."""
    for event in changes:
        assert event.kind != "overflow", "the queue is too short for these writers"
        steps = [(new, 1) for new in event.objects]
        steps += [(change.old, -1) for change in event.changes if change.old]
        steps += [(change.new, 1) for change in event.changes if change.new]
        fyris.write_batch(
            ("update_counter", counts, category, step, (category, 0)) for (_, category), step in steps
        )


def counts():
    """Keeps how many items of each category there are in a table of its own, beside the writers of the items."""
    categories, counted = ["cheese", "fruit", "tea"], fyris.Table("ordered_set")
    # The items are dropped at the end: then the watcher's loop ends, once it has been told all that was before.
    with ThreadPoolExecutor(1) as pool, fyris.Table() as items:
        items.update((number, "tea") for number in range(50))
        # First what is there, then all that changes: nothing is missing, and nothing comes twice.
        watcher = pool.submit(watch, items.subscribe(from_snapshot=True), counted)

        def write(thread):
            for n in range(500):
                key = (thread * 31 + n * 17) % 100
                if n % 5 == 0:
                    items.pop(key, None)
                else:
                    items[key] = categories[n % 3]
            return []

        together(write)
        scanned = Counter(items.values())
    watcher.result()
    assert dict(counted) == scanned
    print(f"counts: {dict(counted)}, as in a scan")


if __name__ == "__main__":
    bank()
    reservations()
    job_queue()
    counts()
