"""Tables as columns, which polars, pandas, pyarrow and duckdb ask for by __arrow_c_stream__."""

import ctypes
import gc
import threading

import pytest

import fyris


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow")


def table(items, kind="ordered_set", **options):
    made = fyris.Table(kind, **options)
    made.update(items)
    return made


def refused(table, error):
    """What the call itself says: no consumer has anything by then."""
    with pytest.raises(error) as caught:
        table.__arrow_c_stream__()
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int64", [-(1 << 63), 0, (1 << 63) - 1]),
        ("double", [-0.5, 1.0, 1e300]),
        ("bool", [True, False, True]),
        ("large_string", ["", "Faluån", "\0"]),
        ("large_binary", [b"", b"\xff", b"x" * 1000]),
        ("null", []),
    ],
)
def test_columns_have_the_values_and_their_type(pa, kind, values):
    values = [None, *values, None]
    read = pa.table(table(dict(enumerate(values))))
    read.validate(full=True)
    assert read.schema == pa.schema([("key", pa.int64()), ("value", kind if kind != "bool" else pa.bool_())])
    assert read.to_pydict() == {"key": list(range(len(values))), "value": values}


def test_atoms_are_text(pa):
    atoms = table({1: fyris.Atom("paid"), 2: None})
    assert pa.table(atoms).to_pydict()["value"] == ["paid", None]
    assert "str in a column of Atom" in refused(table({1: fyris.Atom("paid"), 2: "paid"}), fyris.WrongType)


def test_equal_dicts_are_columns(pa):
    people = table({"ada": {"born": 1815, "city": "london"}, "bo": {"born": None, "city": "paris"}})
    assert pa.table(people).to_pydict() == {"key": ["ada", "bo"], "born": [1815, None], "city": ["london", "paris"]}
    assert pa.table(table({1: {fyris.Atom("a"): 1}})).column_names == ["key", "a"]
    assert pa.table(table({1: {}, 2: {}})).to_pydict() == {"key": [1, 2]}


def test_other_objects_are_columns_by_position(pa):
    orders = fyris.Table("ordered_set", keypos=2)
    orders.insert_many([(fyris.Atom("order"), n, n / 2) for n in range(3)])
    read = pa.table(orders)
    assert read.column_names == ["element_1", "key", "element_3"]
    assert read.to_pylist()[2] == {"element_1": "order", "key": 2, "element_3": 1.0}
    keys = fyris.Table()
    keys.insert((1,))
    assert pa.table(keys).to_pydict() == {"key": [1]}


def test_pairs_of_any_table(pa):
    backwards = fyris.Table("ordered_set", keypos=2)
    backwards[1] = "one"
    assert pa.table(backwards).to_pydict() == {"key": [1], "value": ["one"]}
    for kind in ("bag", "duplicate_bag"):
        edges = fyris.Table(kind)
        edges.insert_many([(1, 2), (1, 3)])
        assert pa.table(edges).to_pydict() == {"key": [1, 1], "value": [2, 3]}


def test_an_empty_table_has_columns_of_no_type(pa):
    read = pa.table(fyris.Table())
    assert read.schema == pa.schema([("key", pa.null()), ("value", pa.null())]) and read.num_rows == 0


@pytest.mark.parametrize(
    ("items", "error", "said"),
    [
        ({1: 1, 2: "x"}, fyris.WrongType, "key 2, column \"value\": str in a column of int"),
        ({1: 1, 2: 2.0}, fyris.WrongType, "key 2, column \"value\": float in a column of int"),
        ({1: 1, 2: True}, fyris.WrongType, "key 2, column \"value\": bool in a column of int"),
        ({1: "x", 2: b"x"}, fyris.WrongType, "key 2, column \"value\": bytes in a column of str"),
        ({1: None, "x": None}, fyris.WrongType, "key 'x', column \"key\": str in a column of int"),
        ({1: 1 << 63}, fyris.BadValue, "key 1, column \"value\": an int that 64 bits do not hold"),
        ({1: 0, 2: -(1 << 70)}, fyris.BadValue, "key 2, column \"value\": an int"),
        ({1: [1]}, fyris.WrongType, "key 1, column \"value\": no column holds a value of list"),
        ({1: (1, 2)}, fyris.WrongType, "no column holds a value of tuple"),
        ({(1, 2): 1}, fyris.WrongType, "key (1, 2), column \"key\": no column holds a value of tuple"),
        ({1: 1, 2: {"a": 1}}, fyris.WrongType, "key 2, column \"value\": no column holds a dict, unless all"),
        ({1: {"a": 1}, 2: 1}, fyris.WrongType, "key 2, column \"value\": int in a column of dict"),
        ({1: {"a": 1}, 2: None}, fyris.WrongType, "key 2, column \"value\": NoneType in a column of dict"),
        ({1: {"a": 1}, 2: {"a": "x"}}, fyris.WrongType, "key 2, column \"a\": str in a column of int"),
        ({1: {"a": 1}, 2: {"b": 1}}, fyris.WrongType, "key 2, column \"a\": a dict without this key"),
        ({1: {"a": 1}, 2: {"a": 1, "b": 1}}, fyris.WrongType, "key 2, column \"b\": a dict with a key that others"),
        ({1: {"a": {"b": 1}}}, fyris.WrongType, "key 1, column \"a\": no column holds a dict"),
        ({1: {"key": 1}}, fyris.BadValue, "key 1, column \"key\": two columns have this name"),
        ({1: {"a": 1, fyris.Atom("a"): 1}}, fyris.BadValue, "key 1, column \"a\": two columns have this name"),
        ({1: {"a\0b": 1}}, fyris.BadValue, 'column "a\\0b": a name with a zero byte'),
        ({1: {2: 1}}, fyris.WrongType, "key 1, column \"value\": a dict with a key that is no str and no Atom"),
        ({1: {True: 1}}, fyris.WrongType, "a dict with a key that is no str and no Atom"),
        ({"x" * 1000: []}, fyris.WrongType, "key 'xxx"),
    ],
)
def test_what_no_column_holds_is_refused_by_key_and_column(items, error, said):
    text = refused(table(items), error)
    assert text.startswith("key ") and said in text and len(text) < 250


