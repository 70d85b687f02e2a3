"""A simulation by several processes over one NumPy array.

    python examples/random_walks.py [PROCESSES]

Each process computes rows of its own, at the speed of private memory, and commits them when they are done; the reader
takes the committed rows in and never sees half of a commit. No lock is held while anyone computes, and a process that
dies leaves no trace.
"""

import multiprocessing
import os
import sys

import numpy as np

import fyris

WALKS, STEPS = 400, 365


def simulate(name: str, part: int, parts: int) -> None:
    """Fills one part of the rows."""
    rows = slice(part * WALKS // parts, (part + 1) * WALKS // parts)
    random = np.random.default_rng(part)
    with fyris.Segment(name) as segment:
        heights = segment.ndarray((WALKS, STEPS))
        for row in range(rows.start, rows.stop):
            heights[row] = random.normal(size=STEPS).cumsum()
        segment.commit(merge=True)  # what others have committed meanwhile stays


def main(parts: int) -> None:
    """Starts the processes and watches their commits."""
    name = f"walks-{os.getpid()}"
    with fyris.Segment(name, WALKS * STEPS * 8) as segment:
        heights = segment.ndarray((WALKS, STEPS))
        context = multiprocessing.get_context("spawn")
        tasks = [context.Process(target=simulate, args=(name, part, parts)) for part in range(parts)]
        for task in tasks:
            task.start()
        done = 0
        while done < WALKS and any(task.is_alive() for task in tasks):
            segment.wait(timeout=0.2)
            segment.update()
            if np.count_nonzero(heights[:, -1]) > done:
                done = np.count_nonzero(heights[:, -1])
                print(f"version {segment.version}: {done} walks")
        for task in tasks:
            task.join()
        segment.update()
        assert np.count_nonzero(heights[:, -1]) == WALKS
        spread = heights[:, -1].std()
        print(f"{WALKS} walks of {STEPS} steps: spread {spread:.1f}, expected about {STEPS**0.5:.1f}")
    fyris.unlink(name)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
