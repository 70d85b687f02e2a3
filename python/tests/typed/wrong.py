"""Mistakes that a type checker finds, each on a line of its own (python/types.sh)."""

import fyris

table = fyris.Table("ordered")  # wrong
table = fyris.Table(keypos="1")  # wrong
table.insert([1, 2])  # wrong
ages: fyris.Table[str, int] = fyris.Table()
ages[object()] = 1  # wrong
ages["ada"] = "1815"  # wrong
ages.update({1: 2})  # wrong
names: list[int] = list(ages)  # wrong
half: str = ages.get("ada", 1)  # wrong
table.update_counter("hits", 1.5)  # wrong
table.select("[]", limit="10")  # wrong
count: str = table.select_count("[]")  # wrong
table.lookup_element("key", "2")  # wrong
table.frobnicate()  # wrong
fyris.Table.named(1)  # wrong
fyris.import_from(1)  # wrong
first: str = fyris.import_from("people.dets").tables  # wrong

fyris.transaction(attempts=3)  # wrong
fyris.transaction().table("accounts")  # wrong
fyris.transactional(3)  # wrong
fyris.transactional(attempts="3")  # wrong
paid: str = fyris.transactional(lambda tx: 3)()  # wrong

fyris.subscribe(table)  # wrong
table.subscribe(rnage=(1, 2))  # wrong
table.subscribe(range=3)  # wrong
old: str = table.subscribe().next(timeout=1)  # wrong

segment = fyris.Segment("name", "1 MiB")  # wrong
segment = fyris.Segment("name", 4096, tracking="magic")  # wrong
segment["0"] = 1  # wrong
segment[0:8] = 1  # wrong
segment.transaction(lambda: 1)  # wrong
segment.commit(merge="yes")  # wrong

prices = fyris.VersionedMap("prices", 4096)
prices["pear"] = b"12"  # wrong
prices[b"pear"] = 12  # wrong
pear: str = prices[b"pear"]  # wrong
fyris.Atom(b"ok")  # wrong
fyris.unlink(3)  # wrong
