#!/usr/bin/env bash
# Breaks Signal, what calls share, or the reading of standard input, in one way after the other, in a copy, and expects the
# models to notice each, or the tests where no model can.
#
#     loom/mutants.sh             all of them
#     loom/mutants.sh ledger      those whose name contains the word
#
# A mutant that survives, or that does not apply any more, is a failure. Takes about half a minute for each.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
target=${MUTANTS_TARGET_DIR:-$copy/target}
export CARGO_TARGET_DIR=$target/tests
export RUST_BACKTRACE=0 SIGNAL_WATCHDOG=10
unset RUSTFLAGS
wanted=${1:-}
survivors=0
applied=0

fresh() {
    rm -rf "$copy/crate"
    mkdir -p "$copy/crate/loom"
    cp -r "$root/src" "$root/tests" "$root/examples" "$root/Cargo.toml" "$root/Cargo.lock" \
        "$root/rust-toolchain.toml" "$copy/crate/"
    cp -r "$root/loom/src" "$root/loom/Cargo.toml" "$root/loom/Cargo.lock" "$copy/crate/loom/"
}

models() {
    (cd "$copy/crate/loom" && RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$target/models timeout 300 cargo test --quiet --locked "$@")
}

tests() {
    (cd "$copy/crate" && timeout 300 cargo test --quiet --no-default-features --lib \
        --test signal_alarm --test signal --test signal_counts "$@")
}

