//! Directories, backups and dumps of Mnesia whose makers are rare, or hostile.

use std::path::Path;

use fyris_files::disk_log::LogWriter;
use fyris_files::mnesia::{Form, Mnesia, fyris_copies};
use fyris_term::{Term, etf};
use tempfile::TempDir;

use crate::common::{GOLDEN, escript};
use crate::mnesia::{as_mnesia_has_it, copies, replayed};

/// Writes a log of these terms.
fn log(file: &Path, terms: &[&str]) {
    let mut writer = LogWriter::new(std::fs::File::create(file).unwrap());
    for term in terms {
        let bytes = etf::encode(&Term::parse(term).unwrap());
        writer.item(|buf| buf.extend(&bytes), |_| {}).unwrap();
    }
    writer.finish().unwrap();
}

fn header(kind: &str, version: &str) -> String {
    format!("{{log_header,{kind},\"{version}\",\"4.21\",nonode@nohost,{{1,2,3}}}}")
}

/// Returns the definition of a table with a copy on a node.
fn defined(table: &str, storage: &str, node: &str) -> String {
    format!(
        "[{{name,{table}}},{{type,set}},{{{storage},[{node}]}},{{record_name,{table}}},
          {{attributes,[key,value]}},{{cookie,1}}]"
    )
}

/// Returns the committed directory with another log, of one commit with these operations on the schema and on tables of
/// disc_copies and disc_only_copies.
fn with_log(schema: &str, disc: &str, only: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(Path::new(GOLDEN).join("counters")).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    let commit =
        format!("{{commit,nonode@nohost,presume_commit,[],[{disc}],[{only}],[],[{schema}]}}");
    let file = folder.path().join("LATEST.LOG");
    log(&file, &[&header("trans_log", "4.3"), &commit]);
    folder
}

/// Returns the rows of a table as text, and what was wrong.
fn rows(path: &Path, table: &str) -> (String, Vec<String>) {
    let mnesia = Mnesia::open(path).unwrap();
    let (tables, wrong) = replayed(&mnesia);
    let found = mnesia
        .tables()
        .iter()
        .position(|of| of.name.as_str() == table);
    let rows = found.map(|at| tables[at].values().flatten().map(Term::to_string).collect());
    (rows.unwrap_or_else(Vec::new).join(" "), wrong)
}

#[test]
fn a_dump_of_this_erlang() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump");
    if escript("mnesia.escript", &["text", file.to_str().unwrap()]) {
        let mnesia = Mnesia::open(&file).unwrap();
        as_mnesia_has_it(&mnesia, &file.with_extension("tables"));
    }
}

#[test]
fn dumps_of_bags() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump");
    let text = |extra: &str| {
        format!(
            "{{tables,[{{t,[{{attributes,[a,b]}}{extra}]}}]}}.\n{{t,1,2}}.\n{{t,1,3}}.\n{{t,2,4}}.\n"
        )
    };
    std::fs::write(&file, text(",{type,bag}")).unwrap();
    assert_eq!(
        rows(&file, "t"),
        ("{t,1,2} {t,1,3} {t,2,4}".to_owned(), vec![])
    );
    std::fs::write(&file, text("")).unwrap();
    let (found, wrong) = rows(&file, "t");
    assert_eq!((&found[..], wrong.len()), ("{t,1,3} {t,2,4}", 1));
    assert!(wrong[0].contains("{type,bag}"), "{wrong:?}");
    std::fs::write(&file, text(",{type,no}")).unwrap();
    assert!(Mnesia::open(&file).is_err());
}

/// A node makes a backup of tables that are elsewhere; of a fallback it takes its own.
#[test]
fn backups_of_other_nodes() {
    let folder = with_log("", "", "");
    let file = folder.path().join("b.bup");
    let backup = |version: &str| {
        let schema = |name: &str, node: &str| {
            format!("{{schema,{name},{}}}", defined(name, "ram_copies", node))
        };
        let terms = [
            header("backup_log", version),
            schema("t", "a@b"),
            schema("own", "nonode@nohost"),
            "{t,1,x}".to_owned(),
            "{own,1,y}".to_owned(),
        ];
        log(&file, &terms.each_ref().map(|term| &term[..]));
    };
    backup("1.2");
    assert_eq!(rows(&file, "t"), ("{t,1,x}".to_owned(), vec![]));
    std::fs::copy(&file, folder.path().join("FALLBACK.BUP")).unwrap();
    assert_eq!(Mnesia::open(folder.path()).unwrap().form(), Form::Fallback);
    let (found, wrong) = rows(folder.path(), "t");
    assert_eq!((&found[..], wrong.len()), ("", 1), "{wrong:?}");
    assert_eq!(rows(folder.path(), "own").0, "{own,1,y}");
    backup("9.9");
    assert!(Mnesia::open(&file).is_err());
}

