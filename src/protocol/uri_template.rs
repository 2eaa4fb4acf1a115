//! Templates of addresses, matched: from an address to the variables that it was made of.

mod parse;

use std::collections::BTreeMap;
use std::fmt;

use crate::protocol::uri::{decode, is_uri_text, with_upper_triplets};

/// How long an address may be to be matched. The work is at most this times the length of the
/// template.
const MAX_URI: usize = 16 * 1024;

/// Matches addresses against a template of RFC 6570 (MCP 2026-07-28, server/resources, resource
/// templates).
///
/// | Expression | takes |
/// |---|---|
/// | `{x}` | at least one character, none of `/ ? #` |
/// | `{+x}` | at least one character of any kind |
/// | `{/x}` | `/`, then as `{x}` |
/// | `{.x}` | `.`, then as `{x}`, but no further `.` |
/// | `{?x,y}` | the query: each of `x=…` and `y=…` or none, in any order, and no other |
/// | `{&x,y}` | the rest of a query that starts with fixed text |
/// | `{#x}` | the fragment, or none |
///
/// `{x,y}` and `{+x,y}` take values separated by commas, which the values then do not hold;
/// `{/x,y}` and `{.x,y}` are short for `{/x}{/y}` and `{.x}{.y}`. Where an address can be split in
/// several ways, a variable further left takes as much as it can. Values are percent-decoded and must
/// then be UTF-8. The `;` operator, the modifiers `*` and `:3`, and adjacent variables (`{x}{y}`) are
/// refused, since they cannot be matched unambiguously.
///
/// A value may decode to anything, `..` and `/` included. Check every path that is made of one.
///
/// Matching takes time in proportion to the address; one longer than 16 KiB matches nothing.
///
/// ```
/// use smol_mcp::protocol::UriTemplate;
///
/// let logs: UriTemplate = "log:///{host}/{+path}{?from,to}".parse()?;
/// let variables = logs.matches("log:///db%201/var/log/a.log?to=9").unwrap();
/// assert_eq!(variables["host"], "db 1");
/// assert_eq!(variables["path"], "var/log/a.log");
/// assert_eq!(variables["to"], "9");
/// assert!(!variables.contains_key("from"));
/// assert!(logs.matches("log:///db1").is_none());
/// # Ok::<_, smol_mcp::protocol::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    text: String,
    /// What stands before the query and the fragment. Two of a kind are never neighbours.
    steps: Vec<Step>,
    query: Option<Query>,
    fragment: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Exactly this text, its percent-encodings in upper case.
    Literal(String),
    /// A value that holds none of the bytes in `stop`.
    Variable { name: String, stop: &'static str },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Query {
    /// What stands between the `?` and the first variable; empty if the template has no query of
    /// its own.
    fixed: String,
    names: Vec<String>,
}

impl UriTemplate {
    /// Returns the template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the variables, from left to right.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let steps = self.steps.iter().filter_map(|step| match step {
            Step::Variable { name, .. } => Some(name),
            Step::Literal(_) => None,
        });
        let query = self.query.iter().flat_map(|query| &query.names);
        steps.chain(query).chain(&self.fragment).map(String::as_str)
    }

    /// Tells whether two templates differ at most in names of variables that do not appear in an
    /// address, so that they match the same addresses.
    ///
    /// ```
    /// use smol_mcp::protocol::UriTemplate;
    ///
    /// let parse = |text: &str| text.parse::<UriTemplate>().unwrap();
    /// assert!(parse("log:///{a}{?q}").is_same(&parse("log:///{b}{?q}")));
    /// assert!(!parse("log:///{a}{?q}").is_same(&parse("log:///{a}{?r}")));
    /// ```
    pub fn is_same(&self, other: &Self) -> bool {
        let same_steps = self.steps.len() == other.steps.len()
            && self.steps.iter().zip(&other.steps).all(|pair| match pair {
                (Step::Literal(a), Step::Literal(b)) => a == b,
                (Step::Variable { stop: a, .. }, Step::Variable { stop: b, .. }) => a == b,
                _ => false,
            });
        let same_query = match (&self.query, &other.query) {
            (Some(a), Some(b)) => {
                // No name is there twice.
                let same_names = a.names.len() == b.names.len()
                    && a.names.iter().all(|name| b.names.contains(name));
                a.fixed == b.fixed && same_names
            }
            (None, None) => true,
            _ => false,
        };
        same_steps && same_query && self.fragment.is_some() == other.fragment.is_some()
    }

    /// Returns the variables in an address, or `None` if the address does not match the template.
    ///
    /// Variables of the query and the fragment that the address leaves out are not in the map.
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if uri.len() > MAX_URI || !is_uri_text(uri) {
            return None;
        }
        let uri = with_upper_triplets(uri);
        let mut rest = uri.as_str();
        let mut found = BTreeMap::new();
        if let Some(name) = &self.fragment {
            if let Some((before, fragment)) = rest.split_once('#') {
                found.insert(name.clone(), decode(fragment)?);
                rest = before;
            }
        }
        if let Some(query) = &self.query {
            let (before, text) = rest
                .split_once('?')
                .map_or((rest, None), |(before, text)| (before, Some(text)));
            query.read(text, &mut found)?;
            rest = before;
        }
        for (name, value) in split(&self.steps, rest)? {
            found.insert(name.to_owned(), decode(value)?);
        }
        Some(found)
    }
}

