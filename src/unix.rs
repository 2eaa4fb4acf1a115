//! Where one Unix is not like another.

#[cfg(feature = "http")]
use std::os::fd::OwnedFd;

use rustix::net::SendFlags;
#[cfg(feature = "http")]
use rustix::net::SocketFlags;

/// With this, what is sent to a peer that has left fails, and raises no signal.
#[cfg(not(target_vendor = "apple"))]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;

/// Here it is an option of the socket. Without it, the signal is one that programs in Rust ignore.
#[cfg(target_vendor = "apple")]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::empty();

/// What makes accept(2) return sockets that are non-blocking, and not inherited by child processes.
#[cfg(all(feature = "http", not(target_vendor = "apple")))]
pub(crate) const ACCEPT: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// Here accept(2) knows no flags; [`accepted`] comes after it.
#[cfg(all(feature = "http", target_vendor = "apple"))]
pub(crate) const ACCEPT: SocketFlags = SocketFlags::empty();

/// Does for a socket what [`ACCEPT`] has left undone.
#[cfg(all(feature = "http", not(target_vendor = "apple")))]
pub(crate) fn accepted(socket: OwnedFd) -> rustix::io::Result<OwnedFd> {
    Ok(socket)
}

/// Does for a socket what [`ACCEPT`] has left undone.
#[cfg(all(feature = "http", target_vendor = "apple"))]
pub(crate) fn accepted(socket: OwnedFd) -> rustix::io::Result<OwnedFd> {
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    // A peer that has left by now makes it fail; the first read tells that.
    let _ = rustix::net::sockopt::set_socket_nosigpipe(&socket, true);
    Ok(socket)
}
