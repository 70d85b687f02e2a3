//! The conformance suite for contention adapting trees over sequential ones, bare and behind a pointer as a table has
//! them.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

macro_rules! conforms {
    ($($module:ident $tree:ident $balance:ident)*) => {$(
        mod $module {
            use fyris_classic::$tree;
            use fyris_index::conformance::{Object, ordered_suite, suite};
            use fyris_classic::sequential::{$balance, SearchTree};

            type Tree = $tree<SearchTree<Object, $balance>>;

            suite!(Tree::default());
            ordered_suite!(Tree::default());

            mod plugged {
                use super::{Object, Tree, ordered_suite, suite};
                use fyris_index::plug::{DynOrderedIndex, Features, Plugged};

                fn plugged() -> Plugged<dyn DynOrderedIndex<Object>> {
                    Plugged::new(Box::new(Tree::default()), Features::ALL)
                }

                suite!(plugged());
                ordered_suite!(plugged());
            }
        }
    )*};
}

conforms! {
    ca_avl CaTree Avl
    ca_treap CaTree Treap
    shared_ca_avl SharedCaTree Avl
}
