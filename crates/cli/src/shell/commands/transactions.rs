//! Commands that begin and end a transaction.

use fyris_term::Term;

use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// Runs `begin TABLE [TABLE ...]`.
pub(crate) fn begin(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    if args.is_empty() {
        return Err(Session::usage(
            "a table is needed",
            "begin TABLE [TABLE ...]",
        ));
    }
    session.begin(&args)?;
    session.display().done("true")
}

/// Runs `commit`.
pub(crate) fn commit(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [] = session.exactly(args, "commit")?;
    session.end_transaction()?.commit()?;
    session.display().done("true")
}

/// Runs `abort`.
pub(crate) fn abort(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [] = session.exactly(args, "abort")?;
    session.end_transaction()?;
    session.display().done("true")
}

#[cfg(test)]
mod tests {
    use fyris::Options;
    use fyris_term::{Atom, term};

    use super::*;

    /// Nobody but the shell writes to its tables, and it does so in the transaction: so another is made up here.
    #[test]
    fn a_conflict_names_table_and_key() {
        let mut session = Session::new();
        let name = Atom::new("users").expect("an atom");
        let options = Options::set().named();
        let live = session.create(name, &options).expect("a table");
        live.insert(&term!({1, "Ann"})).expect("inserts");
        begin(&mut session, vec![term!(:users)]).expect("begins");
        assert_eq!(session.prompt(), "fyris:users*> ");
        let within = session.table(None).expect("the table in use");
        within.take(&term!(1)).expect("takes");
        live.insert(&term!({1, "Bo"})).expect("inserts");
        let error = commit(&mut session, vec![]).expect_err("a conflict");
        assert_eq!(
            error.to_string(),
            "another write to users was faster, key 1: nothing of the transaction has happened"
        );
        assert_eq!(live.lookup(&term!(1)), Ok(vec![term!({1, "Bo"})]));
        assert_eq!(session.prompt(), "fyris:users> ");
        let table = session.table(None).expect("the table in use");
        assert_eq!(table.lookup(&term!(1)), live.lookup(&term!(1)));
    }
}
