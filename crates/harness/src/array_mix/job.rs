//! The job of one run: known to the parent, and told to its children.

use std::time::Duration;

use super::case::ArrayCase;
use crate::error::BenchError;
use crate::process;

/// One run of one subject.
#[derive(Clone, Debug)]
pub(super) struct ArrayJob {
    pub(super) subject: String,
    pub(super) case: ArrayCase,
    /// The number of workers.
    pub(super) workers: usize,
    /// The number of this process among them; 0 is the parent.
    pub(super) worker: usize,
    /// The length of the timed part.
    pub(super) time: Duration,
    /// The name under which they share the array.
    pub(super) name: String,
    /// The number of the run: another run draws other numbers.
    pub(super) run: usize,
}

impl ArrayJob {
    /// Returns the parent's part of one run.
    pub(super) fn new(
        subject: &str,
        case: &ArrayCase,
        workers: usize,
        time: Duration,
        run: usize,
    ) -> Self {
        Self {
            subject: subject.to_owned(),
            case: *case,
            workers,
            worker: 0,
            time,
            name: format!("fyris-harness-{}-{subject}-{run}", std::process::id()),
            run,
        }
    }

    /// Returns another worker's part.
    pub(super) fn of_worker(&self, worker: usize) -> Self {
        Self {
            worker,
            ..self.clone()
        }
    }

    /// Returns it as text, for a child.
    pub(super) fn text(&self) -> String {
        format!(
            "{} {} {} {} {} {} {}",
            self.subject,
            self.case.name,
            self.workers,
            self.worker,
            self.time.as_millis(),
            self.name,
            self.run
        )
    }

    /// Reads it from text.
    pub(super) fn parse(text: &str) -> Result<Self, BenchError> {
        let mut words = text.split(' ');
        let words = &mut words;
        let (subject, case): (String, String) = (process::word(words)?, process::word(words)?);
        Ok(Self {
            subject,
            case: ArrayCase::named(&case)
                .ok_or_else(|| BenchError::NothingToRun(format!("no case `{case}`")))?,
            workers: process::word(words)?,
            worker: process::word(words)?,
            time: Duration::from_millis(process::word(words)?),
            name: process::word(words)?,
            run: process::word(words)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_hears_what_its_parent_says() {
        let job = ArrayJob {
            subject: "fyris".to_owned(),
            case: ArrayCase::named("49:50:1/2M").expect("a case"),
            workers: 2,
            worker: 1,
            time: Duration::from_millis(150),
            name: "fyris-harness-1".to_owned(),
            run: 3,
        };
        let heard = ArrayJob::parse(&job.text()).expect("its own text");
        assert_eq!(format!("{job:?}"), format!("{heard:?}"));
        assert!(ArrayJob::parse("fyris 49:50:1/2M 2").is_err());
        assert!(ArrayJob::parse("fyris 49:50:1/3M 2 1 150 n 0").is_err());
    }
}