impl Query {
    fn read(&self, text: Option<&str>, found: &mut BTreeMap<String, String>) -> Option<()> {
        let Some(text) = text else {
            return self.fixed.is_empty().then_some(());
        };
        let rest = text.strip_prefix(self.fixed.as_str())?;
        let pairs = match self.fixed.as_str() {
            "" => rest,
            _ if rest.is_empty() => return Some(()),
            _ => rest.strip_prefix('&')?,
        };
        for pair in pairs.split('&') {
            let (name, value) = pair.split_once('=')?;
            let name = self.names.iter().find(|known| *known == name)?;
            if found.insert(name.clone(), decode(value)?).is_some() {
                return None;
            }
        }
        Some(())
    }
}

/// Splits a text among the steps, the variables further left taking as much as they can.
fn split<'a>(steps: &'a [Step], text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let bytes = text.as_bytes();
    if matches!(steps.first(), Some(Step::Literal(literal)) if !text.starts_with(literal.as_str()))
    {
        return None;
    }
    // `fits[step][at]`: the steps from `step` on can take exactly the text from `at` on. Filled
    // from the back, each entry looks at entries that are there already, so nothing is tried twice.
    let mut fits = vec![vec![false; bytes.len() + 1]; steps.len() + 1];
    fits[steps.len()][bytes.len()] = true;
    for (index, step) in steps.iter().enumerate().rev() {
        let (before, after) = fits.split_at_mut(index + 1);
        let (here, next) = (&mut before[index], &after[0]);
        match step {
            Step::Literal(literal) => {
                for at in 0..bytes.len() {
                    let end = at + literal.len();
                    here[at] =
                        next.get(end) == Some(&true) && text[at..].starts_with(literal.as_str());
                }
            }
            Step::Variable { stop, .. } => {
                // Whether a value that has begun can go on or end here.
                let mut goes_on = false;
                for at in (0..=bytes.len()).rev() {
                    let takes = at < bytes.len() && !stop.as_bytes().contains(&bytes[at]);
                    here[at] = takes && goes_on && !is_within_triplet(bytes, at);
                    goes_on = (next[at] && !is_within_triplet(bytes, at)) || (takes && goes_on);
                }
            }
        }
    }
    if !fits[0][0] {
        return None;
    }
    let mut found = Vec::new();
    let mut at = 0;
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Literal(literal) => at += literal.len(),
            Step::Variable { name, stop } => {
                let taken = bytes[at..]
                    .iter()
                    .take_while(|byte| !stop.as_bytes().contains(byte))
                    .count();
                let ends = at + 1..=at + taken;
                let end = ends
                    .rev()
                    .find(|end| fits[index + 1][*end] && !is_within_triplet(bytes, *end))?;
                found.push((name.as_str(), &text[at..end]));
                at = end;
            }
        }
    }
    Some(found)
}

