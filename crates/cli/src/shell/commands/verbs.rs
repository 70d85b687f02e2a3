//! The commands of the shell, one row each: name, usage, help and what runs.

use super::help;
use super::verb::{Handler, Verb};
use super::{
    browse, change, export, files, load, meta, patterns, ranges, select, snapshots, tables,
    transactions, watch,
};
use crate::shell::error::ShellError;
use crate::shell::names::nearest;
use crate::shell::query::Does;
use crate::shell::session::Session;
use crate::shell::sql;

use Handler::{At, Query, Terms, Words};

/// Every command, in the order `help` lists them.
pub(crate) static VERBS: &[Verb] = &[
    Verb {
        name: "open",
        also: &["file2tab", ".open"],
        usage: "open FILE [as NAME]",
        help: "Load a dump that ets:tab2file or Fyris wrote. Its objects are checked as they are read; with extended info in the file, their number and checksum too. A dets file, a log of disk_log, and a directory, backup or text dump of Mnesia are opened, too: as tables, with what is wrong in the files said.",
        handler: Words(files::open),
    },
    Verb {
        name: "load",
        also: &[],
        usage: "load FILE|- key COLUMN [as NAME] [type TYPE] [format csv|json] [delimiter C] [header yes|no] [as KIND,... | as COLUMN:KIND,... | terms]",
        help: "Load CSV (.csv, .tsv) or JSON (.jsonl, .ndjson, .json): an object a line, or one array of objects; `-` is standard input. Column types are inferred; each row becomes a tuple of its columns, the key being COLUMN, and queries know the columns by name. TYPE is set, ordered_set (the default), bag or duplicate_bag. The delimiter is found in the first line unless it is given (`tab` for a tab); without a header the columns are c1, c2 ... `as int, text, term` says the kinds of the columns, `as state:atom` that of one: auto, int, float, text, atom, or term, which is a term as Erlang writes it; `terms` says so of all.",
        handler: Words(load::load),
    },
    Verb {
        name: "import",
        also: &[".import"],
        usage: "import FILE [NAME] [key COLUMN]",
        help: "Load CSV or JSON as `load` does, with the first column as the key unless COLUMN is, and refuse it if two rows have the same key.",
        handler: Words(load::import),
    },
    Verb {
        name: "save",
        also: &["tab2file", ".save"],
        usage: "save [TABLE] FILE",
        help: "Write a table to a file that ets:file2tab and `open` read, with object count and MD5 in it, and the names of the columns for `open`. The file appears only when it is complete, and keeps the owner and permissions of the file that it replaces; a read-only file or a device is refused.",
        handler: Words(files::save),
    },
    Verb {
        name: "export",
        also: &[],
        usage: "export [TABLE] FILE|- [format csv|json] [columns NAME,...] [as KIND,... | as COLUMN:KIND,... | terms] [lossy]",
        help: "Write a table as CSV or as JSON lines, which `load` reads; `-` is standard output. The columns are those of the file that the table was loaded from, or c1, c2 ...; with NAME,... some of them, in that order, or as many new names. Nothing is written if `load` would not give back each value as it is: the first that it would not is named. `as` kinds that fit the columns, behind `load` too, keep their values, and `terms` all but closures, written as Erlang writes them; `lossy` writes the file all the same and says how many it changes.",
        handler: Words(export::export),
    },
    Verb {
        name: "dump",
        also: &[".dump"],
        usage: "dump [TABLE]",
        help: "Write a table as CSV whose fields are terms as Erlang writes them, all of which `load ... terms` reads back: `export TABLE - format csv terms`.",
        handler: Words(export::dump),
    },
    Verb {
        name: "describe",
        also: &["tabfile_info"],
        usage: "describe FILE",
        help: "What the header of a dump says, without loading it.",
        handler: Words(files::describe),
    },
    Verb {
        name: "tables",
        also: &["all", "i", ".tables"],
        usage: "tables",
        help: "List the tables: name, type, objects, memory.",
        handler: Terms(tables::list),
    },
    Verb {
        name: "schema",
        also: &[".schema"],
        usage: "schema [TABLE]",
        help: "The type of a table, or of all, its columns with their places and the key, and its secondary indexes.",
        handler: Terms(tables::schema),
    },
    Verb {
        name: "use",
        also: &[],
        usage: "use TABLE",
        help: "Make TABLE the one that commands mean when they name none.",
        handler: Terms(tables::use_table),
    },
    Verb {
        name: "new",
        also: &[],
        usage: "new NAME [TYPE] [OPTION ...]",
        help: "Make a table. TYPE and OPTION are those of ets:new/2: set, ordered_set, bag, duplicate_bag, {keypos, 2}, {secondary, by_city, {element, 3}} ...",
        handler: Terms(tables::new),
    },
    Verb {
        name: "drop",
        also: &[],
        usage: "drop TABLE",
        help: "Remove a table with all that is in it.",
        handler: Terms(tables::drop_table),
    },
    Verb {
        name: "rename",
        also: &[],
        usage: "rename [TABLE] NAME",
        help: "Give a table another name.",
        handler: Terms(tables::rename),
    },
    Verb {
        name: "info",
        also: &[],
        usage: "info [TABLE] [ITEM]",
        help: "All that ets:info/1 says of a table, or one item of it. The item index_info lists the locks, splits, depth or buckets of the index.",
        handler: Terms(tables::info),
    },
    Verb {
        name: "count",
        also: &["size"],
        usage: "count [TABLE]",
        help: "How many objects a table holds.",
        handler: Terms(tables::count),
    },
    Verb {
        name: "head",
        also: &[],
        usage: "head [TABLE] [N]",
        help: "The first N (10) objects in the table's order.",
        handler: Terms(browse::head),
    },
    Verb {
        name: "tail",
        also: &[],
        usage: "tail [TABLE] [N]",
        help: "The last N (10) objects of an ordered_set.",
        handler: Terms(browse::tail),
    },
    Verb {
        name: "walk",
        also: &["tab2list"],
        usage: "walk [TABLE] [from KEY] [limit N]",
        help: "Go through a table page by page, from the start or from KEY on (in an ordered_set KEY need not be there), or its first N objects.",
        handler: Terms(browse::walk),
    },
    Verb {
        name: "lookup",
        also: &["get"],
        usage: "lookup [TABLE] KEY",
        help: "The objects with KEY.",
        handler: Terms(browse::lookup),
    },
    Verb {
        name: "member",
        also: &[],
        usage: "member [TABLE] KEY",
        help: "Whether there is an object with KEY.",
        handler: Terms(browse::member),
    },
    Verb {
        name: "first",
        also: &[],
        usage: "first [TABLE]",
        help: "The first key.",
        handler: Terms(browse::first),
    },
    Verb {
        name: "last",
        also: &[],
        usage: "last [TABLE]",
        help: "The last key.",
        handler: Terms(browse::last),
    },
    Verb {
        name: "next",
        also: &[],
        usage: "next [TABLE] KEY",
        help: "The key above KEY.",
        handler: Terms(browse::next),
    },
    Verb {
        name: "prev",
        also: &[],
        usage: "prev [TABLE] KEY",
        help: "The key before KEY.",
        handler: Terms(browse::prev),
    },
    Verb {
        name: "select",
        also: &[],
        usage: "select [TABLE] SPEC | [PATTERN] [where EXPR, ...] [return EXPR] [group by EXPR, ...] [sort by EXPR [desc], ...] [limit N] [threads N] [spec]",
        help: "Values of the objects that match, or of groups of them, sorted if asked. SPEC is a match specification in Erlang's syntax. Or say it in words: `select users where $2 > 10 and is_atom($1) return {$1, $2}`, where $1 is element 1 of the object and $_ all of it, and where columns have names, `age` is one of them, and `first name` in backquotes; behind a PATTERN such as {$1, #{age => $2}} they are the pattern's variables. Beside Erlang's operators there are `=`, `!=`, `<=`, `<>`, `age in (1, 2)`, `age between 1 and 9`, `name like \"Bo%\"`, and `not` before these words. With `group by` (or for all objects as one group) `return` takes count(), count(X), sum(X), min(X), max(X) and avg(X), which leave out `undefined`: `select people group by city return {city, count(), avg(age)} sort by count() desc limit 3`. Sorting is in the order of terms. `spec` shows the match specification that was made of it. Ends with the plan and how many objects were visited. Ctrl-C stops it between two slices of a few thousand objects.",
        handler: Query(select::select, Does::Show),
    },
    Verb {
        name: "select_reverse",
        also: &[],
        usage: "select_reverse [TABLE] ...",
        help: "As `select`, from the end of an ordered_set.",
        handler: Query(select::select_reverse, Does::Show),
    },
    Verb {
        name: "select_count",
        also: &[],
        usage: "select_count [TABLE] SPEC | [PATTERN] [where EXPR, ...] [threads N] [spec]",
        help: "How many objects match: those whose value is true. In words there is no `return`: `select_count users where $2 > 10`.",
        handler: Query(select::select_count, Does::Count),
    },
    Verb {
        name: "select_delete",
        also: &[],
        usage: "select_delete [TABLE] SPEC | [PATTERN] [where EXPR, ...] [spec]",
        help: "Delete the objects that match (those whose value is true), and say how many there were.",
        handler: Query(select::select_delete, Does::Delete),
    },
    Verb {
        name: "select_replace",
        also: &[],
        usage: "select_replace [TABLE] SPEC | [PATTERN] [where EXPR, ...] return EXPR [spec]",
        help: "Put values in the places of the objects that match. The key must be provably the same: `select_replace hits {$1, $2} where $2 > 9 return {$1, 0}`, or by the names of columns, for objects that have just these: `select_replace people where age > 80 return {id, name, age + 1, city}`. Objects for which the value cannot be computed stay.",
        handler: Query(select::select_replace, Does::Replace),
    },
    Verb {
        name: "explain",
        also: &[],
        usage: "explain [TABLE] SPEC | [PATTERN] [where EXPR, ...] [return EXPR] | SQL",
        help: "The match specification, how its objects would be found, and about how many would be visited. Visits none. Of SQL also what is looked at behind it, and the lookups of joins.",
        handler: Query(select::explain, Does::Show),
    },
    Verb {
        name: "match",
        also: &[],
        usage: "match [TABLE] PATTERN [limit N]",
        help: "What the variables of a pattern ('$1', '$2' and so on) stand for, in each object that matches.",
        handler: Terms(patterns::match_bindings),
    },
    Verb {
        name: "match_object",
        also: &[],
        usage: "match_object [TABLE] PATTERN [limit N]",
        help: "The objects that match a pattern, such as {'_', '$1', '$1'}.",
        handler: Terms(patterns::match_object),
    },
    Verb {
        name: "match_delete",
        also: &[],
        usage: "match_delete [TABLE] PATTERN",
        help: "Delete the objects that match a pattern.",
        handler: Terms(patterns::match_delete),
    },
    Verb {
        name: "test_ms",
        also: &[],
        usage: "test_ms OBJECT SPEC",
        help: "What a match specification makes of one object, without any table; or what is wrong with it.",
        handler: Terms(patterns::test_ms),
    },
    Verb {
        name: "range",
        also: &[],
        usage: "range [TABLE] [from KEY | above KEY] [to KEY | below KEY] [limit N] [reverse] [keys]",
        help: "The objects of an ordered_set whose keys lie between two bounds, of which `above` and `below` leave the key itself out.",
        handler: Terms(ranges::range),
    },
    Verb {
        name: "prefix",
        also: &[],
        usage: "prefix [TABLE] PREFIX [limit N] [reverse] [keys]",
        help: "The objects of an ordered_set whose keys begin alike: {a, b, '_'} for tuples, [a, b | '_'] for lists, <<\"ab\">> for binaries.",
        handler: Terms(ranges::prefix),
    },
    Verb {
        name: "seek",
        also: &[],
        usage: "seek [TABLE] KEY [reverse]",
        help: "The object of an ordered_set with the lowest key at or above KEY; with `reverse`, the highest at or below.",
        handler: Terms(ranges::seek),
    },
    Verb {
        name: "nth",
        also: &[],
        usage: "nth [TABLE] N",
        help: "The N-th key of an ordered_set, from 0, if its index counts keys: judysl, judyesl.",
        handler: Terms(ranges::nth),
    },
    Verb {
        name: "rank",
        also: &[],
        usage: "rank [TABLE] KEY",
        help: "How many keys are below KEY, which need not be there, if the index counts keys: judysl, judyesl.",
        handler: Terms(ranges::rank),
    },
    Verb {
        name: "count_between",
        also: &[],
        usage: "count_between [TABLE] [from KEY | above KEY] [to KEY | below KEY]",
        help: "How many keys lie between two bounds, if the index counts keys: judysl, judyesl.",
        handler: Terms(ranges::count_between),
    },
    Verb {
        name: "lookup_many",
        also: &[],
        usage: "lookup_many [TABLE] [KEY, ...]",
        help: "The objects with each of several keys, in the order of the keys.",
        handler: Terms(browse::lookup_many),
    },
    Verb {
        name: "lookup_by",
        also: &[],
        usage: "lookup_by [TABLE] NAME VALUE",
        help: "The objects that have VALUE by the secondary index NAME, an option of the table: `new people {secondary, by_city, {element, 3}}`, and then `lookup_by people by_city london`.",
        handler: Terms(browse::lookup_by),
    },
    Verb {
        name: "add_secondary",
        also: &[],
        usage: "add_secondary [TABLE] NAME VALUE",
        help: "Add the secondary index NAME of VALUE to a table with objects: `add_secondary people by_city {element, 3}`, or `{element, city}` where columns have names.",
        handler: Terms(change::add_secondary),
    },
    Verb {
        name: "remove_secondary",
        also: &[],
        usage: "remove_secondary [TABLE] NAME",
        help: "Remove the secondary index NAME.",
        handler: Terms(change::remove_secondary),
    },
    Verb {
        name: "insert",
        also: &["put"],
        usage: "insert [TABLE] OBJECT ...",
        help: "Insert one tuple, a list of tuples, or several; all of them in one atomic step.",
        handler: Terms(change::insert),
    },
    Verb {
        name: "insert_new",
        also: &[],
        usage: "insert_new [TABLE] OBJECT ...",
        help: "Insert only if none of the keys is there yet; false and no change otherwise.",
        handler: Terms(change::insert_new),
    },
    Verb {
        name: "delete",
        also: &[],
        usage: "delete [TABLE] KEY",
        help: "Delete the objects with KEY.",
        handler: Terms(change::delete),
    },
    Verb {
        name: "delete_object",
        also: &[],
        usage: "delete_object [TABLE] OBJECT",
        help: "Delete the objects exactly equal to OBJECT.",
        handler: Terms(change::delete_object),
    },
    Verb {
        name: "delete_all",
        also: &["delete_all_objects"],
        usage: "delete_all TABLE",
        help: "Empty a table in one atomic step.",
        handler: Terms(change::delete_all),
    },
    Verb {
        name: "take",
        also: &[],
        usage: "take [TABLE] KEY",
        help: "Delete the objects with KEY and show them.",
        handler: Terms(change::take),
    },
    Verb {
        name: "take_many",
        also: &[],
        usage: "take_many [TABLE] [KEY, ...]",
        help: "Delete the objects with all of the keys in one step and show them.",
        handler: Terms(change::take_many),
    },
    Verb {
        name: "delete_range",
        also: &[],
        usage: "delete_range [TABLE] [from KEY | above KEY] [to KEY | below KEY]",
        help: "Delete the objects of an ordered_set whose keys lie between two bounds, and say how many there were.",
        handler: Terms(ranges::delete_range),
    },
    Verb {
        name: "take_range",
        also: &[],
        usage: "take_range [TABLE] [from KEY | above KEY] [to KEY | below KEY] [limit N] [reverse] [keys]",
        help: "Take objects out of a range of an ordered_set and show them, at most N (100).",
        handler: Terms(ranges::take_range),
    },
    Verb {
        name: "drain",
        also: &[],
        usage: "drain TABLE",
        help: "Take all objects out of a table and show them, on a screen the first 100.",
        handler: Terms(ranges::drain),
    },
    Verb {
        name: "cas",
        also: &[],
        usage: "cas [TABLE] OLD NEW",
        help: "Replace the object OLD by NEW if the table holds exactly OLD; both have the same key. True or false.",
        handler: Terms(change::cas),
    },
    Verb {
        name: "update_element",
        also: &[],
        usage: "update_element [TABLE] KEY {POS, VALUE}",
        help: "Change elements of the object with KEY; a list of pairs changes several. POS is a number, or the name of a column: `update_element people 7 {age, 32}`, and `{'first name', ...}` where it takes quotes.",
        handler: Terms(change::update_element),
    },
    Verb {
        name: "put_in",
        also: &[],
        usage: "put_in [TABLE] KEY PATH VALUE",
        help: "Put VALUE in the place of a part of the object with KEY. PATH begins with the position of an element, from 1; then come keys of maps and positions: `put_in people 7 [3, tags, 1] admin`. A map need not have the last key.",
        handler: Terms(change::put_in),
    },
    Verb {
        name: "delete_in",
        also: &[],
        usage: "delete_in [TABLE] KEY PATH",
        help: "Take a part of the object with KEY away, a key of a map or an element of a list, and show it. PATH is that of `put_in`.",
        handler: Terms(change::delete_in),
    },
    Verb {
        name: "update_counter",
        also: &[],
        usage: "update_counter [TABLE] KEY INCR [DEFAULT]",
        help: "Add to a counter. INCR is a number, {POS, INCR}, {POS, INCR, THRESHOLD, SETVALUE} or a list of them; POS may be the name of a column. DEFAULT is the object to begin with if there is none.",
        handler: Terms(change::update_counter),
    },
    Verb {
        name: "snapshot",
        also: &[],
        usage: "snapshot NAME TABLE [TABLE ...]",
        help: "Keep tables as they are now, all of them at one moment, for `at`. They may be changed, emptied and dropped meanwhile.",
        handler: Terms(snapshots::take),
    },
    Verb {
        name: "at",
        also: &[],
        usage: "at SNAPSHOT COMMAND ...",
        help: "Run a command that reads a table as it was when the snapshot was taken: `at before select users where $2 > 10`. Tables are those of the snapshot, by their names then. If the command names none it reads the only one; of several, one is to be named. What changes a table is refused.",
        handler: At,
    },
    Verb {
        name: "snapshots",
        also: &[],
        usage: "snapshots",
        help: "List the snapshots: name, age, memory retained, tables. The memory is what is kept for all snapshots of the same tables.",
        handler: Terms(snapshots::list),
    },
    Verb {
        name: "release",
        also: &[],
        usage: "release SNAPSHOT",
        help: "End a snapshot.",
        handler: Terms(snapshots::release),
    },
    Verb {
        name: "begin",
        also: &[],
        usage: "begin TABLE [TABLE ...]",
        help: "Begin a transaction over tables. Until `commit` or `abort`, commands read them as they are now, with what they change, of which nothing has happened yet. Other tables are read and changed as ever. What is about one of these as a whole (drop, rename, delete_all, snapshot) is refused.",
        handler: Terms(transactions::begin),
    },
    Verb {
        name: "commit",
        also: &[],
        usage: "commit",
        help: "Make happen, all at once, what was changed since `begin`, if nothing that was read has changed meanwhile: else say in which table, and under which key if that is known, and nothing happens. Either way the transaction has ended.",
        handler: Terms(transactions::commit),
    },
    Verb {
        name: "abort",
        also: &[],
        usage: "abort",
        help: "End the transaction; nothing of it has happened.",
        handler: Terms(transactions::abort),
    },
    Verb {
        name: "watch",
        also: &["subscribe"],
        usage: "watch [TABLE] [key KEY | pattern PATTERN | from KEY | above KEY] [to KEY | below KEY] [limit N]",
        help: "Tell after each command what it has changed in a table, until `unwatch`, or N changes: {insert, TABLE, New}, {update, TABLE, Old, New} and {delete, TABLE, Old} of objects, {cleared, TABLE, N} and {deleted, TABLE}. Of all objects, of a key, of a range of an ordered_set, or of objects that match before the change or after it. A transaction is told at its commit. Of a command that changes more than 65,536 objects in one go {overflow, TABLE, N} says how many are left out.",
        handler: Terms(watch::watch),
    },
    Verb {
        name: "unwatch",
        also: &["unsubscribe"],
        usage: "unwatch [TABLE]",
        help: "Tell no more what changes in a table.",
        handler: Terms(watch::unwatch),
    },
    Verb {
        name: "mode",
        also: &[".mode"],
        usage: "mode [auto|screen|erl|json|csv|list|table]",
        help: "The form of objects: `auto`, on a screen, shows a table where columns have names and Erlang terms elsewhere, `screen` terms always. The others are one a line: Erlang terms, JSON, CSV, fields with | between, or a table with a header. Without a terminal it is erl, and list for SQL.",
        handler: Words(meta::mode),
    },
    Verb {
        name: "headers",
        also: &[".headers", ".header"],
        usage: "headers on|off",
        help: "Print the names of columns above rows of CSV, of lists and of tables, which have them anyway.",
        handler: Words(meta::headers),
    },
    Verb {
        name: "output",
        also: &[".output"],
        usage: "output [FILE]",
        help: "Write results to FILE from now on, which is emptied, or to standard output again.",
        handler: Words(meta::output),
    },
    Verb {
        name: "read",
        also: &[".read"],
        usage: "read FILE",
        help: "Run the commands of a file. The first error ends it, and names the line.",
        handler: Words(meta::read),
    },
    Verb {
        name: "timing",
        also: &[".timer"],
        usage: "timing [on|off]",
        help: "Say on standard error how long each command takes: wall-clock time, with the output and the pauses between pages.",
        handler: Words(meta::timing),
    },
    Verb {
        name: "help",
        also: &[".help"],
        usage: "help [COMMAND | sql]",
        help: "List the commands, explain one, or say what there is of SQL.",
        handler: Words(help),
    },
    Verb {
        name: "quit",
        also: &["exit", "q", ".quit", ".exit"],
        usage: "quit",
        help: "Leave the shell. At the prompt it asks first if a table has changes that were not saved; a script is warned of them.",
        handler: Words(meta::quit),
    },
];