#[test]
fn tables_emptied_by_a_restore() {
    let ram = defined("ram", "ram_copies", "nonode@nohost");
    let only = defined("only_hits", "disc_only_copies", "nonode@nohost");
    let hits = defined("hits", "disc_copies", "nonode@nohost");
    let schema = [ram, only, hits].map(|table| format!("{{op,clear_table,{table}}}"));
    let schema = schema.join(",");
    let count = "{{only_hits,d},{only_hits,4},update_counter}";
    let folder = with_log(&schema, "", count);
    log(
        &folder.path().join("ram.DCD"),
        &[&header("dcd_log", "1.0"), "{ram,1,a}"],
    );
    assert_eq!(rows(folder.path(), "ram"), ("{ram,1,a}".to_owned(), vec![]));
    assert_eq!(rows(folder.path(), "hits").0, "");
    assert_eq!(rows(folder.path(), "only_hits").0, "{only_hits,d,4}");
}

/// Records that a change of the schema writes count as set; what is none of them is told.
#[test]
fn records_of_the_schema() {
    let schema = "{op,rec,disc_only_copies,{{only_hits,new},[{only_hits,new,1}],write}},
                  {op,rec,disc_only_copies,{{only_hits,new},[{only_hits}],write}},{op,rec,disc_copies,none}";
    let folder = with_log(schema, "", "{{only_hits,new},{only_hits,5},update_counter}");
    let (found, wrong) = rows(folder.path(), "only_hits");
    assert!(found.contains("{only_hits,new,6}"), "{found}");
    assert_eq!(wrong.len(), 2, "{wrong:?}");
}

#[test]
fn tables_that_become_ram_copies() {
    let hits = defined("hits", "ram_copies", "nonode@nohost");
    let schema =
        |node| format!("{{op,change_table_copy_type,{node},disc_copies,ram_copies,{hits}}}");
    let here = with_log(&schema("nonode@nohost"), "", "");
    assert_eq!(rows(here.path(), "hits"), (String::new(), vec![]));
    let elsewhere = with_log(&schema("a@b"), "", "");
    assert_ne!(rows(elsewhere.path(), "hits").0, "");
}

#[test]
fn names_that_lead_elsewhere() {
    let table = defined("'../hits'", "disc_copies", "nonode@nohost");
    let folder = with_log(&format!("{{op,create_table,{table}}}"), "", "");
    let (found, wrong) = rows(folder.path(), "../hits");
    assert_eq!((&found[..], wrong.len()), ("", 1), "{wrong:?}");
    let within = folder.path().join("within");
    std::fs::create_dir(&within).unwrap();
    std::fs::write(
        folder.path().join("t.FYL"),
        copies(0, &["[{insert,{t,1,a}}]"]),
    )
    .unwrap();
    let mut wrong = 0;
    fyris_copies(&within, "../t", |read| {
        assert!(read.is_err());
        wrong += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(wrong, 1);
}

/// A compressed record may take memory by the length of its file.
#[test]
fn records_that_inflate() {
    let folder = tempfile::tempdir().unwrap();
    let term = Term::list([Term::binary(vec![0; 80 << 20])]);
    let body = etf::encode(&term);
    let mut packed = vec![131, 80];
    packed.extend((body.len() as u32 - 1).to_be_bytes());
    let mut encoder = flate2::write::ZlibEncoder::new(packed, flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &body[1..]).unwrap();
    std::fs::write(
        folder.path().join("t.FYL"),
        crate::mnesia::copies_of(0, &[encoder.finish().unwrap()]),
    )
    .unwrap();
    let mut said = Vec::new();
    fyris_copies(folder.path(), "t", |read| {
        said.push(read.unwrap_err().to_string());
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("does not decode"), "{said:?}");
}
