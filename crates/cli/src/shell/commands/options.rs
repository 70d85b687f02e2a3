//! The options behind the first words of a command: `WORD VALUE`, and words alone.

use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// Options whose values are lists, which go on with the next word behind a comma.
const LISTS: [&str; 2] = ["as", "columns"];

/// The options that were given, in their order.
#[derive(Debug)]
pub(super) struct Given<'w>(Vec<(&'w str, String)>);

impl<'w> Given<'w> {
    /// Reads options, of which some have a value and the others stand alone.
    pub(super) fn new(
        words: &'w [String],
        with_value: &[&str],
        alone: &[&str],
        usage: &'static str,
    ) -> Result<Given<'w>, ShellError> {
        let mut given = Vec::new();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if alone.contains(&word) {
                given.push((word, String::new()));
                continue;
            }
            let value = words.next().filter(|_| with_value.contains(&word));
            let Some(value) = value else {
                return Err(Session::usage(
                    format!("`{word}` makes no sense here"),
                    usage,
                ));
            };
            let mut value = value.to_owned();
            let goes_on = |value: &str, next: &str| value.ends_with(',') || next.starts_with(',');
            while LISTS.contains(&word)
                && let Some(next) = words.next_if(|next| goes_on(&value, next))
            {
                value.push_str(next);
            }
            given.push((word, value));
        }
        Ok(Given(given))
    }

    /// Returns whether an option was given.
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == word)
    }

    /// Returns the value of an option, the last if it was given several times.
    pub(super) fn get(&self, word: &str) -> Option<&str> {
        self.all(word).last()
    }

    /// Returns all values of an option.
    pub(super) fn all(&self, word: &str) -> impl Iterator<Item = &str> {
        let of = self.0.iter().filter(move |(known, _)| *known == word);
        of.map(|(_, value)| value.as_str())
    }
}

/// Returns a word as a line says it: in quotes if it takes them.
pub(super) fn quoted(word: &str) -> String {
    let special = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
    if !word.is_empty() && !word.contains(special) {
        return word.to_owned();
    }
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_go_on_over_words() {
        let words = "as int, text ,term lossy format csv as people delimiter , header no";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let values = ["as", "format", "delimiter", "header"];
        let given = Given::new(&words, &values, &["lossy"], "").expect("options");
        let all: Vec<&str> = given.all("as").collect();
        assert_eq!(all, ["int,text,term", "people"]);
        assert!(given.has("lossy") && !given.has("columns"));
        assert_eq!(given.get("delimiter"), Some(","));
        assert_eq!(given.get("header"), Some("no"));
        for wrong in ["format", "nonsense x", "lossy x"] {
            let words: Vec<String> = wrong.split(' ').map(str::to_owned).collect();
            assert!(
                Given::new(&words, &values, &["lossy"], "").is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn words_take_quotes() {
        for (word, said) in [
            ("a-b.c", "a-b.c"),
            ("first name", "\"first name\""),
            ("it's \"", "\"it's \\\"\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(word), said);
        }
    }
}
