//! The conformance suite for the trees under one lock, bare and behind a pointer as a table has them.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

macro_rules! conforms {
    ($($module:ident $balance:ident)*) => {$(
        mod $module {
            use fyris_classic::Locked;
            use fyris_index::conformance::{Object, ordered_suite, suite};
            use fyris_classic::sequential::{$balance, SearchTree};

            type Tree = Locked<SearchTree<Object, $balance>>;

            suite!(Tree::default());
            ordered_suite!(Tree::default());

            mod reader_groups {
                use super::{Tree, ordered_suite, suite};
                use fyris_index::{Build, IndexOptions};

                fn with_reader_groups() -> Tree {
                    let mut options = IndexOptions::default();
                    options.read_concurrency = true;
                    options.reader_groups = Some(3);
                    Tree::build(&options)
                }

                suite!(with_reader_groups());
                ordered_suite!(with_reader_groups());
            }

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
    avl Avl
    treap Treap
}
