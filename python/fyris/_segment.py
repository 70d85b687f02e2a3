"""What is easier said in Python about segments."""

import math


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
    return numpy.frombuffer(segment, dtype, count, offset).reshape(shape)


def again(name, options):
    """A pickled segment, where it is unpickled."""
    from ._fyris import Segment

    return Segment(name, **options)


def map_again(name, options):
    """A pickled map, where it is unpickled."""
    from ._fyris import VersionedMap

    return VersionedMap(name, **options)
