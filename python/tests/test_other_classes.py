"""Values of classes that are no dict's, list's or number's of Python: what they are in a table, and come out as."""

import array
import datetime as dt
import mmap
import types
import uuid
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import fyris


def through(value):
    """As it comes out of a table and of the external format."""
    with fyris.Table() as table:
        table["key"] = value
        kept = table["key"]
    decoded = fyris.decode(fyris.encode(value))
    assert type(decoded) is type(kept) and repr(decoded) == repr(kept)
    return kept


class Index:
    def __index__(self):
        return 7


class Broken:
    def __index__(self):
        raise OSError("broken")


def test_numbers_of_other_classes():
    for kind in (numpy.int8, numpy.uint8, numpy.int64, numpy.uint64, numpy.intp):
        kept = through(kind(7))
        assert kept == 7 and type(kept) is int
    for kind in (numpy.float16, numpy.float32, numpy.float64, numpy.longdouble):
        kept = through(kind(0.5))
        assert kept == 0.5 and type(kept) is float
    assert through(numpy.uint64(2**64 - 1)) == 2**64 - 1 and through(Index()) == 7
    assert through(numpy.True_) is True and through(numpy.False_) is False
    assert through(numpy.str_("a")) == "a" and through(numpy.bytes_(b"a")) == b"a"
    table = fyris.Table()
    table[numpy.int64(1)] = numpy.float32(1)
    assert table[1] == 1.0 and numpy.int32(1) in table and list(table.keys()) == [1]
    for value in (numpy.longdouble(1) / 3, numpy.float32("nan"), numpy.float32("inf")):
        with pytest.raises(fyris.BadValue):
            fyris.encode(value)
    arrays = numpy.array([1, 2]), numpy.ones((2, 2), "u1")
    for value in (numpy.complex64(1), numpy.datetime64("2024-01-01"), Fraction(1, 2), *arrays):
        with pytest.raises(TypeError, match="no Erlang term stands for"):
            fyris.encode(value)
    with pytest.raises(OSError, match="broken"):
        Broken() in table


def test_bytes_of_other_classes():
    with mmap.mmap(-1, 3) as mapped:
        mapped[:] = b"abc"
        rows = array.array("B", b"abc"), numpy.frombuffer(b"abc", "u1"), mapped
        for value in (bytearray(b"abc"), memoryview(b"abc"), *rows):
            assert through(value) == b"abc"
            with fyris.Table() as table:
                table[value] = 1
                assert table == {b"abc": 1}
    for value in (array.array("d", [1]), memoryview(b"abcd")[::2], memoryview(bytes(4)).cast("B", (2, 2))):
        with pytest.raises(TypeError, match="no Erlang term stands for"):
            fyris.encode(value)
    encoded = fyris.encode([1, "a"])
    for data in (bytearray(encoded), memoryview(encoded), numpy.frombuffer(encoded, "u1")):
        assert fyris.decode(data) == [1, "a"]
    with pytest.raises(TypeError):
        fyris.decode("text")


def test_mappings_and_uuids():
    proxy = types.MappingProxyType({"a": [types.MappingProxyType({})]})
    assert through(proxy) == {"a": [{}]} and type(through(proxy)) is dict
    with fyris.Table() as table:
        table[proxy] = 1
        assert table[{"a": [{}]}] == 1
        # A map as a key of a map has no hash.
        table[1] = {2: 3}
        assert isinstance(fyris.decode(fyris.encode(types.MappingProxyType({(): 1}))), dict)
    one = uuid.uuid4()
    assert through(one) == one.bytes
    with fyris.Table() as table:
        table[one] = 1
        assert one in table and list(table) == [one.bytes]


ZONES = [None, dt.timezone.utc, ZoneInfo("Europe/Stockholm"), ZoneInfo("Africa/Monrovia"), ZoneInfo("UTC")]


