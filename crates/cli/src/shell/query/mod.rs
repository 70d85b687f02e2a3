//! Queries as they are typed: a match specification, or a shorthand that is made into one.
//!
//! ```text
//! request    = [table] (specification | shorthand) {"limit" N | "threads" N | "spec"}, as far as the command can
//! shorthand  = [pattern] ["where" expression {"," expression}] ["return" expression]
//!              ["group" "by" expression {"," expression}]
//!              ["sort" "by" expression ["asc" | "desc"] {"," expression ["asc" | "desc"]}]
//! pattern    = a tuple of terms, `_`, `$1` ... `$N`, and tuples, lists and maps of these
//! expression = what Erlang allows in a guard: operators, calls of guard functions, terms
//! ```
//!
//! | in an expression | is | in the specification |
//! |---|---|---|
//! | `$1`, without a pattern | element 1 of the object, counted from 1 as `element/2` does | `{element,1,'$_'}` |
//! | `$1`, behind a pattern | what the pattern binds | `'$1'` |
//! | `age`, a column of the table's file | the element of that name | `{element,3,'$_'}` |
//! | `` `first name` ``, a column whose name is no word | the same | `{element,1,'$_'}` |
//! | `'age'`, or a word that is no column | the atom | `age` |
//! | `$_` | the whole object, which is what `return` means if it is left out | `'$_'` |
//! | `$$` | all that the pattern binds | `'$$'` |
//! | `{a, $1}` | a tuple | `{{a,'$1'}}` |
//! | `is_atom($1)`, `$1 + 1` | a call | `{is_atom,'$1'}`, `{'+','$1',1}` |
//! | `=`, `!=`, `<>`, `<=` | as in SQL | `==`, `/=`, `/=`, `=<` |
//! | `age in (1, 2)`, `not in` | one of the values, or none | `{'orelse',{'==',...},{'==',...}}` |
//! | `age between 1 and 9` | both bounds are in it | `{'andalso',{'>=',...},{'=<',...}}` |
//! | `name like "Bo%"` | as in SQL, with one `%` at most (`worded`) | `{'andalso',{is_binary,...},...}` |
//! | `count()`, `sum(age)` in `return` and `sort by` | an aggregate | its argument; `shape` says the rest |
//!
//! Operators bind as in Erlang, but for `and`, `or` and `xor`, which here hold less tightly than comparisons (in Erlang
//! `$1 > 10 and $2` compares `$1` with `10 and $2`). And `$1` here is no character; any other character is written as
//! in Erlang (`$a`). Backquotes begin nothing in Erlang's notation, where `"first name"` is a list of characters: so
//! text and names of columns do not collide. Native records and binaries stand for themselves: `$1` inside of one is an
//! error.
//!
//! Nothing here knows a table: the specification is checked where it runs.

mod expression;
mod request;
mod scan;
mod shape;
mod worded;

#[cfg(test)]
mod tests;

pub(crate) use request::{Does, Request, parse, words};
pub(crate) use shape::{Aggregation, Groups, Shape};
