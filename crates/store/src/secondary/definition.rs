//! What a secondary index is of.

use std::sync::Arc;

use fyris_query::MatchSpec;
use fyris_term::key::KeyBuf;
use fyris_term::{Atom, Term};

use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::options::atom;
use crate::query::machine_or_default;
use crate::record::{Object, brief};

/// The most secondary indexes of a table: each has a bit in [`HandedOver`](super::HandedOver).
const MOST: usize = 64;

/// Refuses too many secondary indexes, two of one name, and unique ones of a bag.
pub(crate) fn check(all: &[Arc<Definition>], kind: TableType) -> Result<()> {
    if all.len() > MOST {
        let text = format!("secondary: a table has at most {MOST} secondary indexes");
        return Err(Error::BadOption(text));
    }
    for (at, one) in all.iter().enumerate() {
        if one.unique && kind.is_bag() {
            let (name, kind) = (one.name, kind.as_str());
            let text = format!("{{secondary,{name},{{unique,_}}}}: not of a {kind}");
            return Err(Error::BadOption(text));
        }
        if all[..at].iter().any(|other| other.name == one.name) {
            return Err(Error::RepeatedOption(format!(
                "{{secondary,{},_}}",
                one.name
            )));
        }
    }
    Ok(())
}

/// A secondary index of a table: its name, and the value by which it finds objects. See [`Options::secondary`].
///
/// [`Options::secondary`]: crate::Options::secondary
///
/// ```
/// use fyris::{Options, SecondaryIndex, Store, term};
///
/// let owner = Store::new().owner();
/// let options = Options::set()
///     .secondary(SecondaryIndex::element("by_city", 3))
///     .secondary(SecondaryIndex::new("by_year", term!({:path, [2, :born]})));
/// let people = owner.new_table("people", &options)?;
/// people.insert(&term!({"Ada", #{:born => 1815}, "London"}))?;
/// assert_eq!(people.lookup_by("by_city", &term!("London"))?.len(), 1);
/// assert_eq!(people.lookup_by("by_year", &term!(1815))?.len(), 1);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondaryIndex {
    name: String,
    value: Term,
}

impl SecondaryIndex {
    /// Finds objects by an element, given as its position from 1. Objects with fewer elements are not in it.
    ///
    /// ```
    /// use fyris::{Options, SecondaryIndex, term};
    ///
    /// let by_city = SecondaryIndex::element("by_city", 3);
    /// assert_eq!(by_city, SecondaryIndex::new("by_city", term!({:element, 3})));
    /// let parsed = Options::parse(&term!([{:secondary, :by_city, {:element, 3}}]), |_| None)?;
    /// assert_eq!(parsed, Options::set().secondary(by_city));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn element(name: &str, position: usize) -> SecondaryIndex {
        let position = i64::try_from(position).unwrap_or(0);
        SecondaryIndex::new(
            name,
            Term::tuple(vec![Term::atom("element"), Term::Int(position)]),
        )
    }

    /// Finds objects by what a term says:
    ///
    /// * `{element, Position}`;
    /// * `{path, [Position, Step, ...]}`: what the path leads to, as [`Object::get_in`] follows it, through tuples,
    ///   lists and maps;
    /// * `{body, Expressions}`: the value of the last of the expressions, which are those of a body of a match
    ///   specification: `'$_'` is the object. They may not ask for the process or the node;
    /// * `{unique, Value}`: what one of these says, and [unique](SecondaryIndex::unique).
    ///
    /// An object where the path leads nowhere, or for which an expression fails, is not in the index. What the term
    /// says is checked when a table is made.
    ///
    /// ```
    /// use fyris::{Options, SecondaryIndex, Store, term};
    ///
    /// let owner = Store::new().owner();
    /// let length = SecondaryIndex::new("length", term!({:body, [{:byte_size, {:element, 2, :"$_"}}]}));
    /// let words = owner.new_table("words", &Options::set().secondary(length))?;
    /// words.insert_list(&[term!({1, "oak"}), term!({2, "ash"}), term!({3, "birch"}), term!({4, :none})])?;
    /// assert_eq!(words.lookup_by("length", &term!(3))?.len(), 2);
    /// let wrong = Options::set().secondary(SecondaryIndex::new("x", term!({:element, 0})));
    /// assert!(owner.new_table("wrong", &wrong).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn new(name: &str, value: Term) -> SecondaryIndex {
        SecondaryIndex {
            name: name.to_owned(),
            value,
        }
    }

    /// Keeps the value unique, as `{unique, Value}` does: a write that would give a second key of the table the value
    /// of another fails by [`Error::NotUnique`], and changes nothing. For `set` and `ordered_set`.
    ///
    /// A list, a batch and a transaction are looked at as a whole, when they happen: in them objects may exchange their
    /// values. Values are compared by `=:=`, as [`Table::lookup_by`] does; objects without one do not matter.
    ///
    /// A write that brings a value costs about as much again as without; others cost nothing more. Only writes that
    /// bring the same value wait for each other. [`Table::select_replace`] replaces objects up to the first that is
    /// refused.
    ///
    /// [`Table::lookup_by`]: crate::Table::lookup_by
    /// [`Table::select_replace`]: crate::Table::select_replace
    ///
    /// ```
    /// use fyris::{Error, Options, SecondaryIndex, Store, term};
    ///
    /// let owner = Store::new().owner();
    /// let by_email = SecondaryIndex::element("by_email", 2).unique();
    /// let users = owner.new_table("users", &Options::set().secondary(by_email))?;
    /// assert!(users.insert_new(&term!({1, "ada@example.org"}))?);
    /// let taken = users.insert_new(&term!({2, "ada@example.org"}));
    /// assert!(matches!(taken, Err(Error::NotUnique { index, .. }) if index == "by_email"));
    /// users.insert_list(&[term!({1, "lovelace@example.org"}), term!({2, "ada@example.org"})])?;
    /// assert_eq!(users.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unique(self) -> SecondaryIndex {
        SecondaryIndex {
            value: Term::tuple(vec![Term::atom("unique"), self.value]),
            ..self
        }
    }

    /// Returns the index as tables use it.
    pub(crate) fn definition(&self) -> Result<Definition> {
        let name = atom(&self.name)?;
        let (unique, value) = match self.value.as_tuple() {
            Some([Term::Atom(word), value]) if word.as_str() == "unique" => (true, value),
            _ => (false, &self.value),
        };
        let of = Of::new(value).map_err(|why| {
            let text = format!("{{secondary,{name},{}}}: {why}", brief(&self.value));
            Error::BadOption(text)
        })?;
        Ok(Definition {
            name,
            of,
            value: self.value.clone(),
            unique,
        })
    }
}

