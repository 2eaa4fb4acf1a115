//! Servers that tell what they have read: ours, hyper and Node.js, each on a port of its own.

pub mod answers;
pub mod hyper;
pub mod node;
pub mod ours;
pub mod random;
pub mod requests;
pub mod seen;
