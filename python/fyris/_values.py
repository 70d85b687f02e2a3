"""Values of other classes, as values that have terms of their own; and the dates and decimals that maps stand for.

A date, a time and a Decimal are the maps of Elixir's structs. What would come out different is refused.
"""

import builtins
import datetime as dt
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from numbers import Rational, Real
from types import MappingProxyType
from uuid import UUID
from zoneinfo import ZoneInfo

from ._errors import BadValue
from ._fyris import Atom, encode

_STRUCT = Atom("__struct__")
_ISO = {Atom("calendar"): Atom("Elixir.Calendar.ISO")}
_DATE, _TIME = ("year", "month", "day"), ("hour", "minute", "second")
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
#: frozendict is there from Python 3.15 on.
_MAPPINGS = (MappingProxyType, getattr(builtins, "frozendict", MappingProxyType))


def plain(value):
    """The value of a class that tables have which is kept instead of one of another class; NotImplemented if there is
    none."""
    if isinstance(value, _MAPPINGS):
        return dict(value)
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, (dt.date, dt.time, Decimal)):
        return _map(value)
    if isinstance(value, Real) and not isinstance(value, Rational):
        number = float(value)
        return number if number == value or value != value else _refuse(value)
    # NumPy's own, which has no number.
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    return NotImplemented


def made(map):
    """The date, time or Decimal of a map, or the map itself if it stands for none exactly."""
    try:
        value = _MAKERS[map[_STRUCT]](map)
        if encode(_fields(value)) == encode(map):
            return value
    except Exception:  # noqa: BLE001: whatever it is, the map may come from anybody
        pass
    return map


def _refuse(value):
    raise BadValue(f"{value!r} would not come out as it went in")


def _map(value):
    map = _fields(value)
    back = made(map)
    return map if repr(back) == repr(value) or back == value else _refuse(value)


def _fields(value):
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            return _struct("NaiveDateTime", _ISO, _named(value, _DATE), _clock(value))
        return _struct("DateTime", _ISO, _named(value, _DATE), _clock(value), _zone(value))
    if isinstance(value, dt.date):
        return _struct("Date", _ISO, _named(value, _DATE))
    if value.tzinfo is not None:
        raise BadValue(f"{value!r}: a time of day of a zone is none of Elixir's")
    return _struct("Time", _ISO, _clock(value))


def _struct(name, *parts):
    map = {_STRUCT: Atom("Elixir." + name)}
    for part in parts:
        map |= part
    return map


def _named(value, names):
    return {Atom(name): getattr(value, name) for name in names}


def _clock(value):
    return {**_named(value, _TIME), Atom("microsecond"): (value.microsecond, 6)}


def _zone(value):
    zone, saved = value.tzinfo, value.dst() or dt.timedelta()
    name = "Etc/UTC" if zone is dt.timezone.utc else getattr(zone, "key", None)
    if name is None:
        raise BadValue(f"{value!r}: a zone without a name; timezone.utc and ZoneInfo have one")
    return {
        Atom("time_zone"): name.encode(),
        Atom("zone_abbr"): value.tzname().encode(),
        Atom("utc_offset"): (value.utcoffset() - saved) // dt.timedelta(seconds=1),
        Atom("std_offset"): saved // dt.timedelta(seconds=1),
    }


def _of_decimal(value):
    sign, digits, exponent = value.as_tuple()
    if exponent == "F":
        coef, exponent = Atom("inf"), 0
    elif exponent == "n" and not digits:
        coef, exponent = Atom("NaN"), 0
    elif exponent in ("n", "N"):
        _refuse(value)
    else:
        coef = int(value.copy_abs().scaleb(-exponent, _EXACT))
    return _struct("Decimal", {Atom("sign"): -1 if sign else 1, Atom("coef"): coef, Atom("exp"): exponent})


def _parts(map, names):
    return [map[Atom(name)] for name in names]


def _date(map):
    return dt.date(*_parts(map, _DATE))


def _time(map):
    return dt.time(*_parts(map, _TIME), map[Atom("microsecond")][0])


def _naive(map):
    return dt.datetime.combine(_date(map), _time(map))


def _aware(map):
    name, standard, saved = _parts(map, ("time_zone", "utc_offset", "std_offset"))
    zone = dt.timezone.utc if name == b"Etc/UTC" else ZoneInfo(name.decode())
    value = _naive(map).replace(tzinfo=zone)
    # One of the two moments that a clock shows twice.
    is_first = value.utcoffset() == dt.timedelta(seconds=standard + saved)
    return value if is_first else value.replace(fold=1)


def _decimal(map):
    sign, coef, exponent = _parts(map, ("sign", "coef", "exp"))
    if coef in (Atom("inf"), Atom("NaN")):
        value = Decimal(coef.name)
    else:
        value = Decimal(coef).scaleb(exponent, _EXACT)
    return value.copy_negate() if sign == -1 else value


_MAKERS = {
    Atom("Elixir.Date"): _date,
    Atom("Elixir.Time"): _time,
    Atom("Elixir.NaiveDateTime"): _naive,
    Atom("Elixir.DateTime"): _aware,
    Atom("Elixir.Decimal"): _decimal,
}
