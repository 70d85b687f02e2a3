//! Atoms: names interned once for the life of the program.

use std::collections::HashMap;
use std::sync::RwLock;

/// An interned name of at most 255 characters: a small number in this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Atom(u32);

/// Why a name is no atom.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AtomError {
    /// Longer than 255 characters.
    #[error("an atom of {0} characters: at most 255 are allowed")]
    TooLong(usize),
}

/// The most characters in an atom.
pub const MAX_ATOM_CHARS: usize = 255;

#[derive(Default)]
struct Interned {
    by_name: HashMap<&'static str, u32>,
    names: Vec<&'static str>,
}

static TABLE: RwLock<Option<Interned>> = RwLock::new(None);

impl Atom {
    /// Interns `name`.
    pub fn new(name: &str) -> Result<Atom, AtomError> {
        let chars = name.chars().count();
        if chars > MAX_ATOM_CHARS {
            return Err(AtomError::TooLong(chars));
        }
        let mut guard = TABLE.write().unwrap();
        let table = guard.get_or_insert_with(Interned::default);
        if let Some(&id) = table.by_name.get(name) {
            return Ok(Atom(id));
        }
        let name: &'static str = Box::leak(name.into());
        let id = table.names.len() as u32;
        table.names.push(name);
        table.by_name.insert(name, id);
        Ok(Atom(id))
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        TABLE.read().unwrap().as_ref().unwrap().names[self.0 as usize]
    }

    /// The number that stands for the name in this process.
    pub fn id(self) -> u32 {
        self.0
    }

    /// The atom with this number, if one was interned.
    pub fn from_id(id: u32) -> Option<Atom> {
        let guard = TABLE.read().unwrap();
        ((id as usize) < guard.as_ref()?.names.len()).then_some(Atom(id))
    }
}
