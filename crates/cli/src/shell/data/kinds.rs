//! What the columns of an export hold that neither CSV nor JSON has a form for, and how `load` gets it back.

use fyris_term::Term;

use crate::shell::screen::format::Format;

/// The kinds of terms that a column holds.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    atoms: bool,
    /// Binaries, which come back as they are unless others are to be read.
    texts: bool,
    /// Terms that are written as Erlang writes them.
    terms: bool,
}

/// The kinds of terms in each column.
#[derive(Debug, Default)]
pub(crate) struct Kinds(Vec<Column>);

impl Kinds {
    /// Takes note of a row.
    pub(crate) fn see(&mut self, elements: &[Term]) {
        if self.0.len() < elements.len() {
            self.0.resize(elements.len(), Column::default());
        }
        for (column, element) in self.0.iter_mut().zip(elements) {
            match element {
                Term::Int(_) | Term::Big(_) | Term::Float(_) => {}
                Term::Atom(name) => {
                    let own = matches!(name.as_str(), "true" | "false" | "undefined");
                    column.atoms |= !own;
                }
                Term::Binary(_) => column.texts = true,
                _ => column.terms = true,
            }
        }
    }

    /// Returns what is to be known before the file is loaded, if anything is.
    pub(crate) fn remark(&self, format: Format, names: &[String]) -> Option<String> {
        // JSON has arrays and objects, which come back as lists and maps.
        let terms = |column: &Column| column.terms && format == Format::Csv;
        let of = |wanted: &dyn Fn(&Column) -> bool| {
            let columns = names.iter().zip(&self.0);
            let names = columns
                .filter(|(_, column)| wanted(column))
                .map(|(name, _)| name.as_str());
            names.collect::<Vec<_>>().join(",")
        };
        let atoms = of(&|column| column.atoms && !column.texts && !terms(column));
        let erlang = of(&|column| terms(column) && !column.texts);
        let mixed = of(&|column| column.texts && (column.atoms || terms(column)));
        let mut said = Vec::new();
        let told = [("atoms", atoms), ("terms", erlang)];
        let told = told.into_iter().filter(|(_, names)| !names.is_empty());
        let options: Vec<String> = told
            .map(|(word, names)| format!("{word} {names}"))
            .collect();
        if !options.is_empty() {
            said.push(format!(
                "to read atoms and terms as such: `load FILE key COLUMN {}`",
                options.join(" ")
            ));
        }
        if !mixed.is_empty() {
            said.push(format!(
                "text beside other terms, which come back as text: {mixed}"
            ));
        }
        (!said.is_empty()).then(|| said.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(format: Format, rows: &str) -> Option<String> {
        let mut kinds = Kinds::default();
        let rows = Term::parse(rows).expect("a term");
        for row in rows.as_list().expect("a list") {
            kinds.see(row.as_tuple().expect("a tuple"));
        }
        kinds.remark(format, &["a", "b", "c"].map(str::to_owned))
    }

    #[test]
    fn what_has_no_form_is_told() {
        let plain = "[{1, <<\"x\">>, true}, {2.5, <<>>, undefined}]";
        assert_eq!(remark(Format::Csv, plain), None);
        let rows = "[{ok, {1}, <<\"x\">>}, {undefined, error, k}]";
        let mixed = "text beside other terms, which come back as text: c";
        let said = |options| {
            Some(format!(
                "to read atoms and terms as such: `load FILE key COLUMN {options}`\n{mixed}"
            ))
        };
        assert_eq!(remark(Format::Csv, rows), said("atoms a terms b"));
        assert_eq!(remark(Format::Json, rows), said("atoms a,b"));
    }
}
