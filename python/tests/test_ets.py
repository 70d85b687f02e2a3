"""Tables as ETS has them; their names, ends and files; threads."""

import gc
import pathlib
import pickle
import shutil
import subprocess
import threading
import time
import weakref

import pytest

import fyris
from fyris import Atom


def test_objects():
    table = fyris.Table("ordered_set")
    table.insert(("b", 2, 20))
    assert table.insert_new(("a", 1)) and not table.insert_new(("a", 2))
    table.insert_many([("c",), ("d", 4)])
    assert not table.insert_new_many([("e",), ("a", 9)])
    assert table.to_list() == list(table.objects()) == [("a", 1), ("b", 2, 20), ("c",), ("d", 4)]
    assert table.lookup("b") == [("b", 2, 20)] and table.lookup("z") == []
    assert table.lookup_many(["z", "a"]) == [[], [("a", 1)]]
    assert table.lookup_element("b", 3) == 20
    assert table.lookup_element("z", 3) is None and table.lookup_element("z", 3, 0) == 0
    with pytest.raises(fyris.BadValue, match="bad position 3"):
        table.lookup_element("a", 3)
    assert table.member("a") and not table.member("z")
    assert table.take("b") == [("b", 2, 20)] and table.take("b") == []
    table.delete_object(("d", 5))
    assert "d" in table
    table.delete_object(("d", 4))
    table.delete("nobody")
    assert list(table) == ["a", "c"]


def test_bags():
    bag = fyris.Table("bag")
    bag.insert_many([("a", 1), ("a", 2), ("a", 1)])
    assert bag.lookup("a") == [("a", 1), ("a", 2)]
    assert bag.lookup_element("a", 2) == [1, 2]
    assert len(fyris.Table("duplicate_bag")) == 0
    twice = fyris.Table("duplicate_bag")
    twice.insert_many([("a", 1), ("a", 1)])
    assert len(twice) == 2
    del twice["a"]
    assert len(twice) == 0
    with pytest.raises(KeyError):
        del twice["a"]


def test_counters_and_elements():
    table = fyris.Table()
    assert table.update_counter("hits", 1, ("", 0, "x")) == 1
    assert table.update_counter("hits", [(2, 2), (2, 3)]) == [3, 6]
    assert table.update_counter("hits", (2, 100, 50, 0)) == 0
    with pytest.raises(KeyError):
        table.update_counter("nobody", 1)
    with pytest.raises(fyris.WrongType, match="not an integer"):
        table.update_counter("hits", (3, 1))
    assert table.update_element("hits", [(3, "y"), (2, 7)])
    assert not table.update_element("nobody", (2, 1))
    assert table.lookup("hits") == [("hits", 7, "y")]
    assert table.compare_and_swap(("hits", 7, "y"), ("hits", 8))
    assert not table.compare_and_swap(("hits", 7, "y"), ("hits", 9))
    assert table["hits"] == 8


def test_walking():
    table = fyris.Table("ordered_set")
    assert table.first() is None and table.last(default=0) == 0
    table.update((n, n * n) for n in range(10))
    assert (table.first(), table.last()) == (0, 9)
    assert table.next(4) == 5 and table.next(4.5) == 5 and table.prev(4) == 3
    assert table.next(9) is None and table.prev(0, default="end") == "end"
    assert table.range(start=3, stop=5) == [(3, 9), (4, 16)]
    assert table.range(stop=8, limit=2, reverse=True) == [(7, 49), (6, 36)]
    assert len(table.range()) == 10
    with pytest.raises(fyris.WrongType):
        fyris.Table().range()
    # A walk survives what happens to the table.
    seen = []
    for key in table:
        seen.append(key)
        del table[key]
    assert seen == list(range(10)) and len(table) == 0


