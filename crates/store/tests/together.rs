//! The programs of `examples/together.rs` run, and keep what they promise.

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/together.rs"]
mod programs;

#[test]
fn a_bank_keeps_its_sum() -> fyris::Result<()> {
    programs::bank()
}

#[test]
fn nobody_reserves_two_seats() -> fyris::Result<()> {
    programs::reservations()
}

#[test]
fn each_job_is_done_once() -> fyris::Result<()> {
    programs::job_queue()
}

#[test]
fn counts_are_in_step() -> fyris::Result<()> {
    programs::counts()
}
