"""What loads the extension, in a process of its own."""

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
assert loader in [in_thread(use) for _ in range(20)]
use()
assert len(table) == 100
print("good")
"""


def said_by(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_any_thread_may_import():
    assert said_by(LATE) == "good\n"