def test_queries():
    table = fyris.Table("ordered_set")
    table.insert_many((n, n % 3, f"text {n}") for n in range(100))
    wanted = [("$1", "$2", "_"), [(">", "$2", 1)], ["$1"]]
    assert table.select("[{{'$1', '$2', '_'}, [{'>', '$2', 1}], ['$1']}]", limit=3) == [2, 5, 8]
    v1, v2, any_ = Atom("$1"), Atom("$2"), Atom("_")
    spec = [((v1, v2, any_), [(Atom(">"), v2, 1)], [v1])]
    assert table.select(spec, reverse=True)[:2] == [98, 95]
    assert table.select(spec, limit=1, reverse=True) == [98]
    assert len(table.select(spec)) == 33
    # A str inside a value is the text that a table keeps.
    assert table.match_object((any_, any_, "text 7")) == [(7, 1, "text 7")]
    assert table.match("{50, '$2', '$1'}") == [["text 50", 2]]
    assert table.select_count("[{{'_', 0, '_'}, [], [true]}]") == 34
    assert table.select_delete("[{{'$1', '_', '_'}, [{'>=', '$1', 50}], [true]}]") == 50
    assert table.select_replace("[{{'$1', 2, '$3'}, [], [{{'$1', two, '$3'}}]}]") == 16
    assert table.lookup(2) == [(2, Atom("two"), "text 2")]
    table.match_delete("{'_', two, '_'}")
    assert len(table) == 34
    explained = table.explain("[{{7, '_', '$1'}, [], ['$1']}]")
    assert explained["estimated"] == 1 and explained["size"] == 34 and explained["plan"]
    for bad in ("nonsense", "[{", [], wanted):
        with pytest.raises(fyris.BadValue):
            table.select(bad)
    with pytest.raises(fyris.BadValue):
        table.select(spec, limit=0)
    with pytest.raises(fyris.BadValue):
        table.select_replace("[{{'$1', '$2', '_'}, [], [{{'$2', '$1'}}]}]")


def test_text_in_patterns():
    table = fyris.Table("ordered_set")
    table.insert_many([(1, "Bo"), (2, "Bö"), (3, [66, 111]), (4, "_")])
    # In either form text is what a table keeps of a str; an Erlang string is a list of numbers.
    any_, v1, v2 = Atom("_"), Atom("$1"), Atom("$2")
    assert table.match_object("{'_', \"Bo\"}") == table.match_object((any_, "Bo")) == [(1, "Bo")]
    assert table.match_object("{'_', \"B\" \"ö\"}") == table.match_object((any_, "Bö")) == [(2, "Bö")]
    assert table.match_object("{'_', ~s\"Bo\"}") == table.match_object((any_, [66, 111])) == [(3, [66, 111])]
    guard = [((v1, v2), [(Atom("=="), v2, "Bo")], [v1])]
    assert table.select("[{{'$1', '$2'}, [{'==', '$2', \"Bo\"}], ['$1']}]") == table.select(guard) == [1]
    assert table.select([((1, any_), [], ["found"])]) == ["found"]
    assert table.select_replace("[{{'$1', \"Bo\"}, [], [{{'$1', \"Bob\"}}]}]") == 1
    assert table[1] == "Bob"
    # What reads as a variable is not taken for text without a word.
    for name in ("_", "$_", "$$", "$1", "$12"):
        for pattern in ((any_, name), [any_, {"a": name}], (any_, [name])):
            with pytest.raises(fyris.BadValue, match="write fyris.Atom"):
                table.match_delete(pattern)
        with pytest.raises(fyris.BadValue, match="write fyris.Atom"):
            table.select([((v1, v2), [(Atom("=="), v2, name)], [v1])])
    assert table.match_object((any_, "$x")) == table.match_object((any_, "$")) == []
    assert table.match_object("{'_', \"_\"}") == [(4, "_")]
    assert len(table) == 4


def test_names():
    table = fyris.Table("bag", name="test_names")
    assert table.name == "test_names"
    again = fyris.Table.named("test_names")
    again.insert(("a", 1))
    assert len(table) == 1 and again.type == "bag"
    with pytest.raises(fyris.NameTaken):
        fyris.Table(name="test_names")
    for empty in (lambda: fyris.Table(name=""), lambda: table.rename("")):
        with pytest.raises(fyris.BadValue, match="not empty"):
            empty()
    table.rename("test_names_2")
    with pytest.raises(fyris.NoSuchTable):
        fyris.Table.named("test_names")
    del table, again
    gc.collect()
    fyris.Table.named("test_names_2").drop()
    with pytest.raises(fyris.NoSuchTable):
        fyris.Table.named("test_names_2")
    for bad in ({"type": "tree"}, {"keypos": 0}, {"index": "nowhere"}):
        with pytest.raises(fyris.BadValue):
            fyris.Table(**bad)
    with pytest.raises(fyris.BadValue, match="no index nowhere for type bag: its own is hash, others are avl,.* skip_list"):
        fyris.Table("bag", index="nowhere")


