//! The cases of the suite `core`.

/// One kind of measurement. The point cases come in the order in which a pass runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Case {
    /// Fill an empty table, in random order, growth included
    Insert,
    /// Look up keys that are there
    Hit,
    /// The same where each lookup waits for the last one's answer: latency, not throughput
    HitDependent,
    /// Look up keys that are not there
    Miss,
    /// Look up keys of the whole range: half are there
    Lookup,
    /// Visit every entry; per entry
    Scan,
    /// From a random key, the next hundred entries; per entry (ordered subjects only)
    Range100,
    /// 99 % lookups, the rest half inserts, half deletes, over the whole range
    Mix99,
    /// 90 % lookups
    Mix90,
    /// 80 % lookups
    Mix80,
    /// 50 % lookups
    Mix50,
    /// All threads add one to the same eight neighbouring keys
    Hot8,
    /// Take out every entry, in random order
    Delete,
    /// Bytes an entry
    Bytes,
    /// Encode a small integer as key bytes
    EncodeInt,
    /// Encode a 20-byte binary as key bytes
    EncodeBin20,
    /// Encode `{atom, integer}` as key bytes
    EncodeAtomInt,
}

impl Case {
    /// The cases of a pass over a table, in order.
    pub const POINTS: [Case; 13] = [
        Case::Insert,
        Case::Hit,
        Case::HitDependent,
        Case::Miss,
        Case::Lookup,
        Case::Scan,
        Case::Range100,
        Case::Mix99,
        Case::Mix90,
        Case::Mix80,
        Case::Mix50,
        Case::Hot8,
        Case::Delete,
    ];

    /// The cases that encode keys.
    pub const ENCODE: [Case; 3] = [Case::EncodeInt, Case::EncodeBin20, Case::EncodeAtomInt];

    /// Returns every case, in the order of the tables.
    pub fn all() -> impl Iterator<Item = Case> {
        Self::POINTS
            .into_iter()
            .chain([Self::Bytes])
            .chain(Self::ENCODE)
    }

    /// Returns the name in the vocabulary.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Hit => "hit",
            Self::HitDependent => "hit_dependent",
            Self::Miss => "miss",
            Self::Lookup => "lookup",
            Self::Scan => "scan",
            Self::Range100 => "range100",
            Self::Mix99 => "mix99",
            Self::Mix90 => "mix90",
            Self::Mix80 => "mix80",
            Self::Mix50 => "mix50",
            Self::Hot8 => "hot8",
            Self::Delete => "delete",
            Self::Bytes => "bytes",
            Self::EncodeInt => "encode_int",
            Self::EncodeBin20 => "encode_bin20",
            Self::EncodeAtomInt => "encode_atom_int",
        }
    }

    /// Returns the share of lookups in a mixed case, in per cent.
    pub fn lookup_share(self) -> Option<u64> {
        match self {
            Self::Mix99 => Some(99),
            Self::Mix90 => Some(90),
            Self::Mix80 => Some(80),
            Self::Mix50 => Some(50),
            _ => None,
        }
    }
}
