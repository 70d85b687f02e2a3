//! Operations of batches whose arguments are terms, for bindings.

use fyris_term::Term;

use super::{BatchCheck, BatchOp, BatchReply};
use crate::error::{Error, Result};
use crate::ops::{CounterOp, counter_reply, edits_of};
use crate::record::brief;
use crate::table::Table;

/// An operation of a batch as `fyris:write_batch/1` of Erlang has it: a name, arguments that are terms, and a reply
/// that is one. For bindings: elsewhere [`BatchOp`] is at hand.
///
/// | name | arguments | reply |
/// |---|---|---|
/// | `insert` | an object, or a list of them | `true` |
/// | `insert_new` | the same | whether it did |
/// | `delete` | the key | `true` |
/// | `delete_object` | the object | `true` |
/// | `take` | the key | the list of its objects |
/// | `update_counter` | the key, operations as for [`Table::update_counter_term`], perhaps a default | the new value, or the list of them |
/// | `update_element` | the key, edits as for [`Table::update_element_term`], perhaps a default | whether it did |
/// | `check` | the key, and `absent`, an object or a list of them; or the key only, for a snapshot | `true` |
///
/// ```
/// use fyris::{BatchArgs, Options, Store, term};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let table = owner.new_table("t", &Options::set())?;
/// let args = BatchArgs::parse("update_counter", vec![term!(1), term!([{2, 5}]), term!({1, 0})])?;
/// let reply = store.write_batch(&[args.on(&table, None)])?.remove(0);
/// assert_eq!(args.reply(reply), term!([5]));
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Debug)]
pub struct BatchArgs(BatchVerb);

#[derive(Debug)]
enum BatchVerb {
    Insert(Vec<Term>),
    InsertNew(Vec<Term>),
    Delete(Term),
    DeleteObject(Term),
    Take(Term),
    UpdateCounter(Term, (Vec<CounterOp>, bool), Option<Term>),
    UpdateElement(Term, Vec<(usize, Term)>, Option<Term>),
    Check(Term, Vec<Term>),
}

impl BatchArgs {
    /// Reads the arguments behind the table.
    ///
    /// ```
    /// use fyris::{BatchArgs, term};
    ///
    /// assert!(BatchArgs::parse("insert", vec![term!({1, "one"})]).is_ok());
    /// assert!(BatchArgs::parse("insert", vec![term!(1)]).is_err());
    /// assert!(BatchArgs::parse("drain", vec![]).is_err()); // no operation of batches
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for another name, another number of arguments, and arguments of another form;
    /// [`Error::NotATuple`] for what is to be an object.
    pub fn parse(name: &str, args: Vec<Term>) -> Result<BatchArgs> {
        let mut args = args.into_iter();
        let all = (args.next(), args.next(), args.next(), args.next());
        let verb = match (name, all) {
            ("insert", (Some(objects), None, ..)) => BatchVerb::Insert(objects_of(objects)?),
            ("insert_new", (Some(objects), None, ..)) => BatchVerb::InsertNew(objects_of(objects)?),
            ("delete", (Some(key), None, ..)) => BatchVerb::Delete(key),
            ("delete_object", (Some(object), None, ..)) => BatchVerb::DeleteObject(object),
            ("take", (Some(key), None, ..)) => BatchVerb::Take(key),
            ("update_counter", (Some(key), Some(ops), default, None)) => {
                BatchVerb::UpdateCounter(key, CounterOp::parse_all(&ops)?, default)
            }
            ("update_element", (Some(key), Some(edits), default, None)) => {
                BatchVerb::UpdateElement(key, edits_of(&edits)?, default)
            }
            ("check", (Some(key), expected, None, _)) => {
                let objects = match expected {
                    Some(Term::Atom(word)) if word.as_str() == "absent" => Vec::new(),
                    Some(objects) => objects_of(objects)?,
                    None => Vec::new(),
                };
                BatchVerb::Check(key, objects)
            }
            _ => {
                let what = "no operation of a batch, or not its arguments";
                return Err(Error::BadArgument(format!("{name}: {what}")));
            }
        };
        Ok(BatchArgs(verb))
    }

    /// Returns the operation on a table; with a snapshot the check whether the key holds what it held there.
    ///
    /// ```
    /// # use fyris::{BatchArgs, BatchOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let args = BatchArgs::parse("delete", vec![term!(1)])?;
    /// assert!(matches!(args.on(&table, None), BatchOp::Delete(..)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn on<'a>(&'a self, table: &'a Table, snapshot: Option<&'a Table>) -> BatchOp<'a> {
        match &self.0 {
            BatchVerb::Insert(objects) => BatchOp::Insert(table, objects),
            BatchVerb::InsertNew(objects) => BatchOp::InsertNew(table, objects),
            BatchVerb::Delete(key) => BatchOp::Delete(table, key),
            BatchVerb::DeleteObject(object) => BatchOp::DeleteObject(table, object),
            BatchVerb::Take(key) => BatchOp::Take(table, key),
            BatchVerb::UpdateCounter(key, (ops, _), default) => {
                BatchOp::UpdateCounter(table, key, ops, default.as_ref())
            }
            BatchVerb::UpdateElement(key, edits, default) => {
                BatchOp::UpdateElement(table, key, edits, default.as_ref())
            }
            BatchVerb::Check(key, objects) => {
                let objects = BatchCheck::Objects(objects);
                let expected = snapshot.map_or(objects, BatchCheck::Unchanged);
                BatchOp::Check(table, key, expected)
            }
        }
    }

    /// Returns the reply as a term.
    ///
    /// ```
    /// use fyris::{BatchArgs, BatchReply, term};
    ///
    /// let args = BatchArgs::parse("insert_new", vec![term!({1})])?;
    /// assert_eq!(args.reply(BatchReply::Whether(false)), term!(false));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn reply(&self, reply: BatchReply) -> Term {
        match (&self.0, reply) {
            (BatchVerb::UpdateCounter(_, (_, is_list), _), BatchReply::Counted(values)) => {
                counter_reply(values, *is_list)
            }
            (_, BatchReply::Counted(values) | BatchReply::Taken(values)) => Term::list(values),
            (_, BatchReply::Whether(did)) => Term::from(did),
            (_, BatchReply::Done) => Term::from(true),
        }
    }

    /// Returns the number of objects that it inserts, or one key.
    ///
    /// ```
    /// # use fyris::{BatchArgs, term};
    /// assert_eq!(BatchArgs::parse("insert", vec![term!([{1}, {2}])])?.keys(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn keys(&self) -> usize {
        match &self.0 {
            BatchVerb::Insert(objects)
            | BatchVerb::InsertNew(objects)
            | BatchVerb::Check(_, objects) => objects.len(),
            _ => 1,
        }
    }
}

/// Reads an object or a list of them.
fn objects_of(objects: Term) -> Result<Vec<Term>> {
    match objects {
        Term::List(objects) => Ok(objects.into_vec()),
        Term::Tuple(_) => Ok(vec![objects]),
        other => Err(Error::NotATuple(brief(&other))),
    }
}
