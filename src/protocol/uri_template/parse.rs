//! Reading a template.

use std::fmt;
use std::str::FromStr;

use super::{Query, Step, UriTemplate};
use crate::protocol::Invalid;
use crate::protocol::uri::{is_scheme, is_uri_text, with_upper_triplets};

impl FromStr for UriTemplate {
    type Err = Invalid;

    /// Parses a template.
    ///
    /// # Errors
    ///
    /// When the template is not one of RFC 6570, is one that cannot be read backwards, names a
    /// variable twice, or does not begin with a scheme.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |reason: fmt::Arguments<'_>| {
            Invalid::new(format!("the URI template {text:?} {reason}"))
        };
        let mut template = Self {
            text: text.to_owned(),
            steps: Vec::new(),
            query: None,
            fragment: None,
        };
        let mut rest = text;
        let has_scheme = match rest.strip_prefix('{') {
            // A variable may hold the scheme.
            Some(expression) => expression.starts_with(|c| c == '+' || is_name_character(c)),
            None => rest
                .split_once(':')
                .is_some_and(|(scheme, _)| is_scheme(scheme)),
        };
        if !has_scheme {
            return Err(fail(format_args!(
                "does not begin with a scheme such as \"file:\""
            )));
        }
        while !rest.is_empty() {
            let (literal, expression) = match rest.split_once('{') {
                Some((literal, more)) => {
                    let Some((expression, more)) = more.split_once('}') else {
                        return Err(fail(format_args!("opens a brace that it does not close")));
                    };
                    rest = more;
                    (literal, Some(expression))
                }
                None => (std::mem::take(&mut rest), None),
            };
            if !literal.is_empty() {
                if template.query.is_some() || template.fragment.is_some() {
                    return Err(fail(format_args!("goes on behind its query or fragment")));
                }
                let literal =
                    encode_literal(literal).map_err(|reason| fail(format_args!("{reason}")))?;
                template.add_literal(&literal);
            }
            if let Some(expression) = expression {
                template
                    .add(expression)
                    .map_err(|reason| fail(format_args!("{reason}")))?;
            }
        }
        let mut names: Vec<&str> = template.variables().collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(fail(format_args!(
                "holds the variable {:?} twice",
                twice[0]
            )));
        }
        Ok(template)
    }
}

impl UriTemplate {
    /// Adds an expression, given without its braces.
    fn add(&mut self, expression: &str) -> Result<(), String> {
        let operator = expression.chars().next().filter(|c| !is_name_character(*c));
        let list = &expression[operator.map_or(0, char::len_utf8)..];
        let names = list
            .split(',')
            .map(|name| check_name(name, expression))
            .collect::<Result<Vec<_>, _>>()?;
        if self.fragment.is_some() || (self.query.is_some() && operator != Some('#')) {
            return Err("goes on behind its query or fragment".into());
        }
        // Inside a query that is written out, a value ends with its parameter.
        let in_query = self
            .steps
            .iter()
            .any(|step| matches!(step, Step::Literal(text) if text.contains('?')));
        let one = names.len() == 1;
        match operator {
            None => self.add_values(
                names,
                "",
                ",",
                match (one, in_query) {
                    (true, false) => "/?#",
                    (true, true) => "/?#&",
                    (false, false) => "/?#,",
                    (false, true) => "/?#,&",
                },
            ),
            Some('+') => self.add_values(names, "", ",", if one { "" } else { "," }),
            Some('/') => self.add_values(names, "/", "/", "/?#"),
            Some('.') => self.add_values(names, ".", ".", "/?#."),
            Some('?') if in_query => Err("holds two queries".into()),
            Some('?') => {
                self.query = Some(Query {
                    fixed: String::new(),
                    names,
                });
                Ok(())
            }
            Some('&') => {
                let Some(Step::Literal(last)) = self.steps.last_mut() else {
                    return Err(format!(
                        "needs fixed text with a '?' before {{{expression}}}"
                    ));
                };
                let Some((path, fixed)) =
                    last.split_once('?').filter(|(_, fixed)| !fixed.is_empty())
                else {
                    return Err(format!(
                        "needs fixed text with a '?' before {{{expression}}}"
                    ));
                };
                self.query = Some(Query {
                    fixed: fixed.to_owned(),
                    names,
                });
                *last = path.to_owned();
                Ok(())
            }
            Some('#') => {
                let [name] = <[String; 1]>::try_from(names)
                    .map_err(|_| "holds more than one variable in its fragment")?;
                self.fragment = Some(name);
                Ok(())
            }
            Some(';') => Err(format!("uses {{{expression}}}, which cannot be matched")),
            Some(other) => Err(format!(
                "uses {other:?} in {{{expression}}}, which is no operator"
            )),
        }
    }

    fn add_literal(&mut self, literal: &str) {
        match self.steps.last_mut() {
            Some(Step::Literal(last)) => last.push_str(literal),
            _ => self.steps.push(Step::Literal(literal.to_owned())),
        }
    }

    fn add_values(
        &mut self,
        names: Vec<String>,
        first: &str,
        between: &str,
        stop: &'static str,
    ) -> Result<(), String> {
        for (index, name) in names.into_iter().enumerate() {
            let lead = if index == 0 { first } else { between };
            if !lead.is_empty() {
                self.add_literal(lead);
            } else if let Some(Step::Variable { name: before, .. }) = self.steps.last() {
                return Err(format!(
                    "has nothing between the variables {before:?} and {name:?}"
                ));
            }
            self.steps.push(Step::Variable { name, stop });
        }
        Ok(())
    }
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn check_name(name: &str, expression: &str) -> Result<String, String> {
    if let Some(modifier) = name.find(['*', ':']).map(|at| &name[at..]) {
        return Err(format!(
            "uses the modifier {modifier:?} in {{{expression}}}, which cannot be matched"
        ));
    }
    if !name
        .split('.')
        .all(|part| !part.is_empty() && part.chars().all(is_name_character))
    {
        return Err(format!(
            "names a variable {name:?}; a name is of letters, digits, '_' and '.'"
        ));
    }
    Ok(name.to_owned())
}

/// Writes text outside of expressions as it stands in an address.
fn encode_literal(literal: &str) -> Result<String, String> {
    let mut encoded = String::with_capacity(literal.len());
    for c in literal.chars() {
        if c.is_ascii() {
            encoded.push(c);
        } else {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    if !is_uri_text(&encoded) {
        return Err(format!("holds {literal:?}, which is no text of an address"));
    }
    Ok(with_upper_triplets(&encoded))
}