/// Tells whether a position is behind the `%` of a percent-encoding and before its end.
fn is_within_triplet(bytes: &[u8], at: usize) -> bool {
    (at >= 1 && bytes[at - 1] == b'%') || (at >= 2 && bytes[at - 2] == b'%')
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn parse(text: &str) -> UriTemplate {
        text.parse().unwrap_or_else(|err| panic!("{err}"))
    }

    /// Asserts what a template reads out of an address: `x=1 y=2`, or nothing at all.
    #[track_caller]
    fn reads(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let found = parse(template).matches(uri);
        let expected = expected.map(|pairs| {
            pairs
                .iter()
                .map(|(k, v)| (k.to_string(), v.to_string()))
                .collect()
        });
        assert_eq!(found, expected, "{template} against {uri}");
    }

    #[test]
    fn simple_values() {
        reads("log:///b/{n}", "log:///b/7", Some(&[("n", "7")]));
        reads("log:///b/{n}", "log:///b/", None);
        reads("log:///b/{n}", "log:///b/7/8", None);
        reads("log:///b/{n}", "log:///b/7?x", None);
        reads("log:///b/{n}", "log:///c/7", None);
        reads("log:///b/{n}/raw", "log:///b/7/raw", Some(&[("n", "7")]));
        reads("log:///b/{n}/raw", "log:///b/7/rawer", None);
        reads(
            "user:{mail}",
            "user:ada@h.example",
            Some(&[("mail", "ada@h.example")]),
        );
        reads("a:{x}-{y}", "a:1-2-3", Some(&[("x", "1-2"), ("y", "3")]));
        reads("a:{x,y}", "a:1,2", Some(&[("x", "1"), ("y", "2")]));
        reads("a:{x,y}", "a:1,2,3", None);
        reads("a:b", "a:b", Some(&[]));
        reads("a:b", "a:bc", None);
    }

    #[test]
    fn values_are_decoded_once() {
        reads("a:{x}", "a:%2F%20b%25%41", Some(&[("x", "/ b%A")]));
        reads("a:{x}", "a:gr%C3%B6%c3%9fe", Some(&[("x", "größe")]));
        reads("a:{x}", "a:%FF", None);
        reads("a:{x}", "a:%2", None);
        reads("a:{x}", "a:%zz", None);
        reads("a:{x}", "a: b", None);
        reads("a:{x}", "a:ö", None);
        reads("a:{x}", "a:+", Some(&[("x", "+")]));
    }

    #[test]
    fn a_percent_encoding_is_never_cut() {
        reads("a:{x}4{y}", "a:%441", None);
        reads("a:{x}4{y}", "a:%44421", Some(&[("x", "D"), ("y", "21")]));
        reads("a:{x}4{y}", "a:1%444", None);
    }

    #[test]
    fn fixed_text_compares_encoded() {
        reads("a:größe/{x}", "a:gr%c3%b6%C3%9Fe/1", Some(&[("x", "1")]));
        reads("a:%2f{x}", "a:%2F1", Some(&[("x", "1")]));
        reads("a:%2f{x}", "a:/1", None);
    }

    #[test]
    fn reserved_values_take_slashes() {
        reads(
            "file:///{+path}",
            "file:///a/b?c#d",
            Some(&[("path", "a/b?c#d")]),
        );
        reads("file:///{+path}", "file:///", None);
        reads(
            "file:///{+dir}/{name}",
            "file:///a/b/c",
            Some(&[("dir", "a/b"), ("name", "c")]),
        );
        reads(
            "file:///{+dir}/x/{+rest}",
            "file:///a/x/x/b",
            Some(&[("dir", "a/x"), ("rest", "b")]),
        );
        reads(
            "{+uri}",
            "https://h.example/",
            Some(&[("uri", "https://h.example/")]),
        );
        reads("a:{+x,y}", "a:/1,/2", Some(&[("x", "/1"), ("y", "/2")]));
    }

    #[test]
    fn path_and_label() {
        reads("a:b{/x,y}", "a:b/1/2", Some(&[("x", "1"), ("y", "2")]));
        reads("a:b{/x,y}", "a:b/1", None);
        reads(
            "a:{name}{.ext}",
            "a:x.tar.gz",
            Some(&[("name", "x.tar"), ("ext", "gz")]),
        );
        reads("a:{x}{/y}", "a:1/2", Some(&[("x", "1"), ("y", "2")]));
    }

    #[test]
    fn query() {
        reads("a:b{?x,y}", "a:b", Some(&[]));
        reads("a:b{?x,y}", "a:b?x=1&y=2", Some(&[("x", "1"), ("y", "2")]));
        reads("a:b{?x,y}", "a:b?y=2&x=", Some(&[("x", ""), ("y", "2")]));
        reads("a:b{?x,y}", "a:b?x=a%26b=c", Some(&[("x", "a&b=c")]));
        reads("a:b{?x,y}", "a:b?", None);
        reads("a:b{?x,y}", "a:b?z=1", None);
        reads("a:b{?x,y}", "a:b?x", None);
        reads("a:b{?x,y}", "a:b?x=1&x=2", None);
        reads("a:b?k=v{&x}", "a:b?k=v&x=1", Some(&[("x", "1")]));
        reads("a:b?k=v{&x}", "a:b?k=v", Some(&[]));
        reads("a:b?k=v{&x}", "a:b?k=vv&x=1", None);
        reads("a:b?k=v{&x}", "a:b", None);
        reads("a:b?k=v{&x}", "a:b?k=v&", None);
        reads(
            "a:b?x={x}&y={y}",
            "a:b?x=1&y=2",
            Some(&[("x", "1"), ("y", "2")]),
        );
    }

    #[test]
    fn fragment() {
        reads("a:b{#f}", "a:b", Some(&[]));
        reads("a:b{#f}", "a:b#", Some(&[("f", "")]));
        reads(
            "a:{x}{?q}{#f}",
            "a:1?q=2#3/4",
            Some(&[("x", "1"), ("q", "2"), ("f", "3/4")]),
        );
        reads("a:{x}#{f}", "a:1#2", Some(&[("x", "1"), ("f", "2")]));
    }

    #[test]
    fn refused_with_a_reason() {
        for (template, reason) in [
            ("", r#"does not begin with a scheme such as "file:""#),
            ("/b/{n}", r#"does not begin with a scheme such as "file:""#),
            ("{?x}", r#"does not begin with a scheme such as "file:""#),
            ("a:{x", "opens a brace that it does not close"),
            ("a:x}", r#"holds "a:x}", which is no text of an address"#),
            (
                "a:{}",
                r#"names a variable ""; a name is of letters, digits, '_' and '.'"#,
            ),
            (
                "a:{x,}",
                r#"names a variable ""; a name is of letters, digits, '_' and '.'"#,
            ),
            (
                "a:{user-id}",
                r#"names a variable "user-id"; a name is of letters, digits, '_' and '.'"#,
            ),
            (
                "a:{x}{y}",
                r#"has nothing between the variables "x" and "y""#,
            ),
            (
                "a:{x}{+y}",
                r#"has nothing between the variables "x" and "y""#,
            ),
            ("a:{x}/{x}", r#"holds the variable "x" twice"#),
            ("a:{x}{?x}", r#"holds the variable "x" twice"#),
            (
                "a:{x*}",
                r#"uses the modifier "*" in {x*}, which cannot be matched"#,
            ),
            (
                "a:{x:3}",
                r#"uses the modifier ":3" in {x:3}, which cannot be matched"#,
            ),
            ("a:b{;x}", "uses {;x}, which cannot be matched"),
            ("a:b{|x}", "uses '|' in {|x}, which is no operator"),
            ("a:b{?x}/c", "goes on behind its query or fragment"),
            ("a:b{#x}{?y}", "goes on behind its query or fragment"),
            ("a:b?k=v{?x}", "holds two queries"),
            ("a:b{&x}", "needs fixed text with a '?' before {&x}"),
            ("a:b{#x,y}", "holds more than one variable in its fragment"),
            ("a:b c", r#"holds "a:b c", which is no text of an address"#),
        ] {
            let err = template.parse::<UriTemplate>().expect_err(template);
            assert_eq!(
                err.to_string(),
                format!("the URI template {template:?} {reason}")
            );
        }
    }

    #[test]
    fn sameness_is_by_form() {
        let same = |a, b| parse(a).is_same(&parse(b));
        assert!(same("a:{x}/{y}", "a:{p}/{q}"));
        assert!(same("a:b{/x}", "a:b/{y}"));
        assert!(same("a:{x}%2f", "a:{x}%2F"));
        assert!(same("a:b{?x,y}", "a:b{?y,x}"));
        assert!(!same("a:{x}", "a:{+x}"));
        assert!(!same("a:{x}", "a:b{x}"));
        assert!(!same("a:{x}{#f}", "a:{x}"));
    }

    /// What `split` should do, said plainly: the first variable tries the longest value first.
    fn split_plainly<'a>(steps: &'a [Step], text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
        match steps.split_first() {
            None => text.is_empty().then(Vec::new),
            Some((Step::Literal(literal), steps)) => {
                split_plainly(steps, text.strip_prefix(literal.as_str())?)
            }
            Some((Step::Variable { name, stop }, steps)) => {
                let cut = |at: &usize| !is_within_triplet(text.as_bytes(), *at);
                (1..=text.len()).rev().filter(cut).find_map(|at| {
                    let (value, rest) = text.split_at(at);
                    let mut found = split_plainly(steps, rest)
                        .filter(|_| !value.contains(|c| stop.contains(c)))?;
                    found.insert(0, (name.as_str(), value));
                    Some(found)
                })
            }
        }
    }

    #[test]
    fn short_addresses_split_as_said_plainly() {
        for template in [
            "a:{x}",
            "a:{x}a{y}",
            "a:{+x}/{y}",
            "a:{+x}a{+y}b",
            "a:{x}{/y}",
            "a:{x}%2F{+y}",
            "a:{x,y}b{z}",
        ] {
            let template = parse(template);
            let mut texts = vec![String::from("a:")];
            for _ in 0..6 {
                for text in &texts {
                    assert_eq!(
                        split(&template.steps, text),
                        split_plainly(&template.steps, text),
                        "{template} {text}"
                    );
                }
                texts = texts
                    .iter()
                    .flat_map(|text| {
                        ["a", "b", "/", ",", "%2F"].map(|more| format!("{text}{more}"))
                    })
                    .collect();
            }
        }
    }

    #[test]
    fn the_longest_address_takes_no_time() {
        let template = parse("a:{+a}x{+b}x{+c}x{+d}x{+e}x{+f}x{+g}y");
        let uri = format!("a:{}", "x".repeat(MAX_URI - 2));
        let start = Instant::now();
        assert_eq!(template.matches(&uri), None);
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(parse("a:{x}").matches(&format!("{uri}x")), None);
    }
}
