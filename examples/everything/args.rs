//! The command line.

use std::ffi::OsString;

pub(crate) const USAGE: &str = "\
usage: everything [--plain] [--listen ADDR] [--stdio]

  --plain        serve HTTP without tide
  --listen ADDR  where to listen for HTTP (default: 127.0.0.1:8080; port 0: any that is free)
  --stdio        serve standard input and output instead, for a client that starts the server";

pub(crate) struct Args {
    pub(crate) transport: Transport,
}

pub(crate) enum Transport {
    Stdio,
    /// The address to listen on.
    Http(Mount, String),
}

#[derive(Clone, Copy)]
pub(crate) enum Mount {
    /// A route of a tide app.
    Tide,
    /// The endpoint by itself.
    Plain,
}

impl Args {
    /// Reads the arguments; `None` if they ask for help.
    pub(crate) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let (mut mount, mut listen, mut stdio) = (None, None, false);
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--help" | "-h") => return Ok(None),
                Some("--stdio") => stdio = true,
                Some("--plain") => mount = Some(Mount::Plain),
                Some("--listen") => {
                    let address = args.next().and_then(|address| address.into_string().ok());
                    listen =
                        Some(address.ok_or("--listen needs an address, such as 127.0.0.1:8080")?);
                }
                _ => {
                    return Err(format!(
                        "unknown argument {arg:?} (--help lists the arguments)"
                    ));
                }
            }
        }
        let transport = match (stdio, mount, listen) {
            (true, None, None) => Transport::Stdio,
            (true, ..) => return Err("--stdio excludes --listen and --plain".to_owned()),
            (false, mount, listen) => Transport::Http(
                mount.unwrap_or(Mount::Tide),
                listen.unwrap_or("127.0.0.1:8080".to_owned()),
            ),
        };
        Ok(Some(Self { transport }))
    }
}
