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
    """Something grew beyond what Fyris can hold: a value, the number of tables or atoms."""


class Damaged(Error, ValueError):
    """A file is not what it should be; the text says where."""


class Conflict(Error):
    """Others were faster, and nothing has happened. Of a transaction, compute() or update_in(): they have changed in
    `table` what it has read, under `key`; None where that is not known. Of a segment it is a SegmentConflict."""

    def __init__(self, *args):
        super().__init__(*args)
        #: The Table that was given to the transaction, or was asked to compute.
        self.table = None
        self.key = None

    def __reduce__(self):
        # Tables do not leave their process.
        return type(self), self.args, {**vars(self), "table": None}


class HoldExpired(Error):
    """A transaction that went first was not done in the time for which others wait for it, and nothing has happened."""


class NotUnique(Error, ValueError):
    """Another object has the value that a write was going to bring, by a unique index, and nothing has happened."""

    def __init__(self, text="", index=None, value=None):
        super().__init__(text)
        #: The name of the index.
        self.index = index
        self.value = value


class TransactionEnded(Error):
    """The transaction was committed or aborted."""


class InTransaction(Error):
    """A transaction reads and writes objects; this works on the table itself, or it is a transactional function that
    another one calls. Of a segment or map: a function that transaction(), write() or on_conflict runs cannot do this
    with the same one."""


class CheckFailed(Error):
    """A check of write_batch() does not hold, and nothing has happened."""

    def __init__(self, *args):
        super().__init__(*args)
        #: The number of the check in the list, from 0.
        self.at = None


class SegmentError(Error):
    """Something about a segment. Whatever it is, the working copy and the trunk are as they were before the call."""


class NoSuchSegment(SegmentError, LookupError):
    """There is no segment of this name."""


class SegmentExists(SegmentError):
    """There is a segment of this name already, and a new one was asked for."""


class Behind(SegmentError):
    """The trunk has changes that the working copy has not: update first, or commit(merge=True). Of a map: discard(),
    update() and make the changes again, or use write()."""


class _WithRanges(SegmentError):
    def __init__(self, text, ranges):
        super().__init__(text, ranges)
        #: Pairs of start and stop, in bytes from the begin of the segment.
        self.ranges = ranges

    def __str__(self):
        return self.args[0]


class SegmentConflict(_WithRanges, Conflict):
    """Units were changed on both sides; `ranges` says which."""


class BaseLost(_WithRanges):
    """The working copy fell so far behind that what it started from is gone, and pages were changed on both sides; `ranges` are the units
    of these pages in which the two sides differ (whole pages, of `diff()`). `update(on_conflict=...)` decides for each unit, `discard()`
    takes the trunk's."""


class Busy(SegmentError):
    """Another thread has been inside a call with this segment for ten seconds, or a process that opens it has kept it
    locked as long."""


class Forked(SegmentError):
    """This process was forked. After the checkout of a segment: the working copy stayed with the parent: `reattach()`. After the first
    table was made: a child has no tables; `multiprocessing` by spawn or forkserver starts processes that may make their own."""


class ReadOnly(SegmentError):
    """The checkout is read-only."""


class Closed(SegmentError, ValueError):
    """The segment was closed."""


class NoSpace(SegmentError):
    """No memory or disk for what was asked."""


class LockTimeout(SegmentError):
    """A process that lives, but does not move, holds the lock for commits."""


class Uncommitted(SegmentError):
    """The map has changes that are neither committed nor discarded; maps are not merged."""


class Unlinked(SegmentError):
    """The segment's name was removed, or leads to another segment by now: who checks it out shares nothing with this one."""