def test_library(tmp_path):
    # std::map as it is shipped with the C API, in C++.
    source = pathlib.Path(__file__).parents[2] / "crates/capi/examples/index/map.cc"
    if shutil.which("c++") is None or not source.exists():
        pytest.skip("no c++ here, or no sources")
    library, include = tmp_path / "map.so", source.parents[2] / "include"
    subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", f"-I{include}", "-o", library, source], check=True)
    table = fyris.Table("ordered_set", index=("library", str(library)))
    for key in (3, 1, 2):
        table.insert((key, -key))
    assert list(table) == [1, 2, 3] and table[2] == -2
    for index, text in ((("library", "/no/such.so"), "/no/such.so"), (("nowhere", "x"), "nowhere")):
        with pytest.raises(fyris.BadValue, match=text):
            fyris.Table(index=index)


def test_ends():
    with fyris.Table() as table:
        table["a"] = 1
        walk = iter(table)
    for use in (lambda: table["a"], lambda: len(table), table.info, lambda: next(walk)):
        with pytest.raises(fyris.NoSuchTable):
            use()
    assert "deleted" in repr(table)
    # A walk keeps an unnamed table alive.
    table = fyris.Table()
    table["a"] = 1
    ref, walk = weakref.ref(table), iter(table.items())
    del table
    assert next(walk) == ("a", 1)
    del walk
    gc.collect()
    assert ref() is None
    with pytest.raises(TypeError):
        pickle.dumps(fyris.Table())


def test_info():
    table = fyris.Table("ordered_set", keypos=2)
    info = table.info()
    assert info["type"] == "ordered_set" and info["keypos"] == table.keypos == 2
    assert info["size"] == 0 and info["named_table"] is False
    assert table.memory > 0 and repr(table).endswith("ordered_set of 0>")


@pytest.mark.parametrize(
    "index, ordered",
    [
        ("judysl", "only"),
        ("judyesl", "only"),
        ("judyeh", False),
        ("hash", False),
        ("ordered", True),
        ("avl", True),
        ("treap", True),
        ("btree", True),
        ("ca_avl", True),
        ("ca_treap", True),
        ("relaxed_avl", True),
        ("skip_list", True),
        ("linear_hash", False),
        ("split_ordered", False),
        ("michael_hash", False),
    ],
)
def test_indexes(index, ordered):
    kinds = {"only": ("ordered_set",), True: ("set", "ordered_set", "bag"), False: ("set", "bag")}
    for kind in kinds[ordered]:
        table = fyris.Table(kind, index=index)
        for key in range(200):
            table.insert((key, key * 2))
        table.delete(7)
        assert len(table) == 199 and table.lookup(8) == [(8, 16)] and table.lookup(7) == []
        assert sum(1 for _ in table.objects()) == 199
        info = table.info()
        assert info.get("index", index) == index
    if not ordered:
        with pytest.raises(fyris.BadValue):
            fyris.Table("ordered_set", index=index)


def test_locks_of_an_index():
    table = fyris.Table(index="linear_hash", bucket_locks=8, read_concurrency=True, reader_groups=2)
    table["a"] = 1
    info = dict(table.info()["index_info"])
    names = {str(name): value for name, value in info.items()}
    assert names["bucket_locks"] == 8 and names["reader_groups"] == 2
    assert str(names["bucket_lock"]) == "freq_r"
    auto = fyris.Table(index="linear_hash", write_concurrency="auto").info()
    assert str(auto["write_concurrency"]) == "auto"
    for bad in ({"bucket_locks": 3}, {"reader_groups": 65}, {"write_concurrency": "yes"}):
        with pytest.raises(fyris.BadValue, match=next(iter(bad))):
            fyris.Table(index="linear_hash", **bad)


def test_iterators_show_one_moment():
    def seen(**options):
        table = fyris.Table("ordered_set", **options)
        table.update({key: key for key in range(1000)})
        iterator = iter(table)
        first = next(iterator)
        table[1000] = 1000
        del table[999]
        return [first, *iterator]

    assert seen() == list(range(1000))
    assert seen(consistent=False) == [*range(999), 1000]
    table = fyris.Table(snapshot_ttl=20)
    table.update({key: key for key in range(1000)})
    iterator = iter(table)
    next(iterator)
    time.sleep(0.05)
    with pytest.raises(fyris.Closed, match="snapshot_ttl"):
        list(iterator)
    for bad in ({"consistent": "yes"}, {"snapshot_ttl": 0}):
        with pytest.raises(fyris.BadValue, match=next(iter(bad))):
            fyris.Table(**bad)


