//! The formats that a text field may ask for. Each check is one pass over the text.

use crate::protocol::uri::{is_scheme, is_uri_text};

/// Tells whether a text has the outline of an e-mail address: something, `@`, a host, and no white
/// space.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else {
        return false;
    };
    let is_label =
        |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    !local.is_empty()
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
        && host.split('.').all(is_label)
        && !host.contains(['<', '>', '(', ')', ',', ';', ':', '\\', '"'])
}

/// Tells whether a text is an absolute URI by RFC 3986: a scheme, and none but the characters
/// allowed.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    is_scheme(scheme) && !rest.is_empty() && is_uri_text(rest)
}

/// Tells whether a text is a day of RFC 3339 that is in the calendar.
pub(super) fn is_date(text: &str) -> bool {
    let mut parts = text
        .splitn(3, '-')
        .map(|part| part.bytes().all(|b| b.is_ascii_digit()).then_some(part));
    let (Some(Some(year)), Some(Some(month)), Some(Some(day))) =
        (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return false;
    }
    let (Ok(year), Ok(month), Ok(day)) = (
        year.parse::<u32>(),
        month.parse::<u32>(),
        day.parse::<u32>(),
    ) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Tells whether a text is a moment of RFC 3339. The second 60 is let pass at any minute.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let Some((clock, offset)) = time.find(['Z', 'z', '+', '-']).map(|at| time.split_at(at)) else {
        return false;
    };
    let (clock, fraction) = clock
        .split_once('.')
        .map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let is_fraction = fraction
        .is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    let is_offset = matches!(offset, "Z" | "z") || are_below(&offset[1..], &[24, 60]);
    is_date(date) && are_below(clock, &[24, 60, 61]) && is_fraction && is_offset
}

/// Tells whether a text is so many numbers of two digits with colons between them, each below its
/// limit.
fn are_below(text: &str, limits: &[u8]) -> bool {
    let mut parts = text.split(':');
    let fits = limits.iter().all(|limit| {
        parts.next().is_some_and(|part| {
            part.len() == 2
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u8>().is_ok_and(|number| number < *limit)
        })
    });
    fits && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(is(text), "{text:?} fits");
        }
        for text in bad {
            assert!(!is(text), "{text:?} does not fit");
        }
    }

    #[test]
    fn email() {
        check(
            is_email,
            &[
                "a@b",
                "ada.l+x@mail.example",
                "\"a@b\"@c.example",
                "größe@straße.example",
            ],
            &[
                "", "@", "a@", "@b", "a b@c", "a@b c", "a@.b", "a@b.", "a@-b", "a@b,c", "a@b\n",
            ],
        );
    }

    #[test]
    fn uri() {
        check(
            is_uri,
            &[
                "https://h.example/a?b=c#d",
                "mailto:a@b",
                "x:1",
                "file:///a%20b",
                "http://[::1]:80/",
            ],
            &[
                "", ":", "a", "/a", "1x:y", "x:", "x: y", "x:%2", "x:%zz", "x:ä", "x:<y>", "x:a\nb",
            ],
        );
    }

    #[test]
    fn date() {
        check(
            is_date,
            &["2026-07-28", "2024-02-29", "2000-02-29", "0000-12-31"],
            &[
                "2023-02-29",
                "1900-02-29",
                "2026-13-01",
                "2026-00-01",
                "2026-04-31",
                "2026-1-01",
                "26-01-01",
                "2026-01-00",
                "+026-01-01",
                "2026-01-01 ",
                "2026-01",
                "2026-01-01-01",
                "２026-01-01",
            ],
        );
    }

    #[test]
    fn date_time() {
        check(
            is_date_time,
            &[
                "2026-07-28T09:00:00Z",
                "2026-07-28t23:59:60.5z",
                "2026-07-28T09:00:00.123456+02:00",
                "2026-07-28T09:00:00-11:30",
            ],
            &[
                "2026-07-28",
                "2026-07-28T09:00:00",
                "2026-07-28 09:00:00Z",
                "2026-07-28T24:00:00Z",
                "2026-07-28T09:60:00Z",
                "2026-07-28T09:00:61Z",
                "2026-07-28T09:00:00.Z",
                "2026-07-28T09:00Z",
                "2026-07-28T09:00:00+2",
                "2026-07-28T09:00:00+24:00",
                "2026-07-28T09:00:00Zx",
                "2026-02-30T09:00:00Z",
                "2026-07-28T09:00:00é",
            ],
        );
    }
}
