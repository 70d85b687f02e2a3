"""What loads the extension, and what a fork leaves of it: each in a process of its own."""

import subprocess
import sys

# Later threads get the id of the one that has imported the extension and ended.
LATE = """
import threading

def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return thread.ident

def load():
    global fyris, table
    import fyris
    table = fyris.Table()

def use():
    for i in range(2000):
        table[i % 100] = "x" * (i % 300)

loader = in_thread(load)
later = [in_thread(use) for _ in range(20)]
use()
assert len(table) == 100
print("met" if loader in later else "not met")
"""


def said_by(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_any_thread_may_import():
    # The system may give the id to another thread first, most often not.
    assert "met\n" in (said_by(LATE) for _ in range(10))


# Children of a process whose threads write: they are told, whatever the threads had locked.
FORKS = """
import multiprocessing, os, signal, threading
import fyris

def child(table):
    signal.alarm(20)
    for call in (
        lambda: table.get(1), lambda: len(table), lambda: table.insert((1, 2)), lambda: list(table.items()),
        table.first, table.clear, table.info, table.drop, fyris.Table, lambda: fyris.Table.named("x"),
    ):
        try:
            call()
        except fyris.Forked as error:
            assert "spawn" in str(error)
        else:
            raise AssertionError(call)
    assert "parent" in repr(table)
    del table

def early():
    fyris.Table()[1] = 2

fork = multiprocessing.get_context("fork")
process = fork.Process(target=early)
process.start()
process.join()
assert process.exitcode == 0

table = fyris.Table()
over = False

def write():
    while not over:
        table.insert_many([(i, i) for i in range(1000)])

threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(15):
    process = fork.Process(target=child, args=(table,))
    process.start()
    process.join()
    assert process.exitcode == 0, process.exitcode
over = True
for thread in threads:
    thread.join()
assert len(table) == 1000
print("good")
"""


def test_forked_children_have_no_tables():
    assert said_by(FORKS) == "good\n"
