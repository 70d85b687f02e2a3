"""What is easier said in Python about segments."""

import asyncio
import math

#: The shortest and the longest time between two looks for a commit, in seconds.
_SHORTEST, _LONGEST = 0.0005, 0.02
#: The time between two looks whether the segment has lost its name, in seconds.
_NAMED = 0.25


class Begun:
    """What `Segment.begin()` returns."""

    def __init__(self, segment, merge, validate, on_conflict):
        self._segment = segment
        self._options = {"merge": merge, "validate": validate, "on_conflict": on_conflict}

    def __enter__(self):
        self._segment._begin()
        return self._segment

    def __exit__(self, kind, error, traceback):
        committed = False
        try:
            if kind is None:
                self._segment.commit(**self._options)
                committed = True
        finally:
            if not committed:
                self._segment.discard()


class MapBegun:
    """What `VersionedMap.begin()` returns."""

    def __init__(self, map):
        self._map = map

    def __enter__(self):
        self._map.update()
        return self._map

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                self._map.commit()
        finally:
            if self._map.dirty:
                self._map.discard()


async def wait_async(watcher, timeout):
    """Looks again and again, the later the longer it has waited: a thread that sleeps would be one for each task."""
    loop = asyncio.get_running_loop()
    begun = named = loop.time()
    while True:
        now = loop.time()
        is_due = now - named >= _NAMED
        named = now if is_due else named
        # Who sleeps, however short, looks whether the name is gone.
        if watcher.wait(1e-5 if is_due else 0):
            return True
        left = math.inf if timeout is None else begun + timeout - now
        if left <= 0:
            return False
        await asyncio.sleep(min(left, max(_SHORTEST, min((now - begun) / 8, _LONGEST))))


def ndarray(segment, shape, dtype, offset):
    """An array over the working copy. NumPy is needed here only."""
    import numpy

    from ._errors import BadValue

    dtype = numpy.dtype(dtype)
    shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    if any(n < 0 for n in shape):
        raise BadValue(f"a shape of {shape} makes no sense")
    count = math.prod(shape)
    if offset + count * dtype.itemsize > segment.size:
        raise BadValue(
            f"{count} elements of {dtype.itemsize} bytes from offset {offset} on end outside of "
            f"the segment of {segment.size} bytes"
        )
    if count == 0:
        return numpy.empty(shape, dtype)
    # frombuffer keeps a memoryview as its base, which holds the working copy for as long as an array looks through it.
    return numpy.frombuffer(segment, dtype, count, offset).reshape(shape + dtype.shape)


def again(name, options, content=None):
    """A pickled segment, where it is unpickled. What was in it tells pickles apart, and does not count here."""
    from ._fyris import Segment

    return Segment(name, **options)


def map_again(name, options, content=None):
    """A pickled map, where it is unpickled."""
    from ._fyris import VersionedMap

    return VersionedMap(name, **options)
