//! The options of tables, and the objects in them.

use fyris::{BucketLocks, Options, WriteConcurrency};
use fyris_term::Term;

/// Options that an index with locks makes something of.
#[derive(Clone, Copy, Debug)]
pub(super) struct OptionSet {
    /// The name on the command line, as in Table 1 of the 2013 paper.
    pub(super) name: &'static str,
    read: bool,
    write: WriteConcurrency,
    locks: Option<usize>,
    groups: Option<usize>,
}

const NONE: OptionSet = OptionSet {
    name: "no",
    read: false,
    write: WriteConcurrency::Off,
    locks: None,
    groups: None,
};

const BOTH: OptionSet = OptionSet {
    name: "r+w",
    read: true,
    write: WriteConcurrency::On,
    ..NONE
};

macro_rules! counts {
    ($field:ident: $($count:literal)*) => {
        [$(OptionSet { name: concat!(stringify!($field), "=", $count), $field: Some($count), ..BOTH }),*]
    };
}

/// Those of Table 1, and the one that came later.
pub(super) const TABLE_1: [OptionSet; 5] = [
    NONE,
    OptionSet {
        name: "r",
        read: true,
        ..NONE
    },
    OptionSet {
        name: "w",
        write: WriteConcurrency::On,
        ..NONE
    },
    BOTH,
    OptionSet {
        name: "auto",
        read: true,
        write: WriteConcurrency::Auto,
        ..NONE
    },
];

/// With both options of Table 1: numbers of bucket locks (section 6.1), and of reader groups (section 5.2.2).
const LOCKS: [OptionSet; 6] = counts!(locks: 1 4 16 64 256 1024);
const GROUPS: [OptionSet; 7] = counts!(groups: 1 2 4 8 16 32 64);

/// Returns every set of options.
pub(super) fn all() -> impl Iterator<Item = OptionSet> {
    TABLE_1.into_iter().chain(LOCKS).chain(GROUPS)
}

/// What an index makes of options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses {
    pub(super) bucket_locks: bool,
    pub(super) reader_groups: bool,
}

impl OptionSet {
    /// Returns true if a table on such an index differs from one with less options.
    pub(super) fn matters_to(&self, uses: Uses) -> bool {
        let writes = self.write != WriteConcurrency::Off && self.groups.is_none();
        let reads = self.read || self.groups.is_some();
        if self.locks.is_some() || writes {
            return uses.bucket_locks;
        }
        uses.reader_groups || !reads
    }

    /// Adds them to options.
    pub(super) fn add_to(&self, options: Options) -> Options {
        let mut options = options
            .read_concurrency(self.read)
            .write_concurrency(self.write);
        if let Some(locks) = self.locks {
            options = options.bucket_locks(BucketLocks::Fixed(locks));
        }
        if let Some(groups) = self.groups {
            options = options.reader_groups(groups);
        }
        options
    }
}

/// What is stored for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredObject {
    Key,
    Pair,
    Large,
}

/// Integers of a large object beside its key.
const LARGE: u64 = 32;

impl StoredObject {
    pub(super) const ALL: [Self; 3] = [Self::Key, Self::Pair, Self::Large];

    /// Returns the name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Pair => "pair",
            Self::Large => "large",
        }
    }

    /// Returns the form, for lines.
    pub(super) fn form(self) -> &'static str {
        match self {
            Self::Key => "{K}",
            Self::Pair => "{K, V}",
            Self::Large => "{K, 32 integers}",
        }
    }

    /// Returns the object of a key.
    pub(super) fn make(self, key: u64, value: u64) -> Term {
        let values = match self {
            Self::Key => 0,
            Self::Pair => 1,
            Self::Large => LARGE,
        };
        let ints = std::iter::once(key).chain((0..values).map(|at| value + at));
        Term::tuple(ints.map(|int| Term::Int(int as i64)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bucket_locks: bool, reader_groups: bool) -> Vec<&'static str> {
        let uses = Uses {
            bucket_locks,
            reader_groups,
        };
        let matter = all().filter(|set| set.matters_to(uses));
        matter.map(|set| set.name).collect()
    }

    #[test]
    fn an_index_takes_part_with_what_it_has_use_for() {
        assert_eq!(names(true, true).len(), 5 + 6 + 7);
        assert_eq!(names(false, false), ["no"]);
        let groups = ["no", "r", "groups=1", "groups=2", "groups=4"];
        assert_eq!(names(false, true)[..5], groups);
    }
}
