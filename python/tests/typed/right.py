"""A program in which type checkers find nothing wrong (python/types.sh); it runs too."""

import asyncio
import os
from collections.abc import MutableMapping
from typing import Literal

import fyris


def tables() -> list[fyris.Atom]:
    towns = fyris.Table("ordered_set", name=f"towns-{os.getpid()}", write_concurrency="auto")
    towns["uppsala"] = {"river": "Fyris", "bridges": 14}
    towns.update({"visby": {}, "falun": {"river": "Faluån"}})
    names: list[str] = list(towns)
    bridges: int = towns.update_counter(fyris.Atom("count"), 1, (None, 0))
    both: list[int] = towns.update_counter(fyris.Atom("count"), [(2, 1), (2, 1, 9, 0)])
    assert names and bridges == 1 and both == [2, 3]
    assert towns.compare_and_swap(("visby", {}), ("visby", None))
    then = towns.snapshot()
    answers = fyris.write_batch([
        ("check", towns, "visby", ("visby", None)),
        ("check", towns, "falun", then),
        ("insert", towns, [("gävle", {})]),
        ("update_counter", towns, fyris.Atom("count"), [(2, 1)], (None, 0)),
        ("delete", towns, "gävle"),
    ])
    assert answers == [True, True, True, [4], True]
    first: tuple[object, ...] = towns.lookup("visby")[0]
    assert len(first) == 2
    rivers = fyris.Table(secondary={"by_river": ("element", 2), "by_length": ("path", [3, "km"])})
    rivers.insert(("uppsala", "Fyris", {"km": 80}))
    assert rivers.lookup_by("by_river", "Fyris") == rivers.lookup_by("by_length", 80)
    towns.drop()
    return [fyris.Atom("ok")]


def mappings() -> MutableMapping[str, int]:
    ages: fyris.Table[str, int] = fyris.Table("ordered_set")
    ages["ada"] = 36
    ages.update(alan=41)
    ages.update([("bo", 1)], eva=2)
    ages |= {"bo": 3}
    total: int = sum(ages.values())
    both: dict[str, int] = ages | {"x": 1}
    none: int | None = ages.get("x")
    found: int | str = ages.get("ada", "nobody")
    names: set[str] = ages.keys() & {"ada", "x"}
    pairs: list[tuple[str, int]] = list(reversed(ages.items()))
    assert (total, none, found, names, pairs[0]) == (82, None, 36, {"ada"}, ("eva", 2))
    assert both == {**dict(ages.items()), "x": 1} and ages.compute("ada", lambda age: age + 1) == 37
    return ages


@fyris.transactional
def pay(tx: fyris.Transaction, table: fyris.Table, amount: int = 1) -> int:
    within = tx.table(table)
    within["ada"] -= amount
    return int(within["ada"])


@fyris.transactional(attempts=3)
def count(tx: fyris.Transaction, table: fyris.Table) -> int:
    return len(tx.table(table))


def transactions() -> int:
    accounts = fyris.Table()
    accounts["ada"] = 100
    left: int = pay(accounts, amount=30) + count(accounts)
    try:
        with fyris.transaction() as tx:
            tx.table(accounts)["ada"] += 1
            accounts.update(ada=0)
    except fyris.Conflict as conflict:
        assert conflict.table is accounts and conflict.key == "ada"
    return left


def watching() -> int:
    scores = fyris.Table("ordered_set")
    names: list[str] = []
    with scores.subscribe(range=(None, 10), from_snapshot=True) as changes:
        scores[1] = "ada"
        while (event := changes.try_next()) is not None:
            for table, old, new in event.changes:
                assert table is scores and old is None and new is not None
                names.append(new[1])
    assert names == ["ada"] and changes.ended

    async def first() -> fyris.WatchEvent:
        both = fyris.subscribe([scores], key=None, queue=10)
        scores[None] = "nobody"
        async for event in both:
            return event
        raise AssertionError

    return asyncio.run(first()).seq


def segments(name: str) -> int:
    with fyris.Segment(name, 1 << 16, tracking="signal") as segment:
        here = segment.ndarray((16, 4), "i8")
        here[0, 0] = 1
        version: int = segment.commit(merge=True)
        segment[64:72] = b"\x01" + bytes(7)
        byte: int = segment[64]
        piece: bytes = segment[64:72]
        segment.commit()
        paid: str = segment.transaction(lambda it: f"{len(it)} bytes")
        keep: Literal["local"] = "local"
        with segment.begin(merge=True, on_conflict=lambda at, base, ours, theirs: keep) as begun:
            begun.touch(0, 8)
        assert byte == 1 and len(piece) == 8 and paid.endswith("bytes")

    async def wait() -> bool:
        with fyris.Segment(name) as other:
            return await other.wait_async(timeout=0.01)

    assert not asyncio.run(wait())
    fyris.unlink(name)
    return version


def maps(name: str) -> dict[bytes, bytes]:
    with fyris.VersionedMap(name, 1 << 20) as prices:
        prices[b"pear"] = b"12"
        prices.commit()
        old: bytes = prices.pop(b"pear")
        prices.setdefault(b"plum", old)
        found: list[tuple[bytes, bytes]] = prices.prefix(b"p", limit=5)
        prices |= [(b"fig", b"3")]
        both: dict[bytes | str, bytes | int] = prices | {"x": 1}
        everything = dict(prices.items())
    fyris.unlink(name)
    assert found and both["x"] == 1 and len(both) == len(everything) + 1
    return everything


if __name__ == "__main__":
    tables()
    mappings()
    assert transactions() == 71
    assert watching() == 1
    segments(f"typed-{os.getpid()}")
    maps(f"typed-map-{os.getpid()}")
    print("right")