# How a file is built, which models are of it, and which tests may notice what no model can; `true` for none.
know() {
    case $1 in
        server/*) build=(models --no-run) models=(models calls::) tests=true ;;
        stdio/*) build=(readers --no-run) models=true tests=readers ;;
        *) build=(library) models=(models signals::) tests=tests ;;
    esac
}

# Each mutant of theirs blocks a process, and is noticed after a minute.
readers() {
    (cd "$copy/crate" && timeout 600 cargo test --quiet --no-default-features --features stdio --test it "$@" readiness::)
}

library() {
    (cd "$copy/crate" && cargo build --quiet --no-default-features)
}

# mutant NAME FILE FROM TO: replaces the text FROM, which must stand in FILE exactly once, by TO.
mutant() {
    local name=$1 file=$copy/crate/src/$2
    [[ $name == *"$wanted"* ]] || return 0
    fresh
    FROM=$3 TO=$4 perl -0pi -e '
        my $count = () = /\Q$ENV{FROM}\E/g;
        die "$ARGV: the text stands there $count times\n" unless $count == 1;
        s/\Q$ENV{FROM}\E/$ENV{TO}/;
    ' "$file"
    if cmp -s "$file" "$root/src/$2"; then
        echo "does not apply: $name"
        exit 1
    fi
    know "$2"
    "${build[@]}" >"$copy/log" 2>&1 || {
        cat "$copy/log"
        echo "does not build: $name"
        exit 1
    }
    applied=$((applied + 1))
    if ! "${models[@]}" >"$copy/log" 2>&1; then
        echo "found by a model: $name"
    elif ! "$tests" >"$copy/log" 2>&1; then
        echo "found by a test:  $name"
    else
        echo "SURVIVED:         $name"
        survivors=$((survivors + 1))
    fi
    [[ -z ${VERBOSE:-} ]] || grep -E 'panicked|FAILED|failed' "$copy/log" | head -5
}

if [[ -z $wanted ]]; then
    fresh
    models >"$copy/log" 2>&1 && tests >"$copy/log" 2>&1 || {
        cat "$copy/log"
        echo "the suite fails without a mutant"
        exit 1
    }
fi

mutant 'waiter: no second check' signal/wait.rs \
    'if self.signal.set.is_fired() {' 'if false {'
mutant 'waiter: waker change ignored' signal/wait.rs \
    'Some(enrolled) if enrolled.waker == identity => None' 'Some(_) => None'
mutant 'waiter: leaves its tickets behind' signal/wait.rs \
    'source.leave(ticket);' '{ let _ = source; std::mem::forget(ticket) }'
mutant 'source: no LISTENED mark' signal/source.rs \
    '.compare_exchange(IDLE, LISTENED, ' '.compare_exchange(IDLE, IDLE, '
mutant 'source: flag before reason' signal/source.rs \
    'let won = self.reason.set(reason).is_ok();
        // Releases the reason to `is_fired`, and acquires from `listen`.
        let previous = self.state.swap(FIRED, Ordering::SeqCst);' \
    'let previous = self.state.swap(FIRED, Ordering::SeqCst);
        let won = self.reason.set(reason).is_ok();'
mutant 'source: losing abort returns early' signal/source.rs \
    'let won = self.reason.set(reason).is_ok();' \
    'let won = self.reason.set(reason).is_ok(); if !won { return false; }'
mutant 'source: the flag is read relaxed' signal/source.rs \
    'self.state.load(Ordering::Acquire) == FIRED' 'self.state.load(Ordering::Relaxed) == FIRED'
mutant 'source: the flag is not released' signal/source.rs \
    'self.state.swap(FIRED, Ordering::SeqCst)' 'self.state.swap(FIRED, Ordering::Acquire)'
mutant 'source: a fired one counts as inert' signal/source.rs \
    '== 0 && !self.is_fired()' '== 0'
mutant 'source: controllers are not released' signal/source.rs \
    'self.controllers.fetch_sub(1, Ordering::Release);' 'self.controllers.fetch_sub(1, Ordering::Relaxed);'
mutant 'source: dropping the last controller fires' signal/source.rs \
    'self.controllers.fetch_sub(1, Ordering::Release);' \
    'if self.controllers.fetch_sub(1, Ordering::Release) == 1 { self.fire(Reason::Closed); }'
mutant 'reason: one pass' signal.rs \
    'source.stamp();
            seen = true;' 'let _ = source; seen = true;'
mutant 'reason: a first pass that saw nothing is not believed' signal.rs \
    'let first = if seen {' 'let first = if seen || true {'
mutant 'reason: deadline not entered' signal.rs \
    'ledger::enter(deadline.at);' ''
mutant 'reason: the first of the list, not the earliest' signal.rs \
    'stamped.min_by_key(|(stamp, _)| *stamp)' '{ let mut stamped = stamped; stamped.next() }'
mutant 'reason: a source always beats the deadline' signal.rs \
    'if stamp < deadline.at' 'if stamp > 0'
mutant 'ledger: clock instead of ledger' signal/ledger.rs \
    'let next = now.max(last + 1);' 'let next = now;'
mutant 'ledger: relaxed' signal/ledger.rs \
    'compare_exchange(last, next, Ordering::AcqRel, Ordering::Relaxed)' \
    'compare_exchange(last, next, Ordering::Relaxed, Ordering::Relaxed)'
mutant 'ledger: the deadline is entered relaxed' signal/ledger.rs \
    'fetch_max(deadline, Ordering::AcqRel)' 'fetch_max(deadline, Ordering::Relaxed)'
mutant 'waiters: no yard' signal/waiters.rs \
    'if notifying {' 'if notifying && false {'
mutant 'waiters: the yard is never cleared' signal/waiters.rs \
    'drop(yard);' 'std::mem::forget(yard);'
mutant 'waiters: a panic leaves the rest asleep' signal/waiters.rs \
    'for _ in 0..=self.event.total_listeners() {' 'for _ in 0..1 {'
mutant 'waiters: a panic is not evened out' signal/waiters.rs \
    'std::mem::forget(self.event.listen());' ''
mutant 'run: the future goes first' signal/run.rs \
    'let mut this = self.project();
        if this.wait.is_fired() {
            this.future.set(None);' \
    'let mut this = self.project();
        if let Some(future) = this.future.as_mut().as_pin_mut() {
            if let Poll::Ready(output) = future.poll(cx) {
                this.future.set(None);
                return Poll::Ready(Ok(output));
            }
        }
        if this.wait.is_fired() {
            this.future.set(None);'
mutant 'run: the future is kept after the error' signal/run.rs \
    'this.future.set(None);
            return Poll::Ready(Err(' 'return Poll::Ready(Err('
mutant 'alarm: only the first is woken' signal/alarm.rs \
    'woken.push(waker);' 'if woken.is_empty() { woken.push(waker); }'
mutant 'alarm: a gap in the order is not closed' signal/due.rs \
    'self.sink(at);' ''
mutant 'alarm: an earlier deadline does not move it' signal/alarm.rs \
    'if at < alarm.armed {' 'if alarm.armed == NEVER {'
mutant 'alarm: going off is not noted' signal/alarm.rs \
    'alarm.armed = NEVER;
        tend(alarm);' 'tend(alarm);'

gate=server/outlet.rs
mutant 'calls, gate: an answer follows a cancel' $gate \
    'if outlet.gate != Gate::Open {
            return;
        }
        if let Some(held)' 'if let Some(held)'
mutant 'calls, gate: a cancel leaves what waits' $gate \
    'outlet.queue.clear();' ''
mutant 'calls, gate: a cancel leaves the answer' $gate \
    'outlet.answer.take().is_some() || outlet.gate == Gate::Open' 'outlet.gate == Gate::Open'
mutant 'calls, gate: a stream waits for an answer that was taken away' $gate \
    'if kept_back {
            // Also' 'if outlet.gate == Gate::Open {
            // Also'
mutant 'calls, gate: progress follows the answer' $gate \
    'if outlet.gate != Gate::Open || outlet.last_progress != Some(progress) {' \
    'if outlet.last_progress != Some(progress) {'
mutant 'calls, gate: messages follow the answer' $gate \
    'if outlet.gate != Gate::Open {
            return false;
        }' ''
mutant 'calls, progress: falls behind while it is written' $gate \
    'if outlet.gate != Gate::Open || outlet.last_progress != Some(progress) {' \
    'if outlet.gate != Gate::Open {'
mutant 'calls, progress: need not rise' $gate \
    'outlet.gate != Gate::Open || !rises' '{ let _ = rises; outlet.gate != Gate::Open }'
mutant 'calls, progress: any number waits' server/queue.rs \
    'const REPORTS: usize = 16;' 'const REPORTS: usize = 17;'
mutant 'calls, progress: of too many the newest is lost' server/queue.rs \
    'last.map(|last| self.entries.remove(last));
            self.reports -= 1;' 'let _ = last; return;'
mutant 'calls, logs: those that are left out are not told of' server/queue.rs \
    'missed.count += 1;' ''
mutant 'calls, logs: what was left out is told of later' server/queue.rs \
    'return Some(messages::left_out(level, count));' \
    'self.logs -= 1;
                    let said = self.entries.pop_front().map(|entry| entry.message);
                    self.missed = Some(Missed { count, level });
                    return said;'
mutant 'calls, settle: the id is free after the answer' $gate \
    'let _leaving = self.leave();
        self.close_with(answer);' \
    'self.close_with(answer);
        let _leaving = self.leave();'
mutant 'calls, settle: the peer is idle before the answer' $gate \
    'let _leaving = self.leave();' 'drop(self.leave());'
mutant 'calls, announce: the call is not listed' $gate \
    'self.peer.feed.push(self.clone());' ''
mutant 'calls, announce: the reader is not woken' $gate \
    'waker.wake();
        } else if' \
    'drop(waker);
        } else if'
mutant 'calls, lines: the call is taken for listed' $gate \
    'outlet.listed = false;' ''
mutant 'calls, table: an id that is in use is taken' server/inflight.rs \
    'return Err(Refused::Duplicate)' 'return Ok(())'
mutant 'calls, table: a call is known by its id' server/inflight.rs \
    'Arc::ptr_eq(&entry.call, call).then_some(entry)' 'Some(entry)'
mutant 'calls, table: whoever waits for the last call does not look again' server/inflight.rs \
    'if !self.entries().is_idle() {' 'if true {'
mutant 'calls, table: the last call tells nobody' server/inflight.rs \
    'self.0.idle.notify(usize::MAX);' ''
mutant 'calls, table: a call enters that nobody tells of the end' server/inflight.rs \
    'if entries.shut {' 'if false && entries.shut {'
mutant 'calls, feed: the reader is not woken' server/feed.rs \
    'change(&mut state);
        let waker = state.waker.take();' \
    'change(&mut state);
        let waker: Option<Waker> = None;'

reader=stdio/unix.rs
mutant 'readers: a terminal is read on old news' $reader \
    'None => (file, Reads::Shared),
        },
        _ => (file, Reads::Shared),' \
    'None => (file, Reads::Shared),
        },
        _ => (file, Reads::Own),'
mutant 'readers: a pipe is not made our own' $reader \
    'FileType::Fifo => match reopen(&file, OFlags::RDONLY) {
            Some(own)' \
    'FileType::Fifo => match Some(file.try_clone()?) {
            Some(own)'
mutant 'readers: a socket is read until something comes' $reader \
    'recv(file, buffer, RecvFlags::DONTWAIT)' 'recv(file, buffer, RecvFlags::empty())'

echo "$applied mutants, $survivors survived"
[[ $applied -gt 0 && $survivors -eq 0 ]]
