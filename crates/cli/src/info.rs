//! `fyris info`: what a table made of a dump is like, on the index of its type or on another.
//!
//! One figure a line, its name and its value: the items of `info/1`, then what the index reports
//! (`Table::figures`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fyris::dump::{DumpError, LoadOptions};
use fyris::index::{Figure, Figures};
use fyris::{InfoValue, Options, Owner, Table, TableType, Term};

/// Objects that are put into the table at a time.
const AT_ONCE: usize = 1000;

/// Load a dump into a table and print its size and memory, and the locks, depth or buckets of its index.
///
/// One item a line. The dump is checked as it is read; the exit status is 1 if it cannot be loaded.
#[derive(clap::Args, Debug)]
pub struct InfoArgs {
    /// A dump that ets:tab2file or Fyris wrote
    file: PathBuf,

    /// The structure that holds the table, instead of its type's own: avl, treap, btree, ca_avl, ca_treap,
    /// relaxed_avl, skip_list, linear_hash, split_ordered, michael_hash, judysl, judyesl, judyeh
    #[arg(long, value_name = "NAME")]
    index: Option<String>,

    /// Further options of the table, in Erlang's syntax: [{write_concurrency, true}, {bucket_locks, 256}]
    #[arg(long, value_name = "LIST", default_value = "[]")]
    options: String,
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
enum InfoFailure {
    #[error("{}: {error}", file.display())]
    Dump { file: PathBuf, error: DumpError },
    #[error("--options: {0}")]
    Options(#[from] fyris_term::text::ParseError),
    #[error("--options: {0}: the type is the dump's")]
    Type(Term),
    #[error("{0}")]
    Store(#[from] fyris::Error),
    #[error("output: {0}")]
    Output(#[from] io::Error),
}

/// Runs the command; the exit status is 0, or 1 after an error.
pub fn run(args: &InfoArgs) -> ExitCode {
    let owner = crate::new_store().owner();
    let told = load(args, &owner).and_then(|table| tell(&table, &mut io::stdout().lock()));
    match told {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that had enough (`| head`) is no error.
        Err(InfoFailure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fyris info: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the table of the dump, on the index and with the options that were asked for.
fn load(args: &InfoArgs, owner: &Owner) -> Result<Table, InfoFailure> {
    let given = Term::parse(&args.options)?;
    let loaded = read(&args.file, owner)?;
    if args.index.is_none() && given == Term::list([]) {
        return Ok(loaded);
    }
    let Term::List(mut list) = given else {
        return Err(Options::parse(&given, |_| None)
            .map_or_else(InfoFailure::Store, |_| unreachable!("no list")));
    };
    if let Some(word) = list.iter().find(|option| is_type(option)) {
        return Err(InfoFailure::Type(word.clone()));
    }
    // Last, so that they hold: they are the dump's.
    let keypos = Term::Int(loaded.keypos() as i64);
    list.push(Term::tuple(vec![Term::atom("keypos"), keypos]));
    list.push(Term::atom(loaded.table_type().as_str()));
    let mut options = Options::parse(&Term::List(list), |_| None)?;
    if let Some(index) = &args.index {
        options = options.index(index);
    }
    let name = loaded.info().map_or("table", |info| info.name.as_str());
    let table = owner.new_table(name, &options)?;
    copy(&loaded, &table)?;
    loaded.delete()?;
    Ok(table)
}

/// Returns whether an option is a type of table.
fn is_type(option: &Term) -> bool {
    use TableType::{Bag, DuplicateBag, OrderedSet, Set};
    let types = [Set, OrderedSet, Bag, DuplicateBag].map(TableType::as_str);
    matches!(option, Term::Atom(word) if types.contains(&word.as_str()))
}

fn read(file: &Path, owner: &Owner) -> Result<Table, InfoFailure> {
    let loaded = owner.file2tab(file, &LoadOptions::verified());
    let loaded = loaded.map_err(|error| InfoFailure::Dump {
        file: file.to_owned(),
        error,
    })?;
    Ok(loaded.table)
}

/// Puts the objects of one table into another.
fn copy(from: &Table, to: &Table) -> Result<(), fyris::Error> {
    let mut objects = from.iter();
    loop {
        let some: Vec<Term> = objects.by_ref().take(AT_ONCE).collect::<Result<_, _>>()?;
        if some.is_empty() {
            return Ok(());
        }
        to.insert_list(&some)?;
    }
}

/// Writes the items and the figures, a line each.
fn tell(table: &Table, out: &mut impl Write) -> Result<(), InfoFailure> {
    let (Some(info), Some(figures)) = (table.info(), table.figures()) else {
        return Err(fyris::Error::NoSuchTable(table.reference().into()).into());
    };
    for (name, value) in info.items() {
        // Processes and the table's identity mean nothing outside.
        if let InfoValue::Term(value) = value {
            line(name, &value, out)?;
        }
    }
    line("index", &info.index, out)?;
    tell_figures(&figures, out)?;
    out.flush()?;
    Ok(())
}

fn tell_figures(figures: &Figures, out: &mut impl Write) -> io::Result<()> {
    for (name, figure) in figures.iter() {
        match figure {
            Figure::Word(word) => line(name, &word, out),
            Figure::Count(count) => line(name, &count, out),
            Figure::Real(real) => line(name, &format_args!("{real:.3}"), out),
        }?;
    }
    Ok(())
}

fn line(name: &str, value: &dyn std::fmt::Display, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{name:24}{value}")
}
