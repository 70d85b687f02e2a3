//! Commands about snapshots, but for `at`, which is a command around another (`verb`).

use fyris_term::Term;

use crate::shell::error::ShellError;
use crate::shell::screen::display;
use crate::shell::session::Session;

/// Runs `snapshot NAME TABLE [TABLE ...]`.
pub(crate) fn take(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "snapshot NAME TABLE [TABLE ...]";
    if args.len() < 2 {
        return Err(Session::usage("a name and a table are needed", USAGE));
    }
    let name = Session::name(args.remove(0), USAGE)?;
    session.take_snapshot(name.as_str(), &args)?;
    session.display().done(name.as_str())
}

/// Runs `release SNAPSHOT`.
pub(crate) fn release(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "release SNAPSHOT";
    let [name] = session.exactly(args, USAGE)?;
    session.release_snapshot(Session::name(name, USAGE)?.as_str())?;
    session.display().done("true")
}

/// Runs `snapshots`.
pub(crate) fn list(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [] = session.exactly(args, "snapshots")?;
    let (show, snapshots) = (session.display(), session.snapshots());
    if snapshots.is_empty() {
        return show.line("no snapshots: `snapshot NAME TABLE` takes one");
    }
    let width = snapshots.keys().map(String::len).max().unwrap_or(0).max(8);
    show.line(format!(
        "{:width$}  {:>10}  {:>10}  tables",
        "snapshot", "age", "retained"
    ))?;
    for (name, moment) in snapshots {
        let age = format!("{:.1} s", moment.age().as_secs_f64());
        let retained = display::bytes(moment.retained());
        let tables = moment.tables().collect::<Vec<_>>().join(", ");
        show.line(format!(
            "{name:width$}  {age:>10}  {retained:>10}  {tables}"
        ))?;
    }
    Ok(())
}
