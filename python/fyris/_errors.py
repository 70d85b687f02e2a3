"""What Fyris raises. Where Python has a class for it, the error is of that class too."""


class Error(Exception):
    """The base of all errors of Fyris (KeyError and OSError apart, which are Python's own)."""


class NoSuchTable(Error, LookupError):
    """There is no such table, or no longer."""


class NameTaken(Error, ValueError):
    """A table of this name exists."""


class BadValue(Error, ValueError):
    """A value makes no sense where it stands: an option, a position, text that is no term, NaN."""


class WrongType(Error, TypeError):
    """An object, a counter or a table is of another type than the operation needs."""


class LimitReached(Error, OverflowError):
    """Something grew beyond what Fyris can hold: a value, its depth, the number of tables or atoms."""


class Damaged(Error, ValueError):
    """A file is not what it should be; the text says where."""
