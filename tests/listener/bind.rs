//! What is said of an address that cannot be listened on.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::{env, fs, process};

use smol_mcp::http::{Listener, serve};
use smol_mcp::{NoInput, Server, Tool};

/// What the operating system said.
fn source(err: &io::Error) -> &io::Error {
    let source = err.source().expect("a source");
    source.downcast_ref().expect("an error of the system")
}

#[test]
fn an_address_that_is_taken_is_named_and_the_error_keeps_its_kind_and_number() {
    let taken = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let address = taken.local_addr().unwrap();
    let server = Server::builder("clock", "1.0.0")
        .tool(Tool::new("now", async |_: NoInput| "noon"))
        .build()
        .unwrap();
    let err = smol::block_on(serve(&server, address)).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::AddrInUse);
    let expected = format!("cannot listen on {address}: {}", source(&err));
    assert_eq!(err.to_string(), expected);
    assert!(source(&err).raw_os_error().is_some());
    let text = address.to_string();
    let err = smol::block_on(Listener::bind(&*text)).unwrap_err();
    let expected = format!("cannot listen on {text:?}: {}", source(&err));
    assert_eq!(err.to_string(), expected);
}

#[test]
fn an_address_that_is_none_is_named() {
    for (address, why) in [
        ("localhost", "invalid socket address"),
        ("127.0.0.1:70000", "invalid port value"),
    ] {
        let err = smol::block_on(Listener::bind(address)).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::InvalidInput, "{err}");
        let expected = format!("cannot listen on {address:?}: {why}");
        assert_eq!(err.to_string(), expected);
    }
}

#[test]
fn a_path_that_is_taken_is_named() {
    let path = env::temp_dir().join(format!("smol-mcp-taken-{}.sock", process::id()));
    let taken = smol::block_on(Listener::bind_unix(&path)).unwrap();
    let err = smol::block_on(Listener::bind_unix(&path)).unwrap_err();
    drop(taken);
    fs::remove_file(&path).unwrap();
    assert_eq!(err.kind(), ErrorKind::AddrInUse);
    let expected = format!("cannot listen on {path:?}: {}", source(&err));
    assert_eq!(err.to_string(), expected);
    assert!(source(&err).raw_os_error().is_some());
}