def test_secondary_indexes():
    table = fyris.Table(
        secondary={
            "by_city": ("element", 3),
            "by_year": ("path", [2, "born"]),
            "by_size": ("body", "[{map_size, {element, 2, '$_'}}]"),
        }
    )
    ada, emmy, alan = ("ada", {"born": 1815}, "london"), ("emmy", {"born": 1882}, "erlangen"), ("alan", {}, "london")
    table.insert_many([ada, emmy, alan])
    assert table.lookup_by("by_city", "london") == [ada, alan]
    assert table.lookup_by("by_year", 1882) == [emmy] and table.lookup_by("by_year", 1882.0) == []
    assert table.lookup_by("by_size", 0) == [alan] and table.lookup_by("by_size", "x") == []
    before = table.snapshot()
    table.update_element("alan", (3, "manchester"))
    assert table.lookup_by("by_city", "london") == [ada]
    assert before.lookup_by("by_city", "london") == [ada, alan]
    with fyris.transaction() as tx:
        within = tx.table(table)
        within.insert(("alan", {}, "london"))
        assert within.lookup_by("by_city", "london") == [ada, alan]
        assert table.lookup_by("by_city", "london") == [ada]
    assert table.lookup_by("by_city", "london") == [ada, alan]
    many = fyris.Table("bag", keypos=2, secondary={"by_group": ("element", 1)})
    many.insert_many([(n % 2, n) for n in range(20_000)])
    assert many.lookup_by("by_group", 1) == [(1, n) for n in range(1, 20_000, 2)]
    explained = many.explain("[{{1, '$1'}, [], ['$1']}]")
    assert explained["secondary"] == "by_group" and explained["size"] == 20_000
    assert "secondary" not in many.explain("[{{'_', 7}, [], ['$_']}]")
    with pytest.raises(fyris.BadValue, match="no secondary index by_name"):
        table.lookup_by("by_name", "ada")
    table.add_secondary("by_name", ("element", 1))
    assert table.lookup_by("by_name", "ada") == [ada]
    with pytest.raises(fyris.BadValue, match="by_name"):
        table.add_secondary("by_name", ("element", 1))
    table.remove_secondary("by_name")
    with pytest.raises(fyris.BadValue, match="no secondary index by_name"):
        table.remove_secondary("by_name")
    for bad in (("element", 0), ("element", "x"), ("path", []), ("body", "[{foo, 1}]"), ("body", "["), ("other", 1)):
        with pytest.raises(fyris.BadValue):
            fyris.Table(secondary={"bad": bad})
    for bad in (("element",), "element", 3):
        with pytest.raises((TypeError, ValueError)):
            fyris.Table(secondary={"bad": bad})
    with pytest.raises(TypeError):
        fyris.Table(secondary=[("by_city", ("element", 3))])


def test_unique_indexes():
    users = fyris.Table(secondary={"by_email": ("unique", ("element", 2)), "by_group": ("element", 3)})
    users.insert((1, "ada@example.org", 7))
    brings = [
        lambda: users.insert((2, "ada@example.org", 8)),
        lambda: users.insert_new((2, "ada@example.org", 8)),
        lambda: users.insert_many([(2, "bob@example.org", 8), (3, "ada@example.org", 8)]),
        lambda: users.insert_many([(2, "x", 8), (3, "x", 8)]),
        lambda: users.compare_and_swap((1, "ada@example.org", 7), (1, "x", 7)) and users.insert((2, "x")),
        lambda: fyris.write_batch([("insert", users, (4, "x")), ("insert", users, (5, "x"))]),
    ]
    values = ["ada@example.org"] * 3 + ["x"] * 3
    for bring, value in zip(brings, values, strict=True):
        with pytest.raises(fyris.NotUnique, match="by_email") as caught:
            bring()
        assert (caught.value.index, caught.value.value) == ("by_email", value)
    assert isinstance(caught.value, ValueError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.index, copy.value) == (str(caught.value), "by_email", "x")
    with pytest.raises(fyris.NotUnique), fyris.transaction() as tx:
        within = tx.table(users)
        within.insert((2, "x"))
    with fyris.transaction() as tx:
        within = tx.table(users)
        within.insert((2, "x"))
        within.insert((1, "y"))
    assert users.lookup_by("by_email", "x") == [(2, "x")]
    with pytest.raises(fyris.NotUnique):
        users.insert_many([(3, "z", 7), (4, "zz", 7)])
        users.add_secondary("by_third", ("unique", ("element", 3)))
    with pytest.raises(fyris.BadValue):
        fyris.Table("bag", secondary={"by_email": ("unique", ("element", 2))})


