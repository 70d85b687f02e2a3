"""What is easier said in Python about mappings: their views, equality and union."""

from collections.abc import ItemsView, KeysView, Mapping, ValuesView
from types import MappingProxyType

from ._errors import BadValue, WrongType


class _View:
    __slots__ = ()

    @property
    def mapping(self):
        """The mapping, read-only."""
        return MappingProxyType(self._mapping)


class Keys(_View, KeysView):
    """The keys of a mapping, as of now and later, in its order; a set."""

    __slots__ = ()

    def __reversed__(self):
        return reversed(self._mapping)


class Values(_View, ValuesView):
    """The values of a mapping, as of now and later, in the order of its keys."""

    __slots__ = ()

    def __iter__(self):
        return self._mapping._walk(False, False)

    def __reversed__(self):
        return self._mapping._walk(False, True)

    def __contains__(self, value):
        return any(one is value or one == value for one in self)


class Items(_View, ItemsView):
    """Pairs of key and value of a mapping, as of now and later, in its order; a set."""

    __slots__ = ()

    def __iter__(self):
        return self._mapping._walk(True, False)

    def __reversed__(self):
        return self._mapping._walk(True, True)

    def __contains__(self, item):
        return isinstance(item, tuple) and len(item) == 2 and super().__contains__(item)


def equal(mapping, other):
    """Whether a mapping has the same items, by the keys of the other: one that cannot be in it is not."""
    if not isinstance(other, Mapping):
        return NotImplemented
    try:
        return len(mapping) == len(other) and all(mapping.get(key, _NOTHING) == value for key, value in other.items())
    except (BadValue, WrongType):
        # Objects that have no place in a dictionary: their table is equal to itself only.
        return NotImplemented


def union(first, second):
    """The dict of the items of two mappings, where both have a key that of the second. By their items: what is deleted
    between a key and its value would be missed."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return NotImplemented
    return dict(first.items()) | dict(second.items())


_NOTHING = object()
