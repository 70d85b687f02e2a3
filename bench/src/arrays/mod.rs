//! The peers of the suite `array_mix`.

mod one_lock;
mod stm;

use fyris_harness::array_mix::Contender;

/// Returns all of them.
pub fn contenders() -> Vec<Contender> {
    vec![
        Contender::processes::<one_lock::OneLock>("one_lock"),
        Contender::threads("stm", stm::workers),
    ]
}
