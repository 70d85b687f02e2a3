//! The peers, under the names they go by in the tables.
//!
//! Each is used as its documentation recommends where speed matters, one operation a call, with
//! its own pin or lock per operation. Hash tables all hash with foldhash (hashbrown's
//! default, seeded at random), so that the tables are compared and not the hash functions.

mod btree;
mod congee;
mod dash;
mod fern;
mod hashbrown;
mod hasher;
#[cfg(libjudy)]
mod judy;
mod key;
mod masstree;
mod papaya;
mod scc_hash;
mod scc_tree;
mod skiplist;

use fyris_harness::{Contender, Registry};

use key::PeerKey;

/// Returns Fyris's own subjects and all peers.
pub fn registry() -> Registry {
    let mut registry = Registry::own("fyris-compare");
    registry.u64.extend(general());
    registry
        .u64
        .push(Contender::peer::<congee::Congee>("congee"));
    #[cfg(libjudy)]
    registry
        .u64
        .push(Contender::peer::<judy::Judy>("libJudy JudyL"));
    registry.bytes20.extend(general());
    registry.array_mix.extend(crate::arrays::contenders());
    registry
}

/// Returns the peers that take any key.
fn general<K: PeerKey>() -> Vec<Contender<K>> {
    vec![
        Contender::peer::<papaya::Papaya<K>>("papaya"),
        Contender::peer::<dash::Dash<K>>("dashmap"),
        Contender::peer::<scc_hash::SccHash<K>>("scc::HashMap"),
        Contender::peer::<hashbrown::Hashbrown<K>>("RwLock<hashbrown>"),
        Contender::peer::<btree::BTree<K>>("RwLock<BTreeMap>"),
        Contender::peer::<masstree::Masstree>("masstree"),
        Contender::peer::<scc_tree::SccTree<K>>("scc::TreeIndex"),
        Contender::peer::<skiplist::Skiplist<K>>("crossbeam-skiplist"),
        Contender::peer::<fern::Fern<K>>("ferntree"),
    ]
}