def test_objects_of_two_lengths_are_refused():
    mixed = fyris.Table("ordered_set")
    mixed.insert_many([(1, 2), (2, 3, 4)])
    assert refused(mixed, fyris.WrongType) == "key 2: an object of 3 elements beside one of 2"


def test_dates_are_refused_by_class():
    import datetime

    said = refused(table({1: datetime.date(2024, 2, 29)}), fyris.WrongType)
    assert said == 'key 1, column "value": no column holds a value of date'


def test_batches(pa):
    # The type of the values shows in the second batch only; the text of each starts at its own place.
    rows = 150_000
    read = pa.table(table({n: None if n < 100_000 else f"text {n}" for n in range(rows)}))
    read.validate(full=True)
    values = read.column("value")
    assert values.num_chunks == 3 and values.null_count == 100_000
    assert read.column("key").to_pylist() == list(range(rows))
    assert values.to_pylist()[100_000:] == [f"text {n}" for n in range(100_000, rows)]


@pytest.mark.parametrize("consistent", [None, False])
def test_columns_are_of_one_moment(pa, consistent):
    pairs = table({n: 0 for n in range(2000)}, consistent=consistent)
    over = threading.Event()

    def write():
        turn = 0
        while not over.is_set():
            turn += 1
            pairs.update({0: turn, 1999: turn})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            values = pa.table(pairs).column("value").to_pylist()
            assert values[0] == values[1999]
    finally:
        over.set()
        writer.join()


def test_snapshots_and_tables_of_transactions(pa):
    live = table({1: 1})
    before = live.snapshot()
    with fyris.transaction() as tx:
        within = tx.table(live)
        within[2] = 2
        assert pa.table(within).to_pydict()["value"] == [1, 2]
        assert pa.table(live).to_pydict()["value"] == [1]
    live[1] = 10
    assert pa.table(before).to_pydict()["value"] == [1]
    before.release()
    refused(before, fyris.Closed)


def test_a_stream_needs_no_table(pa):
    gone = table({1: "x"})
    reader = pa.RecordBatchReader.from_stream(gone)
    gone.drop()
    read = reader.read_all()
    del reader
    gc.collect()
    assert read.to_pydict() == {"key": [1], "value": ["x"]}
    refused(gone, fyris.NoSuchTable)


def test_a_schema_that_is_asked_for_is_for_the_consumer_to_cast(pa):
    asked = pa.schema([("key", pa.int32()), ("value", pa.string())])
    reader = pa.RecordBatchReader.from_stream(table({1: "x"}))
    assert reader.read_all().cast(asked).schema == asked
    assert repr(table({1: 1}).__arrow_c_stream__(asked.__arrow_c_schema__())).startswith("<capsule")


class Stream(ctypes.Structure):
    """struct ArrowArrayStream."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "data")]


def stream_of(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Stream.from_address(pointer(capsule, b"arrow_array_stream"))


def test_a_stream_may_be_released_twice_moved_and_never_read():
    rows = table({n: "x" for n in range(10)})
    capsule = rows.__arrow_c_stream__()
    stream = stream_of(capsule)
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(stream.release)
    release(ctypes.addressof(stream))
    assert stream.release is None
    release(ctypes.addressof(stream))
    del stream, capsule
    # As consumers move one.
    capsule = rows.__arrow_c_stream__()
    stream = stream_of(capsule)
    moved = Stream.from_buffer_copy(stream)
    stream.release = None
    del stream, capsule
    last_error = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(moved.get_last_error)
    assert last_error(ctypes.addressof(moved)) is None
    release(ctypes.addressof(moved))
    assert moved.release is None
    # Nobody reads it.
    rows.__arrow_c_stream__()
