//! `term!`: Erlang's syntax inside Rust.

/// Builds a [`Term`](crate::Term) from Erlang-like syntax.
///
/// | Rust | is the term |
/// |---|---|
/// | `:ok`, `:"two words"` | the atom of that name |
/// | `true`, `false` | those atoms |
/// | `'a'` (a character) | its number, as Erlang's `$a` |
/// | `1`, `-1`, `1.5` | that number |
/// | `"text"` | the **binary** `<<"text"/utf8>>`, which is what text mostly is in a term store |
/// | `b"bytes"` | that binary |
/// | `[a, b]`, `[a, b ; tail]` | a list, proper, or with a tail behind `;` (Erlang's `\|`) |
/// | `{a, b}` | a tuple |
/// | `#{k => v, k2 => v2}` | a map |
/// | any other Rust expression: `name`, `n + 1`, `make(n)` | what it converts [`Into`] |
///
/// So a name is a variable of the program, never an atom; where there is no such variable, that is an error of the
/// compiler. An expression that has a comma or `;` outside of brackets (`a::<B, C>()`), or that begins with a bracket
/// of another kind than `(`, stands in parentheses.
///
/// An Erlang string (a list of characters) is [`Term::string`](crate::Term::string) in parentheses.
///
/// ```
/// use fyris_term::{Term, term};
///
/// let age = 36;
/// let user = term!({:user, "Ada", age, [:admin, 'x'; :none], #{:born => 1851 - age, {:x, -1} => 2.5}});
/// let parsed = Term::parse("{user, <<\"Ada\">>, 36, [admin, $x | none], #{born => 1815, {x,-1} => 2.5}}");
/// assert_eq!(user, parsed.unwrap());
/// ```
///
/// # Panics
///
/// If an atom has more than 255 characters, or a float expression is not finite: conversions that can fail are
/// spelled out with `try_into`.
#[macro_export]
macro_rules! term {
    ({}) => { $crate::Term::Tuple($crate::Terms::new()) };
    ([]) => { $crate::Term::List($crate::Terms::new()) };
    (#{}) => { $crate::Term::Map($crate::Map::default()) };
    ({ $($inside:tt)+ }) => { $crate::Term::tuple($crate::__elements!([] [] $($inside)+)) };
    ([ $($inside:tt)+ ]) => { $crate::__list!([] $($inside)+) };
    (#{ $($inside:tt)+ }) => { $crate::__map!([] [] $($inside)+) };
    (($value:expr)) => { $crate::Term::from($value) };
    (: $atom:ident) => { $crate::Term::atom(::std::stringify!($atom)) };
    (: $atom:literal) => { $crate::Term::atom($atom) };
    ($value:expr) => { $crate::Term::from($value) };
}

/// `[done] [tokens of the element at hand] rest`: a vector of the elements between commas.
#[doc(hidden)]
#[macro_export]
macro_rules! __elements {
    ([$($done:expr,)*] []) => { ::std::vec![$($done),*] };
    ([$($done:expr,)*] [$($now:tt)+]) => { ::std::vec![$($done,)* $crate::term!($($now)+)] };
    ([$($done:expr,)*] [$($now:tt)+] , $($rest:tt)*) => {
        $crate::__elements!([$($done,)* $crate::term!($($now)+),] [] $($rest)*)
    };
    ([$($done:expr,)*] [$($now:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__elements!([$($done,)*] [$($now)* $next] $($rest)*)
    };
}

/// `[tokens of the elements] rest`: a list, split at `;` if there is one.
#[doc(hidden)]
#[macro_export]
macro_rules! __list {
    ([$($elements:tt)*]) => { $crate::Term::list($crate::__elements!([] [] $($elements)*)) };
    ([$($elements:tt)+] ; $($tail:tt)+) => {
        $crate::Term::improper($crate::__elements!([] [] $($elements)+), $crate::term!($($tail)+))
    };
    ([$($elements:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__list!([$($elements)* $next] $($rest)*)
    };
}

/// `[done pairs] [tokens of the key] => value tokens, ...`: a map.
#[doc(hidden)]
#[macro_export]
macro_rules! __map {
    ([$($done:expr,)*] []) => { $crate::Term::Map($crate::Map::new(::std::vec![$($done),*])) };
    ([$($done:expr,)*] [$($key:tt)+] => $($rest:tt)+) => {
        $crate::__map_value!([$($done,)*] [$($key)+] [] $($rest)+)
    };
    ([$($done:expr,)*] [$($key:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__map!([$($done,)*] [$($key)* $next] $($rest)*)
    };
}

/// `[done pairs] [key] [tokens of the value] rest`.
#[doc(hidden)]
#[macro_export]
macro_rules! __map_value {
    ([$($done:expr,)*] [$($key:tt)+] [$($value:tt)+]) => {
        $crate::__map!([$($done,)* ($crate::term!($($key)+), $crate::term!($($value)+)),] [])
    };
    ([$($done:expr,)*] [$($key:tt)+] [$($value:tt)+] , $($rest:tt)*) => {
        $crate::__map!([$($done,)* ($crate::term!($($key)+), $crate::term!($($value)+)),] [] $($rest)*)
    };
    ([$($done:expr,)*] [$($key:tt)+] [$($value:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__map_value!([$($done,)*] [$($key)+] [$($value)* $next] $($rest)*)
    };
}

#[cfg(test)]
mod tests {
    use crate::Term;

    #[test]
    fn the_macro_reads_as_erlang_does() {
        let n = 40;
        let cases = [
            (term!(:ok), "ok"),
            (term!(:"two words"), "'two words'"),
            (term!(:type), "type"),
            (term!(true), "true"),
            (term!([]), "[]"),
            (term!({}), "{}"),
            (term!(#{}), "#{}"),
            (term!({ :a }), "{a}"),
            (term!({:a, -1, -1.5,}), "{a,-1,-1.5}"),
            (
                term!({n + 2, Term::atom("a b"), f64::from(n), (n)}),
                "{42,'a b',40.0,40}",
            ),
            (term!([1, [2, {3}] ; [4]]), "[1,[2,{3}],4]"),
            (term!([:a; :b]), "[a|b]"),
            (term!([n; n]), "[40|40]"),
            (term!([{:a, 1}, {:b, 2}]), "[{a,1},{b,2}]"),
            (term!({"é", b"\x00", 'é'}), "{<<\"é\"/utf8>>,<<0>>,233}"),
            (
                term!(#{:a => 1, {:b, 2} => [#{:c => -1}], :a => 2, n => -n}),
                "#{40 => -40,a => 2,{b,2} => [#{c => -1}]}",
            ),
            (
                term!({Term::string("ab"), u64::MAX}),
                "{[97,98],18446744073709551615}",
            ),
        ];
        for (term, text) in cases {
            assert_eq!(term.to_string(), text);
        }
    }

    #[test]
    fn a_name_is_a_variable() {
        let objects: Vec<Term> = (0..3).map(|i| term!({i, "value"})).collect();
        assert_eq!(objects[2], Term::from((2, "value")));
    }
}
