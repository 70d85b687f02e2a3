//! Native records, the kind of term that is new in OTP 29: named values under a definition.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::value::KnownDefinition;
use crate::{Atom, Term, Terms};

/// A native record: `#module:name{field = Value, ...}`.
///
/// It holds as many values as its definition has fields; either is given away by [`NativeRecord::into_parts`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NativeRecord {
    pub(crate) definition: Definition,
    pub(crate) values: Terms,
}

impl NativeRecord {
    /// Makes a record; `None` if there are not as many values as fields.
    ///
    /// ```
    /// use fyris_term::{Atom, Definition, NativeRecord, Term};
    /// let [shop, item, price] = ["shop", "item", "price"].map(Atom::word);
    /// let definition = Definition::new(shop, item, true, &[price]).expect("no field twice");
    /// let record = NativeRecord::new(definition, [Term::Int(7)]).expect("a value for each field");
    /// assert_eq!(Term::from(record).to_string(), "#shop:item{price = 7}");
    /// ```
    pub fn new(definition: Definition, values: impl Into<Terms>) -> Option<NativeRecord> {
        let values = values.into();
        (definition.fields().len() == values.len()).then_some(NativeRecord { definition, values })
    }

    /// Returns what it has in common with the others of its kind.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns the values, in the order of the fields.
    pub fn values(&self) -> &[Term] {
        &self.values
    }

    /// Returns the definition and the values.
    pub fn into_parts(self) -> (Definition, Terms) {
        (self.definition, self.values)
    }
}

impl From<NativeRecord> for Term {
    fn from(record: NativeRecord) -> Term {
        Term::Record(Box::new(record))
    }
}

/// What native records of a kind have in common: module, name, whether the module exports the name, and the names of
/// the fields in the order in which they are declared. Shared: a copy costs a count.
#[derive(Debug, Clone)]
pub struct Definition(Arc<DefinitionData>);

#[derive(Debug)]
struct DefinitionData {
    /// Module, name, `true` or `false`, fields.
    atoms: Box<[Atom]>,
    /// Its number among the definitions that are kept.
    number: Option<u32>,
}

/// The atoms of a definition before its fields.
const HEAD: usize = 3;

impl Definition {
    /// Returns the definition; `None` if a field stands twice. O(fields log fields).
    pub fn new(module: Atom, name: Atom, exported: bool, fields: &[Atom]) -> Option<Definition> {
        let exported = Atom::word(if exported { "true" } else { "false" });
        let mut atoms = Vec::with_capacity(HEAD + fields.len());
        atoms.extend([module, name, exported]);
        atoms.extend(fields);
        Definition::of(&atoms)
    }

    /// Returns the definition of some atoms, as [`Definition::atoms`] gives them.
    pub(crate) fn of(atoms: &[Atom]) -> Option<Definition> {
        if let Some(known) = KnownDefinition::of(atoms)
            && !cfg!(fyris_mutant = "record_names_each")
        {
            return Some(known);
        }
        Definition::with_number(atoms, None)
    }

    /// Makes the definition of a number, or of none.
    pub(crate) fn with_number(atoms: &[Atom], number: Option<u32>) -> Option<Definition> {
        let ([_, _, exported], fields) = atoms.split_first_chunk::<HEAD>()?;
        if !matches!(exported.as_str(), "true" | "false") {
            return None;
        }
        let mut ids: Vec<u32> = fields.iter().map(|field| field.id()).collect();
        ids.sort_unstable();
        let atoms = atoms.into();
        ids.is_sorted_by(|a, b| a < b)
            .then(|| Definition(Arc::new(DefinitionData { atoms, number })))
    }

    /// Returns the module.
    pub fn module(&self) -> Atom {
        self.0.atoms[0]
    }

    /// Returns the name.
    pub fn name(&self) -> Atom {
        self.0.atoms[1]
    }

    /// Returns whether the module exports it.
    pub fn is_exported(&self) -> bool {
        self.0.atoms[2].as_str() == "true"
    }

    /// Returns the names of the fields, in the order in which they are declared.
    pub fn fields(&self) -> &[Atom] {
        &self.0.atoms[HEAD..]
    }

    /// Returns module, name, `true` or `false` for exported or not, and the fields.
    pub(crate) fn atoms(&self) -> &[Atom] {
        &self.0.atoms
    }

    /// Returns its number among the definitions that are kept: always the same one, or none.
    pub(crate) fn number(&self) -> Option<u32> {
        self.0.number
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.atoms == other.0.atoms
    }
}
impl Eq for Definition {}

impl Hash for Definition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.atoms.hash(state);
    }
}
