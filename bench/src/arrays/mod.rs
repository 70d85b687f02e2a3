//! The peers of the suite `array_mix`.

mod one_lock;
mod stm;

use fyris_harness::array_mix::ArrayContender;

/// Returns all of them.
pub fn contenders() -> Vec<ArrayContender> {
    vec![
        ArrayContender::processes::<one_lock::OneLock>("one_lock"),
        ArrayContender::threads("stm", stm::workers),
    ]
}
