//! Match specifications by themselves: compiled, run over lists, tested.

use fyris::{Error, MatchSpec};
use fyris_query::test_ms as test;

use crate::call::{BAD, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::term::Offered;
use crate::{load, term};

/// Terms of a slice.
const SLICE: usize = 500;

/// Implements `match_spec_compile/1`.
pub(super) fn compile(env: Env, args: &[Term]) -> Reply {
    let (spec, offered) = term::offer(|| term::read(env, args[0]));
    let spec = MatchSpec::compile(&spec?).map_err(Error::BadMatchSpec)?;
    let compiled = CompiledSpec {
        spec,
        _offered: offered,
    };
    Ok(load::wrap(env, compiled))
}

/// A match specification, and the resources that it refers to.
pub(crate) struct CompiledSpec {
    spec: MatchSpec,
    _offered: Offered,
}

fn compiled<'t>(env: Env, term: Term) -> Option<&'t MatchSpec> {
    let compiled = load::resource::<CompiledSpec>(env, term);
    compiled.map(|compiled| &compiled.spec)
}

/// Implements `is_compiled_ms/1`.
pub(super) fn is_compiled(env: Env, args: &[Term]) -> Reply {
    Ok(atom::boolean(env, compiled(env, args[0]).is_some()))
}

/// Implements `run_spec(List, Spec, Values)`: returns the values of the first terms in front of `Values`, the last one
/// first; `{Rest, Values}`.
pub(super) fn run(env: Env, args: &[Term]) -> Reply {
    let spec = compiled(env, args[1]).ok_or(BAD)?;
    let machine = super::query::machine(env);
    let (mut elements, mut values) = (env.elements(args[0]), args[2]);
    for element in elements.by_ref().take(SLICE) {
        // Its resources are kept until the value refers to them.
        let (subject, _offered) = term::offer(|| term::read(env, element));
        if let Some(value) = spec.run_term(&subject?, &machine) {
            values = env.make_cell(term::make(env, &value), values);
        }
    }
    env.consume(10);
    let rest = elements.list_left().ok_or(BAD)?;
    Ok(env.make_tuple(&[rest, values]))
}

/// Implements `test_ms/2`.
pub(super) fn test_ms(env: Env, args: &[Term]) -> Reply {
    let read = || (term::read(env, args[0]), term::read(env, args[1]));
    let ((subject, spec), _offered) = term::offer(read);
    let (subject, spec) = (subject?, spec?);
    Ok(match test(&subject, &spec, &super::query::machine(env)) {
        Ok(None) => env.make_tuple(&[atom::ok(env), atom::r#false(env)]),
        Ok(Some(value)) => env.make_tuple(&[atom::ok(env), term::make(env, &value)]),
        Err(error) => {
            let text = |text: &String| {
                let text = env.make_binary(text.as_bytes());
                env.make_tuple(&[atom::error(env), text])
            };
            let texts: Vec<Term> = error.texts().iter().map(text).collect();
            env.make_tuple(&[atom::error(env), env.make_list(&texts)])
        }
    })
}
