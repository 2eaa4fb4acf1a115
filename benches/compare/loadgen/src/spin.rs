//! Keeps the CPUs from halting between wake-ups.
//!
//! In a virtual machine an idle CPU halts and waking it costs tens of
//! microseconds, which then dominate any one-request-at-a-time figure. A spinner
//! of the SCHED_IDLE class on each CPU takes only time nobody wants, and every
//! wake-up finds a running CPU.
use std::process::{Child, Command, Stdio};

use crate::server::usage;
use crate::sys;

pub struct Spinners(Vec<Child>);

impl Spinners {
    pub fn start(cpus: usize) -> std::io::Result<Self> {
        let exe = std::env::current_exe()?;
        let mut v = Vec::new();
        for cpu in 0..cpus {
            let c = Command::new(&exe)
                .args(["--spinner", &cpu.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()?;
            v.push(c);
        }
        Ok(Self(v))
    }

    /// A static is never dropped, so the end of the program says so.
    pub fn stop(&self) {
        for c in &self.0 {
            sys::kill(c.id(), libc::SIGKILL);
        }
    }

    pub fn cpu_ns(&self) -> u64 {
        self.0.iter().map(|c| usage(c.id()).cpu_ns).sum()
    }
}

/// The child: spins until its parent goes.
pub fn run(cpu: usize) -> ! {
    let _ = sys::pin(cpu);
    sys::idle_class();
    // SAFETY: plain system call.
    let parent = unsafe { libc::getppid() };
    loop {
        for _ in 0..1_000_000 {
            std::hint::spin_loop();
        }
        // SAFETY: plain system call.
        if unsafe { libc::getppid() } != parent {
            std::process::exit(0);
        }
    }
}