def test_files(tmp_path):
    table = fyris.Table(name="test_files")
    table.update({"text": "Fyrisån", "atoms": [Atom("a"), None], b"": {1: 2.5}})
    path = tmp_path / "table.ets"
    assert table.save(path) == 3
    with pytest.raises(fyris.NameTaken):
        fyris.Table.load(path)
    copy = fyris.Table.load(path, name="test_files_copy")
    assert dict(copy) == dict(table)
    copy.drop()
    table.drop()
    with pytest.raises(FileNotFoundError):
        fyris.Table.load(tmp_path / "nothing")
    with pytest.raises(OSError):
        fyris.Table().save(tmp_path / "no" / "folder")
    bytes_ = bytearray(path.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    path.write_bytes(bytes_)
    with pytest.raises(fyris.Damaged, match="byte"):
        fyris.Table.load(path)


def test_threads_share_a_table():
    table = fyris.Table()

    def work(me):
        for n in range(300):
            table.update_counter("all", 1, ("", 0))
            assert table.setdefault(n, n) == n
            table[me, n] = n
            table.update({("pair", 0): n, ("pair", 1): n})

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table["all"] == 1200 and len(table) == 1 + 300 + 1200 + 2
    assert table["pair", 0] == table["pair", 1]


def test_every_public_thing_is_documented_and_stubbed():
    import ast
    import inspect
    import pathlib

    stub = pathlib.Path(fyris.__file__).with_name("__init__.pyi").read_text()
    stubbed = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ClassDef):
            stubbed[node.name] = {d.name for d in node.body if isinstance(d, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            stubbed[node.name] = set()
    for name in fyris.__all__:
        if name == "__version__":
            continue
        thing = getattr(fyris, name)
        assert name in stubbed, f"{name} has no stub"
        assert inspect.getdoc(thing), f"{name} has no docstring"
        if inspect.isclass(thing):
            mine = [m for m in vars(thing) if not m.startswith("_")]
            mine = [m for m in mine if m not in getattr(thing, "_fields", ())]  # test_stubs.py
            for member in mine:
                assert member in stubbed[name], f"{name}.{member} has no stub"
                assert getattr(thing, member).__doc__, f"{name}.{member} has no docstring"
            gone = {m for m in stubbed[name] - {"__buffer__"} if not hasattr(thing, m)}
            assert not gone, f"{name}: stubs for what is not there: {gone}"


def test_a_loaded_table_has_the_secondary_indexes_that_it_is_told(tmp_path):
    of = {"by_city": ("element", 3), "by_name": ("unique", ("element", 2))}
    with fyris.Table(secondary=of) as table:
        table.insert_many([(1, "ada", "london"), (2, "bob", "paris")])
        table.save(tmp_path / "people")
        table.remove_secondary("by_name")
        table.insert((3, "bob", "paris"))
        table.save(tmp_path / "not unique")
    with fyris.Table.load(tmp_path / "people") as table, pytest.raises(fyris.BadValue):
        table.lookup_by("by_city", "paris")
    with fyris.Table.load(tmp_path / "people", secondary=of) as table:
        assert table.lookup_by("by_city", "paris") == [(2, "bob", "paris")]
        with pytest.raises(fyris.NotUnique):
            table.insert((3, "bob", "rome"))
    with pytest.raises(fyris.NotUnique):
        fyris.Table.load(tmp_path / "not unique", name="not_unique", secondary=of)
    with pytest.raises(fyris.NoSuchTable):
        fyris.Table.named("not_unique")
    with pytest.raises(fyris.BadValue, match="not empty"):
        fyris.Table.load(tmp_path / "people", name="")


def test_options_say_what_there_is():
    for wrong, error, said in (
        (lambda: fyris.Table("orderd_set"), fyris.BadValue, "ordered_set, bag and duplicate_bag"),
        (lambda: fyris.Table({"a": 1}), TypeError, "its type, such as 'ordered_set', not a dict"),
        (lambda: fyris.Table(index=3), TypeError, "index is a name"),
        (lambda: fyris.Table(secondary={"x": ("unique", "element", 3)}), fyris.BadValue, "'unique', one of these"),
        (lambda: fyris.Table(secondary={"x": 3}), fyris.BadValue, "'element', position"),
        (lambda: fyris.Table().update_counter("new", 5, 0), fyris.WrongType, r"such as \(None, 0\), not 0"),
        (lambda: fyris.Table().update_element("new", (2, 5), "x"), fyris.WrongType, "default is an object"),
    ):
        with pytest.raises(error, match=said):
            wrong()
    table = fyris.Table(secondary={"x": ("element", 2)})
    with pytest.raises(fyris.BadValue, match="index x already"):
        table.add_secondary("x", ("element", 2))


def test_a_with_statement_deletes_what_was_made():
    with fyris.Table(name="test_with") as table:
        with fyris.Table.named("test_with") as found:
            found["a"] = 1
        assert table["a"] == 1
    with pytest.raises(fyris.NoSuchTable):
        fyris.Table.named("test_with")
    with fyris.Table() as table:
        pass
    with pytest.raises(fyris.NoSuchTable):
        len(table)


def test_slips_in_patterns_and_specifications_are_named():
    table = fyris.Table()
    table["a"] = "paid"
    any_, v1 = Atom("_"), Atom("$1")
    for pattern in ("paid", '"paid"', 5, [any_], Atom("paid"), {"a": any_}):
        for use in (table.match, table.match_object, table.match_delete, lambda p: table.subscribe(pattern=p)):
            with pytest.raises(fyris.BadValue, match="a pattern is a tuple or a variable"):
                use(pattern)
    assert table.match_object("'_'") == table.match_object(v1) == [("a", "paid")]
    for spec, said in (
        ([((any_, v1), [(">", v1, 3)], [v1])], 'write fyris.Atom\\(">"\\)'),
        ([((any_, v1), [(Atom("andalso"), True, ("=<", v1, 3))], [v1])], 'write fyris.Atom\\("=<"\\)'),
        ("[{{'_', '$1'}, [{'<=', '$1', 3}], ['$1']}]", "operator is '=<'"),
        ("[{{'_', '$1'}, [{'!=', '$1', 3}], ['$1']}]", "operator is '/='"),
    ):
        with pytest.raises(fyris.BadValue, match=said):
            table.select(spec)
    # In an object it is no operator.
    with pytest.raises(fyris.BadValue) as caught:
        table.select([((">", v1), [], [(Atom("nothing"), v1)])])
    assert "fyris.Atom" not in str(caught.value)


def test_places_in_the_order_of_keys():
    table = fyris.Table("ordered_set", index="judyesl")
    for key in range(100):
        table.insert((3 * key,))
    assert table.nth(4) == 12 and table.nth(100) is None and table.nth(100, "none") == "none"
    assert table.rank(10) == 4 and table.rank(12) == 4
    assert table.count_between(start=10, stop=30) == 6 and table.count_between() == 100
    with pytest.raises(fyris.BadValue, match='lacks counts of keys.*index="judysl"'):
        fyris.Table("ordered_set").rank(1)
    for wrong in (-1, 1 << 70):
        with pytest.raises(fyris.BadValue, match="no key has the number"):
            table.nth(wrong)


def test_snapshots():
    table, other = fyris.Table("ordered_set"), fyris.Table("bag")
    table[1], table[2] = "one", "two"
    before, apart = fyris.Table.snapshots([table, other])
    alone = table.snapshot()
    table[1] = "uno"
    del table[2]
    other.insert((1, 1))
    for snapshot in (before, alone):
        assert dict(snapshot.items()) == {1: "one", 2: "two"} and len(snapshot) == 2
        assert snapshot.range(start=2) == [(2, "two")]
        assert snapshot.select("[{{'$1', '_'}, [], ['$1']}]") == [1, 2]
    assert len(apart) == 0 and len(other) == 1
    with pytest.raises(fyris.ReadOnly):
        before[3] = "three"
    with pytest.raises(fyris.ReadOnly):
        before.snapshot()
    before.release()
    before.release()
    with pytest.raises(fyris.Closed):
        before[1]
    with pytest.raises(fyris.Closed):
        len(before)
    del table
    gc.collect()
    assert alone[2] == "two" and len(alone) == 2