/// Returns the command of that name.
pub(crate) fn find(name: &str) -> Result<&'static Verb, ShellError> {
    let known = |verb: &&Verb| verb.name == name || verb.also.contains(&name);
    VERBS
        .iter()
        .find(known)
        .ok_or_else(|| ShellError::UnknownVerb(name.to_owned(), suggestion(name)))
}

/// Returns `; did you mean ...?` where a command is one slip of a finger away.
fn suggestion(name: &str) -> String {
    let word = name.to_ascii_lowercase();
    if sql::OTHERS.contains(&word.as_str()) {
        let instead = match word.as_str() {
            "create" => ", and `new TABLE` makes a table",
            "alter" => ", and `rename TABLE NAME` renames one",
            _ => "",
        };
        return format!("; {}{instead}", sql::KNOWN);
    }
    match nearest(name, VERBS.iter().map(|verb| verb.name)) {
        Some(verb) => format!("; did you mean `{verb}`?"),
        None => String::new(),
    }
}

/// Returns whether a word that is no command is SQL, or begins statements of it.
fn is_of_sql(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word == "sql" || word == "delete" || sql::OTHERS.contains(&word.as_str())
}

/// Runs `help [COMMAND | sql]`.
fn help(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    match words {
        [] => help::all(session, VERBS),
        [name] => match find(name) {
            Err(_) if is_of_sql(name) => help::sql(session),
            found => help::one(session, found?),
        },
        _ => Err(Session::usage(
            "one command at a time",
            "help [COMMAND | sql]",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_told_once() {
        let mut names: Vec<&str> = VERBS
            .iter()
            .flat_map(|v| v.also.iter().copied().chain([v.name]))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_slip_gets_a_suggestion() {
        assert_eq!(suggestion("lokup"), "; did you mean `lookup`?");
        assert_eq!(suggestion("frobnicate"), "");
    }
}
