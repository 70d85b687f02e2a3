//! Key preservation: the check of `select_replace` that a replacement has the key of the object it replaces.
//!
//! The rules are those of ETS: a specification is accepted only if it provably preserves the key of every object,
//! whatever the guards say. The body of each clause must be one expression, and this must be either
//!
//! - `'$_'`, the object itself; or
//! - a tuple, `{{...}}` or `{const, {...}}`, whose key element is `{element, KeyPos, '$_'}`, or an expression that
//!   rebuilds the pattern of the head's key part by part: the same variable, the same literal, `{const, Literal}`,
//!   tuples and lists of these. `'_'`, maps and calculations are refused.

use std::slice::from_ref;

use fyris_term::Term;

use crate::compile::error::brief;
use crate::syntax::atoms::{is_anything, known, variable};

/// A clause whose body might change the key of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "clause {clause}, body: {found} need not keep the key, element {keypos}, of the object: {why}"
)]
pub struct KeyChanges {
    /// The clause, counted from 1.
    pub clause: usize,
    /// The element that is the key.
    pub keypos: usize,
    /// The body.
    pub found: String,
    /// The rule that the body breaks.
    pub why: &'static str,
}

/// Checks that every body of a specification preserves the key; the error is the first clause whose body might not.
pub(crate) fn check(source: &Term, keypos: usize) -> Result<(), KeyChanges> {
    let clauses = source.as_list().unwrap_or(&[]);
    for (i, clause) in clauses.iter().enumerate() {
        let Some([head, _, body]) = clause.as_tuple() else {
            continue;
        };
        keeps(keypos, head, body).map_err(|why| KeyChanges {
            clause: i + 1,
            keypos,
            found: brief(body),
            why,
        })?;
    }
    Ok(())
}

fn keeps(keypos: usize, head: &Term, body: &Term) -> Result<(), &'static str> {
    let [expression] = body.as_list().unwrap_or(&[]) else {
        return Err("it must be one expression");
    };
    if expression.as_atom() == Some(known().object) {
        return Ok(());
    }
    let pattern = head
        .as_tuple()
        .and_then(|head| head.get(keypos.checked_sub(1)?));
    let pattern = pattern.ok_or("the head has no key to compare with")?;
    let (new, literal) = tuple(expression).ok_or("it must be '$_' or build a tuple")?;
    let new = keypos.checked_sub(1).and_then(|at| new.get(at));
    let new = new.ok_or("the tuple has no key")?;
    if (!literal && is_key_of_object(new, keypos)) || rebuilds(pattern, new, literal) {
        Ok(())
    } else {
        Err("it must be the head's own: the same variable or literal, or {element, KeyPos, '$_'}")
    }
}

/// Returns the elements of the tuple that an expression builds, and whether they are literal terms.
fn tuple(expression: &Term) -> Option<(&[Term], bool)> {
    match expression.as_tuple()? {
        [Term::Tuple(elements)] => Some((elements, false)),
        [Term::Atom(name), Term::Tuple(elements)] if *name == known().r#const => {
            Some((elements, true))
        }
        _ => None,
    }
}

/// Returns whether an expression is `{element, KeyPos, '$_'}`.
fn is_key_of_object(expression: &Term, keypos: usize) -> bool {
    match expression.as_tuple() {
        Some([Term::Atom(name), Term::Int(position), Term::Atom(object)]) => {
            let position = usize::try_from(*position);
            (*name, position, *object) == (known().element, Ok(keypos), known().object)
        }
        _ => false,
    }
}

/// Returns whether the value of the expression, or the expression itself if `literal`, is the term that the pattern
/// matched.
fn rebuilds(pattern: &Term, expression: &Term, literal: bool) -> bool {
    let mut waiting = vec![(pattern, expression, literal)];
    while let Some((pattern, expression, literal)) = waiting.pop() {
        let (expression, literal) = match constant_in(expression) {
            Some(term) if !literal => (term, true),
            _ => (expression, literal),
        };
        let mut all_rebuild = |parts, elements| wait(&mut waiting, parts, elements, literal);
        let rebuilds = match (pattern, expression) {
            (Term::Map(_), _) => false,
            (Term::Atom(_), _) if is_anything(pattern) => false,
            (Term::Atom(_), _) if variable(pattern).is_some() => !literal && pattern == expression,
            (Term::Tuple(parts), Term::Tuple(elements)) => match &elements[..] {
                _ if literal => all_rebuild(parts, elements),
                [Term::Tuple(elements)] => all_rebuild(parts, elements),
                _ => false,
            },
            (Term::List(parts), Term::List(elements)) => all_rebuild(parts, elements),
            (Term::Improper(parts, tail), Term::Improper(elements, end)) => {
                all_rebuild(parts, elements) && all_rebuild(from_ref(tail), from_ref(end))
            }
            // In a pattern, `'$_'` and `'$$'` are ordinary atoms.
            (Term::Atom(atom), _) if *atom == known().object || *atom == known().bindings => {
                literal && pattern == expression
            }
            _ => pattern == expression,
        };
        if !rebuilds {
            return false;
        }
    }
    true
}