@settings(deadline=None)
@given(
    st.one_of(
        st.dates(),
        st.times(),
        st.datetimes(timezones=st.sampled_from(ZONES), allow_imaginary=False),
        st.decimals(allow_nan=False),
        st.sampled_from(["-0", "1E+400", "NaN", "-Infinity", "1.50", "7" * 9999]).map(Decimal),
    )
)
def test_dates_and_decimals_come_out_as_they_went_in(value):
    def same(a, b):
        # Which of two moments a clock means counts where there are two.
        return type(a) is type(b) and (repr(a) == repr(b) or isinstance(a, (dt.time, dt.datetime)) and a == b)

    assert same(through([value])[0], value)
    table = fyris.Table()
    table[value] = {value: 1}
    assert value in table and same(list(table)[0], value) and same(list(table[value])[0], value)


def test_dates_are_those_of_elixir():
    zone = ZoneInfo("Europe/Stockholm")
    moment = dt.datetime(2024, 7, 31, 12, 30, 1, 5, zone)
    assert fyris.format(dt.date(2024, 7, 31)) == (
        "#{'__struct__' => 'Elixir.Date',calendar => 'Elixir.Calendar.ISO',day => 31,month => 7,year => 2024}"
    )
    assert fyris.parse(
        """#{calendar => 'Elixir.Calendar.ISO', day => 31, month => 7, year => 2024, '__struct__' => 'Elixir.DateTime',
             hour => 12, minute => 30, second => 1, microsecond => {5, 6}, utc_offset => 3600, std_offset => 3600,
             time_zone => <<"Europe/Stockholm">>, zone_abbr => <<"CEST">>}"""
    ) == moment
    assert fyris.parse("#{'__struct__' => 'Elixir.Decimal', sign => -1, coef => 150, exp => -2}") == Decimal("-1.50")
    # The second of two equal clocks.
    later = dt.datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=1)
    assert through(later).utcoffset() == later.utcoffset() == dt.timedelta(hours=1)


def test_maps_that_stand_for_no_date_stay_maps():
    for text in (
        # Of another precision, calendar or type, with another field, without one, and no date at all.
        "#{calendar => 'Elixir.Calendar.ISO', hour => 1, minute => 2, second => 3, microsecond => {0, 0},"
        " '__struct__' => 'Elixir.Time'}",
        "#{calendar => other, day => 31, month => 7, year => 2024, '__struct__' => 'Elixir.Date'}",
        "#{calendar => 'Elixir.Calendar.ISO', day => true, month => 7, year => 2024, '__struct__' => 'Elixir.Date'}",
        "#{calendar => 'Elixir.Calendar.ISO', day => 1, month => 7, year => 2024, x => 1, '__struct__' => 'Elixir.Date'}",
        "#{calendar => 'Elixir.Calendar.ISO', month => 7, year => 2024, '__struct__' => 'Elixir.Date'}",
        "#{calendar => 'Elixir.Calendar.ISO', day => 31, month => 2, year => 2024, '__struct__' => 'Elixir.Date'}",
        "#{'__struct__' => 'Elixir.Decimal', sign => 1, coef => 1, exp => 1000000000000000000000}",
        "#{'__struct__' => 'Elixir.Decimal', sign => 2, coef => 1, exp => 1}",
        "#{'__struct__' => 'Elixir.Decimal', sign => 1, coef => -1, exp => 1}",
        "#{'__struct__' => 'Elixir.User', name => <<1>>}",
        "#{'__struct__' => [1]}",
    ):
        map = fyris.parse(text)
        assert type(map) is dict, text
        assert fyris.parse(fyris.format(map)) == map and through(map) == map


def test_dates_that_elixir_does_not_have():
    for value in (
        dt.time(1, 2, tzinfo=dt.timezone.utc),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        Decimal("sNaN"),
        Decimal("NaN123"),
    ):
        with pytest.raises(fyris.BadValue):
            fyris.encode(value)
    with pytest.raises(TypeError):
        fyris.encode(dt.timedelta(1))
