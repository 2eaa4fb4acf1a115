//! The `Date` header (RFC 9110, section 5.6.7), written once a second.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

/// The length of an HTTP date.
const LENGTH: usize = 29;

thread_local! {
    /// The second that was written last on this thread, and its text.
    static LAST: Cell<(u64, [u8; LENGTH])> = const { Cell::new((u64::MAX, [0; LENGTH])) };
}

/// Appends the current date.
pub(crate) fn append_now(out: &mut Vec<u8>) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (mut second, mut text) = LAST.get();
    if second != now {
        (second, text) = (now, format(now));
        LAST.set((second, text));
    }
    out.extend_from_slice(&text);
}

/// Writes seconds since 1970 as `Sun, 06 Nov 1994 08:49:37 GMT`.
#[cold]
fn format(seconds: u64) -> [u8; LENGTH] {
    const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
    const MONTHS: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    text[0..3].copy_from_slice(DAYS[(days % 7) as usize]);
    text[8..11].copy_from_slice(MONTHS[month as usize]);
    digits(&mut text[5..7], day);
    digits(&mut text[12..16], year);
    digits(&mut text[17..19], second / 3600);
    digits(&mut text[20..22], second / 60 % 60);
    digits(&mut text[23..25], second % 60);
    text
}

/// Turns days since 1970 into a year, a month from 0, and a day from 1.
///
/// Years are counted from March, so that a leap day is the last day of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    const TO_1970: u64 = 719_468;
    const FOUR_CENTURIES: u64 = 146_097;
    let days = days + TO_1970;
    let (era, day) = (days / FOUR_CENTURIES, days % FOUR_CENTURIES);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    match month {
        0..=9 => (year, month + 2, day),
        _ => (year + 1, month - 10, day),
    }
}

#[inline(never)]
fn digits(place: &mut [u8], mut value: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn known_dates_are_written_as_the_rfc_writes_them() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_704_067_199, "Sun, 31 Dec 2023 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(String::from_utf8_lossy(&format(seconds)), text);
        }
    }
}
