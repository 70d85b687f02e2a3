"""Tables made of the files that Erlang systems leave behind."""

import warnings
from typing import NamedTuple

from . import _fyris


class Imported(NamedTuple):
    """What import_from() has made: `what` the file or directory was, in words; the `tables`, a dict by name; of each
    table the `columns`, a tuple of the names of the elements of its objects, empty where the files have none; how many
    things were `wrong`, and `messages` that tell the first hundred of them, with the file and mostly the byte."""

    what: str
    tables: dict
    columns: dict
    wrong: int
    messages: tuple


def import_from(path):
    """Makes tables of a dets file, of a log of disk_log, or of a directory, backup or text dump of Mnesia.

    A dets file is one table, named like the file without its ending; a log is an ordered_set of (1, term), (2, term)
    and so on; of Mnesia there are the tables that have objects on the node, as they are after its start, with their
    keys in the second element. Nobody finds the tables by name: each goes away with its last reference. The files are
    only read, and should have no writer. It needs no Erlang, and memory for the tables and for an object at a time.

    What is damaged in the files is left out, and so is what the repair of a dets file that was not closed would not
    keep: the result says what, and a UserWarning that something is. Raises OSError, and Damaged for what is none of
    these files; then there is no table. What save() and ets:tab2file write is read by Table.load().
    """
    what, made, wrong, messages = _fyris.import_from(path)
    if wrong:
        warnings.warn(f"{what}, {wrong} messages, the first: {messages[0]}", stacklevel=2)
    tables = {table.name: table for table, _ in made}
    columns = {table.name: tuple(names) for table, names in made}
    return Imported(what, tables, columns, wrong, tuple(messages))
