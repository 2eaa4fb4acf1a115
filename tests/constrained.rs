//! Servers with little memory and many calls: in an address space of 32 MiB, in a control group of 16 MiB, and with as many
//! threads under load as without.
//!
//! The server is the example `bench`, as a child process. `cargo test` builds examples. Before
//! `cargo test --test constrained` alone, build it: `cargo build --all-features --example bench`.
#![cfg(target_os = "linux")]

#[path = "common/example.rs"]
mod example;
#[path = "constrained/group.rs"]
mod group;
#[path = "constrained/load.rs"]
mod load;
#[path = "constrained/process.rs"]
mod process;

use group::Group;
use load::{over_files, over_http, over_stdio};
use process::Process;

const MIB: u64 = 1024 * 1024;

/// What a server may take of the machine, as shell commands before it starts.
fn address_space(bytes: u64) -> String {
    format!("ulimit -v {}", bytes / 1024)
}

#[test]
fn an_address_space_of_32_mib_is_enough_over_stdio() {
    over_stdio(Process::start("stdio", &address_space(32 * MIB)));
}

#[test]
fn an_address_space_of_32_mib_is_enough_over_http() {
    over_http(Process::start("http", &address_space(32 * MIB)));
}

#[test]
fn an_address_space_of_32_mib_is_enough_from_a_file_to_a_file() {
    over_files(&address_space(32 * MIB));
}

#[test]
fn a_control_group_of_16_mib_is_enough_over_stdio() {
    let Some(group) = Group::new("stdio", 16 * MIB) else {
        return;
    };
    over_stdio(Process::start("stdio", &group.enter()));
}

#[test]
fn a_control_group_of_16_mib_is_enough_over_http() {
    let Some(group) = Group::new("http", 16 * MIB) else {
        return;
    };
    over_http(Process::start("http", &group.enter()));
}

// Otherwise the tests above would say nothing.
#[test]
fn an_address_space_of_4_mib_is_not_enough() {
    let mut process = Process::start("stdio", &address_space(4 * MIB));
    assert!(!process.end().success());
}