/// Adds parts that are to be rebuilt by as many expressions; `false` if the numbers differ.
fn wait<'t>(
    waiting: &mut Vec<(&'t Term, &'t Term, bool)>,
    parts: &'t [Term],
    elements: &'t [Term],
    literal: bool,
) -> bool {
    let pairs = parts.iter().zip(elements);
    waiting.extend(pairs.map(|(part, new)| (part, new, literal)));
    parts.len() == elements.len()
}

/// Returns `T` of `{const, T}`.
fn constant_in(expression: &Term) -> Option<&Term> {
    match expression.as_tuple()? {
        [Term::Atom(name), term] if *name == known().r#const => Some(term),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(spec: &str) -> bool {
        let spec = Term::parse(spec).expect("a term");
        crate::compile::specification(spec.clone()).expect("a specification");
        check(&spec, 1).is_ok()
    }

    /// Every case was tried on OTP 25.
    #[test]
    fn what_ets_accepts_is_accepted() {
        for spec in [
            "[{{'$1','_'},[],[{{'$1',x}}]}]",
            "[{{'$1','_'},[],['$_']}]",
            "[{'_',[],['$_']}]",
            "[{{'$1','_'},[],[{{{element,1,'$_'},x}}]}]",
            "[{{'_','_'},[],[{{{element,1,'$_'},x}}]}]",
            "[{{1,'_'},[],[{{1,x}}]}]",
            "[{{1,'_'},[],[{const,{1,x}}]}]",
            "[{{1,'_'},[],[{{{const,1},x}}]}]",
            "[{{{a,'$1'},'_'},[],[{{{{a,'$1'}},x}}]}]",
            "[{{{a,'$1'},'_'},[],[{{{{{const,a},'$1'}},x}}]}]",
            "[{{[a,'$1'],'_'},[],[{{[a,'$1'],x}}]}]",
            "[{{[a|'$1'],'_'},[],[{{[a|'$1'],x}}]}]",
            "[{{{a,b},'_'},[],[{{{const,{a,b}},x}}]}]",
            "[{{<<1>>,'$2'},[],[{{<<1>>,x}}]}]",
            "[{{[{'$1'}],'_'},[],[{{[{{'$1'}}],x}}]}]",
            "[{{'$1','$2'},[],[{{'$1',{hd,1}}}]}]",
            "[]",
        ] {
            assert!(keeps(spec), "{spec}");
        }
    }

    #[test]
    fn what_ets_refuses_is_refused() {
        for spec in [
            "[{{'$1','$2'},[],[{{'$2',x}}]}]",
            "[{'$1',[],[{{{element,1,'$1'},x}}]}]",
            "[{'$1',[],['$1']}]",
            "[{{1,'_'},[],[{{1.0,x}}]}]",
            "[{{1,'_'},[],[{const,{2,x}}]}]",
            "[{{1,'_'},[],[x]}]",
            "[{{1,'_'},[],[{{}}]}]",
            "[{{#{a=>'$1'},'_'},[],[{{#{a=>'$1'},x}}]}]",
            "[{{#{a=>1},'_'},[],[{const,{#{a=>1},x}}]}]",
            "[{{{a,#{}},'_'},[],[{const,{{a,#{}},x}}]}]",
            "[{{{a,'_'},'_'},[],[{{{{a,'_'}},x}}]}]",
            "[{{{a,'_'},'_'},[],[{const,{{a,'_'},x}}]}]",
            "[{{'$1','_'},[],[{const,{'$1',x}}]}]",
            "[{{'$1','_'},[],[foo,{{'$1',x}}]}]",
            "[{{'$1','$2'},[false],[{{'$2',x}}]}]",
            "[{{{a,'$1'},'_'},[],[{{{{a,{element,2,{element,1,'$_'}}}},x}}]}]",
            "[{'_',[],[{{{element,1,'$_'}}}]}]",
            "[{{'$_','_'},[],[{{'$_',x}}]}]",
        ] {
            assert!(!keeps(spec), "{spec}");
        }
    }
}
