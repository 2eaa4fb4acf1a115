//! A handler from its first poll to its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::thread;

use super::call::Call;
use super::context::Context;
use super::failure::HandlerError;
use super::work::Work;
use crate::executor::Spawner;
use crate::signal::{Aborted, Reason, Signal, Wait};

/// Begins the handler and polls it where the message was read. What does not end at once becomes a task.
pub(super) fn begin(call: &Arc<Call>, spawner: &Spawner, begin: impl FnOnce(Context) -> Work) {
    if is_over(call) {
        return;
    }
    let cx = Context(call.clone());
    run(call, spawner, catch_unwind(AssertUnwindSafe(|| begin(cx))));
}

/// Settles a call that is over before its handler starts: it never starts.
fn is_over(call: &Arc<Call>) -> bool {
    let Some(reason) = call.signal.reason() else {
        return false;
    };
    if !call.is_late() {
        call.silence(reason.clone());
    }
    call.settle(Err(Aborted::from(reason).into()));
    true
}

fn run(call: &Arc<Call>, spawner: &Spawner, begun: thread::Result<Work>) {
    let work = match begun {
        Ok(work) => work,
        Err(panic) => return call.settle(Err(panicked(&*panic))),
    };
    let mut running = Running {
        work: Some(work),
        call: call.clone(),
        deadline: None,
        late: false,
    };
    let mut noop = TaskContext::from_waker(Waker::noop());
    if Pin::new(&mut running).poll(&mut noop).is_pending() {
        // Only a handler that waits can be late.
        running.deadline = call
            .deadline
            .map(|deadline| Box::new(Signal::from(deadline).aborted()));
        if let Some(task) = spawner.spawn(running) {
            call.peer.inflight.own(call, task);
        }
    }
}

/// A handler that runs. Whatever becomes of it, the call is settled once.
struct Running {
    work: Option<Work>,
    call: Arc<Call>,
    /// Waits for the moment at which the client is answered for a handler that is late, and then for that at which the
    /// operator is told that it still runs.
    deadline: Option<Box<Wait>>,
    late: bool,
}

impl Future for Running {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Some(work) = &mut self.work else {
            return Poll::Ready(());
        };
        let outcome = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(Poll::Pending) => match self.call.asks.end_round(&self.call, cx.waker()) {
                // The handler waits for its client: it ends here, and begins anew with the answers.
                Some(asked) => asked,
                None => {
                    self.watch_deadline(cx);
                    return Poll::Pending;
                }
            },
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => Err(panicked(&*panic)),
        };
        // What the handler held is given back before its client learns that it has ended.
        let dropped = catch_unwind(AssertUnwindSafe(|| self.work = None));
        self.call
            .settle(dropped.map_err(|panic| panicked(&*panic)).and(outcome));
        Poll::Ready(())
    }
}

impl Running {
    /// Answers for a handler that is late. It runs on, and what it comes to is thrown away.
    fn watch_deadline(&mut self, cx: &mut TaskContext<'_>) {
        while let Some(wait) = &mut self.deadline {
            if Pin::new(wait).poll(cx).is_pending() {
                return;
            }
            self.deadline = match std::mem::replace(&mut self.late, true) {
                false => {
                    self.call.answer_late();
                    // It has as long again to clean up before anybody is told.
                    Some(Box::new(
                        Signal::timeout(self.call.started.elapsed()).aborted(),
                    ))
                }
                true => {
                    self.call.warn_overdue();
                    None
                }
            };
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            // Whoever ran it has ended, which is nobody's failure.
            self.call.abort(Reason::Closed);
            // Executors abort the process when a future panics while they drop it.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
            let reason = self.call.signal.reason().unwrap_or(Reason::Closed);
            self.call.settle(Err(Aborted::from(reason).into()));
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn panicked(panic: &(dyn Any + Send)) -> HandlerError {
    HandlerError::broken(format!("the handler panicked: {}", text_of(panic)))
}

#[cold]
pub(super) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}