/// A secondary index that was checked.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: Atom,
    of: Of,
    /// As it was given.
    pub(crate) value: Term,
    pub(crate) unique: bool,
}

/// The value of an object.
#[derive(Debug)]
enum Of {
    /// An element.
    Element(usize),
    /// What a path leads to.
    Path(Vec<Term>),
    /// That of a specification, which matches where nothing fails.
    Body(MatchSpec),
}

impl Of {
    fn new(value: &Term) -> std::result::Result<Of, String> {
        let forms = "the value is {element,Position}, {path,[Position, Step, ...]} or \
                     {body,Expressions}, or {unique, one of these}";
        match value.as_tuple() {
            Some([Term::Atom(word), Term::Int(position @ 1..)]) if word.as_str() == "element" => {
                Ok(Of::Element(
                    usize::try_from(*position).unwrap_or(usize::MAX),
                ))
            }
            Some([Term::Atom(word), Term::List(path)]) if word.as_str() == "path" => {
                match path.first() {
                    Some(Term::Int(1..)) => Ok(Of::Path(path.to_vec())),
                    _ => Err(forms.to_owned()),
                }
            }
            Some([Term::Atom(word), Term::List(body)]) if word.as_str() == "body" => Of::body(body),
            _ => Err(forms.to_owned()),
        }
    }

    fn body(body: &[Term]) -> std::result::Result<Of, String> {
        if body.is_empty() {
            return Err("the body is empty".to_owned());
        }
        // True, unless it fails: then the guard does.
        let succeeds = |expression: &Term| {
            call(
                "or",
                call("=:=", expression.clone(), Term::Int(0)),
                Term::atom("true"),
            )
        };
        let guards: Vec<Term> = body.iter().map(succeeds).collect();
        let clause = vec![
            Term::atom("_"),
            Term::list(guards),
            Term::list(body.to_vec()),
        ];
        let spec = MatchSpec::of(Term::list(vec![Term::tuple(clause)]));
        let spec = spec.map_err(|error| error.to_string())?;
        match spec.asks_machine() {
            true => Err("it may not ask for the process or the node".to_owned()),
            false => Ok(Of::Body(spec)),
        }
    }
}

fn call(name: &str, left: Term, right: Term) -> Term {
    Term::tuple(vec![Term::atom(name), left, right])
}

/// A definition is itself alone: an index that is removed and added again is another one.
impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Definition {}

impl Definition {
    /// Returns the position, if the value is an element.
    pub(crate) fn position(&self) -> Option<usize> {
        match self.of {
            Of::Element(position) => Some(position),
            _ => None,
        }
    }

    /// Returns whether two objects are known to have the same value: their elements have the same bytes.
    pub(crate) fn is_same_element(&self, one: &Object<'_>, other: &Object<'_>) -> bool {
        let Of::Element(position) = self.of else {
            return false;
        };
        let one = one.plain_element(position);
        one.is_some() && one == other.plain_element(position)
    }

    /// Returns whether an object has a value, which is encoded as a key.
    pub(crate) fn has(&self, object: &Object<'_>, value: &[u8]) -> bool {
        self.value_of(object)
            .is_some_and(|its| its.bytes() == value)
    }

    /// Returns the value of an object, encoded as a key.
    pub(crate) fn value_of(&self, object: &Object<'_>) -> Option<KeyBuf> {
        self.term_of(object).as_ref().map(KeyBuf::encode)
    }

    fn term_of(&self, object: &Object<'_>) -> Option<Term> {
        match &self.of {
            Of::Element(position) => object.element(*position),
            Of::Path(path) => object.get_in(path),
            Of::Body(spec) => spec.run(&object.view(), machine_or_default(&None)),
        }
    }

    /// Returns the error of a write of an object whose value another key has.
    #[cold]
    pub(crate) fn not_unique(&self, object: &Object<'_>) -> Error {
        Error::NotUnique {
            index: self.name.as_str().to_owned(),
            value: Box::new(self.term_of(object).expect("it has a value")),
        }
    }
}
