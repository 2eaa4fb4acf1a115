use std::error::Error;
use std::panic::{RefUnwindSafe, UnwindSafe};

use futures_lite::{future, stream};
use smol_mcp::Signal;
use smol_mcp::signal::{AbortOnDrop, Aborted, Controller, Deadline, Reason, Run, Until, Wait};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}
fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
fn is_static<T: 'static>() {}

#[test]
fn types_can_go_where_they_have_to() {
    is_send::<Signal>();
    is_sync::<Signal>();
    is_static::<Signal>();
    is_unwind_safe::<Signal>();
    is_send::<Controller>();
    is_sync::<Controller>();
    is_unwind_safe::<Controller>();
    is_send::<AbortOnDrop>();
    is_sync::<AbortOnDrop>();
    is_send::<Reason>();
    is_sync::<Reason>();
    is_send::<Wait>();
    is_sync::<Wait>();
    is_unpin::<Wait>();
    is_static::<Wait>();
    is_send::<Run<future::Ready<()>>>();
    is_sync::<Run<future::Ready<()>>>();
    is_unpin::<Run<future::Ready<()>>>();
    is_send::<Until<stream::Empty<()>>>();
    is_unpin::<Until<stream::Empty<()>>>();
}

#[test]
fn the_methods_futures_can_be_spawned() {
    fn send<T: Send>(_: &T) {}
    let signal = Signal::never();
    send(&signal.sleep(std::time::Duration::ZERO));
    send(&signal.checkpoint());
}

#[test]
fn the_error_is_an_error() {
    fn error<T: Error + Send + Sync + 'static>() {}
    error::<Aborted>();
    let boxed: Box<dyn Error + Send + Sync> =
        Signal::fired(Reason::Closed).check().unwrap_err().into();
    assert!(boxed.downcast_ref::<Aborted>().is_some());
}

#[test]
#[cfg(target_pointer_width = "64")]
fn sizes_are_small() {
    assert_eq!(size_of::<Signal>(), 48);
    assert_eq!(size_of::<Controller>(), 8);
    assert_eq!(size_of::<Option<Controller>>(), 8);
    assert!(size_of::<Deadline>() <= 24);
    assert!(size_of::<Reason>() <= 24);
}

#[test]
fn never_is_const() {
    static NEVER: Signal = Signal::never();
    assert!(!NEVER.is_aborted());
}
