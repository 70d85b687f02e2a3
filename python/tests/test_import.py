"""The files of Erlang systems: those that OTP has made, with what it reads of them (crates/files/tests)."""

import shutil
import warnings
from pathlib import Path

import pytest

import fyris

GOLDEN = Path(__file__).parents[2] / "crates" / "files" / "tests" / "erlang" / "golden"
PEOPLE = "{tables,[{people,[{record_name,people},{attributes,[name,age]}]}]}.\n{people,ada,36}.\n"


def exactly(rows):
    return sorted(map(fyris.encode, rows))


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.dets")), ids=lambda file: file.stem)
def test_dets_files(file):
    before = file.read_bytes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = fyris.import_from(file)
    [(name, table)] = made.tables.items()
    assert exactly(table.to_list()) == exactly(fyris.decode(file.with_suffix(".rows").read_bytes()))
    assert (made.what, name, table.name, made.columns) == ("a dets file", file.stem, file.stem, {file.stem: ()})
    assert table.keypos == (2 if "keypos2" in file.stem else 1)
    is_open = file.stem.startswith("open_")
    assert (made.wrong > 0) == (len(made.messages) > 0) == (len(caught) == 1) == is_open
    if is_open:
        assert "not closed" in made.messages[0] and made.messages[0] in str(caught[0].message)
        assert caught[0].filename == __file__
    assert file.read_bytes() == before


def test_a_directory_of_mnesia(tmp_path):
    # That of the repository stays as it is, whatever this does.
    folder = shutil.copytree(GOLDEN / "counters", tmp_path / "counters")
    made = fyris.import_from(str(folder))
    listed = fyris.decode((GOLDEN / "counters.tables").read_bytes())
    said = {name.name: (kind.name, rows) for name, kind, rows in listed}
    assert {name: table.type for name, table in made.tables.items()} == {name: kind for name, (kind, _) in said.items()}
    for name, (_, rows) in said.items():
        assert exactly(made.tables[name].to_list()) == exactly(rows)
        assert made.columns[name][0] == "record" and made.tables[name].keypos == 2
    assert made.wrong == 0 and made.what == "a directory of Mnesia"
    made.tables["hits"].insert((fyris.Atom("hits"), "z", 1))  # it may be written to


def test_text_dumps_and_their_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    (tmp_path / "shop.txt").write_text(PEOPLE)
    made = fyris.import_from(tmp_path / "shop.txt")
    assert made.columns == {"people": ("record", "name", "age")}
    people = pa.table(made.tables["people"]).rename_columns(list(made.columns["people"]))
    assert people.to_pylist() == [{"record": "people", "name": "ada", "age": 36}]


def test_damage_is_told(tmp_path):
    file = tmp_path / "set.dets"
    data = bytearray((GOLDEN / "set.dets").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    file.write_bytes(data)
    with pytest.warns(UserWarning, match="a dets file, .*set.dets, byte"):
        made = fyris.import_from(file)
    assert made.wrong >= len(made.messages) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            fyris.import_from(file)


def test_what_is_none_of_these_files_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        fyris.import_from(tmp_path / "none")
    (tmp_path / "text").write_text("hello, hello")
    with pytest.raises(fyris.Damaged, match="no file of dets, disk_log or Mnesia"):
        fyris.import_from(tmp_path / "text")
    with pytest.raises(fyris.Damaged, match="no directory of Mnesia"):
        fyris.import_from(tmp_path)
    fyris.Table().save(tmp_path / "table.ets")
    with pytest.raises(fyris.Damaged, match=r"Table\.load\(\) reads it"):
        fyris.import_from(tmp_path / "table.ets")


def test_nobody_finds_the_tables_by_name(tmp_path):
    (tmp_path / "shop.txt").write_text(PEOPLE)
    made = fyris.import_from(tmp_path / "shop.txt")
    with pytest.raises(fyris.NoSuchTable):
        fyris.Table.named("people")
    again = fyris.import_from(tmp_path / "shop.txt")
    again.tables["people"].clear()
    assert len(made.tables["people"]) == 1
