"""A dict of text keys stored in a table and read from it, beside pickle.dumps and pickle.loads of the same.

    python3 bench/examples/pickled.py

For each number of keys and kind of values the medians of interleaved runs, in microseconds, and what Fyris takes of
pickle's time. The aim is 1.5 at most.
"""

import pickle
import statistics
import time

import fyris

KINDS = {"int": lambda n: n, "float": lambda n: n / 7, "str": lambda n: f"value {n}"}


def timed(step, times):
    begin = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - begin) / times * 1e6


def main():
    table = fyris.Table()
    print(f"{'keys':>5} {'values':>6} {'store':>9} {'dumps':>9} {'ratio':>6} {'read':>9} {'loads':>9} {'ratio':>6}")
    for keys in (5, 30, 1000):
        for kind, value in KINDS.items():
            stored = {f"key {n}": value(n) for n in range(keys)}
            pickled = pickle.dumps(stored)

            def store(table=table, stored=stored):
                table[1] = stored

            steps = {
                "store": store,
                "dumps": lambda: pickle.dumps(stored),
                "read": lambda: table[1],
                "loads": lambda: pickle.loads(pickled),
            }
            table[1] = stored
            assert table[1] == stored
            runs = {name: [] for name in steps}
            for _ in range(41):
                for name, step in steps.items():
                    runs[name].append(timed(step, max(1, 4000 // keys)))
            stores, dumps, reads, loads = (statistics.median(runs[name]) for name in steps)
            print(f"{keys:5} {kind:>6} {stores:9.2f} {dumps:9.2f} {stores / dumps:6.2f}", end=" ")
            print(f"{reads:9.2f} {loads:9.2f} {reads / loads:6.2f}")


if __name__ == "__main__":
    main()
