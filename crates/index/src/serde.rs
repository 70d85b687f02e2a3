//! Maps and trees as maps of `serde` (feature `serde`).
//!
//! A map is written as [`iter`](crate::ConcurrentMap::pin) meets its pairs: those that are there throughout once,
//! others perhaps. A format whose keys are text, such as JSON, takes maps with keys that it can write as text, and
//! refuses those of byte strings.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use fyris_sync::reclaim::pin;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::inline::{InlineMap, Word};
use crate::map::{self, Map, MapStorage};
use crate::ordered::TreeKey;
use crate::tree::{self, Storage, TreeMap};

impl<K, V, S, H> Serialize for Map<K, V, S, H>
where
    K: Hash + Eq + Serialize + ?Sized,
    V: Serialize,
    S: MapStorage<K, V>,
    H: BuildHasher,
{
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let pin = pin();
        // Without a length: pairs may come and go meanwhile.
        let mut out = serializer.serialize_map(None)?;
        for (key, value) in self.iter(&pin) {
            out.serialize_entry(key, value)?;
        }
        out.end()
    }
}

impl<K, V, S> Serialize for TreeMap<K, V, S>
where
    K: TreeKey + Serialize + ?Sized,
    V: Serialize,
    S: Storage<K, V>,
{
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let pin = pin();
        let mut out = serializer.serialize_map(None)?;
        for (key, value) in self.iter(&pin) {
            out.serialize_entry(Borrow::<K>::borrow(&key), value)?;
        }
        out.end()
    }
}

impl<'de, K, V, S, H> Deserialize<'de> for Map<K, V, S, H>
where
    K: Hash + Eq + ToOwned<Owned: Deserialize<'de>> + ?Sized,
    V: Deserialize<'de>,
    S: map::MakeEntry<K::Owned, K, V>,
    H: BuildHasher + Default,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor::<K::Owned, V, Self>(PhantomData))
    }
}

impl<'de, K, V, S> Deserialize<'de> for TreeMap<K, V, S>
where
    K: TreeKey + ToOwned<Owned: Deserialize<'de>> + ?Sized,
    V: Deserialize<'de>,
    S: tree::MakeItem<K::Owned, K, V>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor::<K::Owned, V, Self>(PhantomData))
    }
}

impl<K, V, H> Serialize for InlineMap<K, V, H>
where
    K: Word + Hash + Serialize,
    V: Word + Serialize,
    H: BuildHasher,
{
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let mut out = serializer.serialize_map(None)?;
        for (key, value) in self {
            out.serialize_entry(&key, &value)?;
        }
        out.end()
    }
}

impl<'de, K, V, H> Deserialize<'de> for InlineMap<K, V, H>
where
    K: Word + Hash + Deserialize<'de>,
    V: Word + Deserialize<'de>,
    H: BuildHasher + Default,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor::<K, V, Self>(PhantomData))
    }
}

/// The types of the pairs.
type Of<K, V, M> = PhantomData<fn() -> (K, V, M)>;

/// Reads the pairs of a map one by one.
struct PairsVisitor<K, V, M>(Of<K, V, M>);

impl<'de, K, V, M> Visitor<'de> for PairsVisitor<K, V, M>
where
    K: Deserialize<'de>,
    V: Deserialize<'de>,
    M: Default + Extend<(K, V)>,
{
    type Value = M;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<M, A::Error> {
        let mut map = M::default();
        while let Some(pair) = pairs.next_entry::<K, V>()? {
            map.extend([pair]);
        }
        Ok(map)
    }
}
