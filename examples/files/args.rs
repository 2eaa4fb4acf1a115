//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const USAGE: &str = "\
usage: files [DIR] [--listen ADDR] [--stdio]

  DIR            the directory to serve (default: .)
  --listen ADDR  where to listen for HTTP (default: 127.0.0.1:8080; port 0: any that is free)
  --stdio        serve standard input and output instead, for a client that starts the server";

pub(crate) struct Args {
    pub(crate) dir: PathBuf,
    pub(crate) transport: Transport,
}

pub(crate) enum Transport {
    Stdio,
    /// The address to listen on.
    Http(String),
}

impl Args {
    /// Reads the arguments; `None` if they ask for help.
    pub(crate) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let (mut dir, mut listen, mut stdio) = (None, None, false);
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--help" | "-h") => return Ok(None),
                Some("--stdio") => stdio = true,
                Some("--listen") => {
                    let address = args.next().and_then(|address| address.into_string().ok());
                    listen =
                        Some(address.ok_or("--listen needs an address, such as 127.0.0.1:8080")?);
                }
                Some(flag) if flag.starts_with('-') => {
                    return Err(format!("unknown flag {flag:?} (--help lists the flags)"));
                }
                _ if dir.is_some() => {
                    return Err(format!(
                        "only one directory can be served; {arg:?} is a second one"
                    ));
                }
                _ => dir = Some(PathBuf::from(arg)),
            }
        }
        let transport = match (stdio, listen) {
            (true, Some(_)) => return Err("--stdio and --listen exclude each other".to_owned()),
            (true, None) => Transport::Stdio,
            (false, listen) => Transport::Http(listen.unwrap_or("127.0.0.1:8080".to_owned())),
        };
        let dir = dir.unwrap_or(".".into());
        Ok(Some(Self { dir, transport }))
    }
}
