"""Fyris: concurrent in-memory term tables, and version-controlled memory shared by processes.

    import fyris

    towns = fyris.Table("ordered_set")
    towns["uppsala"] = {"river": "Fyris", "bridges": 14}
    towns.update({"visby": {}, "falun": {"river": "Faluån"}})
    [key for key in towns]          # ['falun', 'uppsala', 'visby']

Table is a dictionary that threads share, and a table of Erlang's ets at the same time. What Python values are in Erlang is
written at the top of README.md; nothing is lost on the way in and out.
"""

from collections.abc import MutableMapping

from ._errors import (
    BadValue,
    BaseLost,
    Behind,
    Busy,
    CheckFailed,
    Closed,
    Conflict,
    Damaged,
    Error,
    Forked,
    HoldExpired,
    InTransaction,
    LimitReached,
    LockTimeout,
    NameTaken,
    NoSpace,
    NoSuchSegment,
    NoSuchTable,
    NotUnique,
    ReadOnly,
    SegmentConflict,
    SegmentError,
    SegmentExists,
    TransactionEnded,
    Uncommitted,
    Unlinked,
    WrongType,
)
from ._fyris import (
    Atom,
    Segment,
    Subscription,
    Table,
    Term,
    Transaction,
    Updated,
    VersionedMap,
    __version__,
    decode,
    doctor,
    encode,
    format,
    parse,
    segments,
    subscribe,
    transaction,
    unlink,
    write_batch,
)
from ._import import Imported, import_from
from ._transaction import transactional
from ._watch import ObjectChange, WatchEvent

MutableMapping.register(Table)
MutableMapping.register(VersionedMap)

__all__ = [
    "Atom",
    "BadValue",
    "BaseLost",
    "Behind",
    "Busy",
    "CheckFailed",
    "Closed",
    "Conflict",
    "Damaged",
    "Error",
    "Forked",
    "HoldExpired",
    "Imported",
    "InTransaction",
    "LimitReached",
    "LockTimeout",
    "NameTaken",
    "NoSpace",
    "NoSuchSegment",
    "NoSuchTable",
    "NotUnique",
    "ObjectChange",
    "ReadOnly",
    "Segment",
    "SegmentConflict",
    "SegmentError",
    "SegmentExists",
    "Subscription",
    "Table",
    "Term",
    "Transaction",
    "TransactionEnded",
    "Uncommitted",
    "Unlinked",
    "Updated",
    "VersionedMap",
    "WatchEvent",
    "WrongType",
    "__version__",
    "decode",
    "doctor",
    "encode",
    "format",
    "import_from",
    "parse",
    "segments",
    "subscribe",
    "transaction",
    "transactional",
    "unlink",
    "write_batch",
]

del MutableMapping
