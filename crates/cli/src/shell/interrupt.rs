//! Ctrl-C stops the command under way, not the shell.
//!
//! A signal handler raises one flag; long commands ask for it between objects. At the prompt the line
//! editor takes Ctrl-C itself, so the flag only ever concerns a running command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::error::ShellError;

static RAISED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Installs the handler; later calls do nothing.
pub(crate) fn install() -> std::io::Result<()> {
    if RAISED.get().is_none() {
        let flag = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&flag))?;
        let _ = RAISED.set(flag);
    }
    Ok(())
}

/// Forgets a Ctrl-C that came before the command about to run.
pub(crate) fn clear() {
    if let Some(flag) = RAISED.get() {
        // Relaxed: a flag between a signal handler and polls; nothing else is published by it.
        flag.store(false, Ordering::Relaxed);
    }
}

/// Returns true once Ctrl-C has been pressed since [`clear`].
pub(crate) fn raised() -> bool {
    // Relaxed: a flag between a signal handler and polls, by which nothing else is published.
    RAISED
        .get()
        .is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Fails once Ctrl-C has been pressed. To be called between the objects of a long command.
pub(crate) fn check() -> Result<(), ShellError> {
    if raised() {
        Err(ShellError::Interrupted)
    } else {
        Ok(())
    }
}
