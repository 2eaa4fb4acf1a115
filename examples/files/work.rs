//! Work that blocks.

use smol_mcp::{HandlerError, Signal};

/// Runs work on a thread that may block, until it ends or the signal fires.
///
/// The caller is told at once when the signal fires. The thread is not interrupted: the work looks at the signal, too, and
/// gives up soon after.
pub(crate) async fn blocking<T: Send + 'static>(
    signal: &Signal,
    work: impl FnOnce(&Signal) -> Result<T, HandlerError> + Send + 'static,
) -> Result<T, HandlerError> {
    let watched = signal.clone();
    signal.run(smol::unblock(move || work(&watched))).await?
}
