//! JSON Schemas of tools: compiled once at registration, without any access to a network.
//!
//! The default dialect is 2020-12; others are told apart by `$schema`. Without the feature `validate` no value is checked.

use std::fmt;

#[cfg(feature = "validate")]
use jsonschema::ValidationError;
#[cfg(feature = "validate")]
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

#[cfg(feature = "validate")]
use crate::protocol::jsonrpc::without_position;

/// Where a value does not fit its schema, and why.
pub(super) struct Misfit {
    pub(super) path: String,
    pub(super) why: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "." => f.write_str(&self.why),
            path => write!(f, "'{path}': {}", self.why),
        }
    }
}

/// Finds what is wrong with the members of an object's schema that clients read themselves: some of them refuse the whole
/// list of tools for one of these. What else may be wrong is told with the feature `validate`.
pub(super) fn mistake(schema: &Value) -> Option<&'static str> {
    let is_schema = |value: &Value| value.is_object() || value.is_boolean();
    let (properties, required) = (schema.get("properties"), schema.get("required"));
    if properties.is_some_and(|all| {
        !all.as_object()
            .is_some_and(|all| all.values().all(is_schema))
    }) {
        return Some("\"properties\" must be an object of schemas");
    }
    if required.is_some_and(|all| {
        !all.as_array()
            .is_some_and(|all| all.iter().all(Value::is_string))
    }) {
        return Some("\"required\" must be an array of names");
    }
    None
}

/// A schema that values are held against, or nothing.
#[derive(Default)]
pub(super) struct Schema {
    #[cfg(feature = "validate")]
    validator: Option<jsonschema::Validator>,
}

#[cfg(feature = "validate")]
impl Schema {
    /// Compiles a schema. One that is none, or that points outside of itself, is refused.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        match jsonschema::options().build(schema) {
            Ok(validator) => Ok(Self {
                validator: Some(validator),
            }),
            Err(err) => Err(err.to_string()),
        }
    }

    pub(super) fn is_checked(&self) -> bool {
        self.validator.is_some()
    }

    /// Checks a value.
    pub(super) fn check(&self, value: &Value) -> Result<(), Misfit> {
        let Some(validator) = &self.validator else {
            return Ok(());
        };
        validator.validate(value).map_err(|err| misfit(&err))
    }

    pub(super) fn check_text(&self, text: &str) -> Result<(), Misfit> {
        if !self.is_checked() {
            return Ok(());
        }
        let value = serde_json::from_str(text).map_err(|err| Misfit {
            path: ".".to_owned(),
            why: without_position(&err),
        })?;
        self.check(&value)
    }
}

/// Says where and why a value does not fit. Of several variants it is the one that was meant, where that can be seen.
#[cfg(feature = "validate")]
fn misfit(err: &ValidationError<'_>) -> Misfit {
    let plain = || Misfit {
        path: path(err.instance_path().as_str()),
        why: err.to_string(),
    };
    let (ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context }) =
        err.kind()
    else {
        return plain();
    };
    let tags: Vec<_> = context
        .iter()
        .filter_map(|errors| errors.iter().find_map(wrong_tag))
        .collect();
    match tags.first() {
        // No variant has the tag that is there.
        Some((place, _))
            if tags.len() == context.len() && tags.iter().all(|tag| tag.0 == *place) =>
        {
            let tags: Vec<_> = tags.iter().map(|(_, tag)| tag.to_string()).collect();
            Misfit {
                path: path(place),
                why: format!("expected one of {}", tags.join(", ")),
            }
        }
        _ => meant(context).map_or_else(plain, misfit),
    }
}

/// Of the variants that have no wrong tag, takes the one that the value goes along with furthest, and what is wrong there.
#[cfg(feature = "validate")]
fn meant<'a>(
    variants: &'a [Vec<ValidationError<'static>>],
) -> Option<&'a ValidationError<'static>> {
    let depth = |err: &ValidationError<'_>| err.instance_path().as_str().matches('/').count();
    let possible = variants
        .iter()
        .filter(|errors| errors.iter().all(|err| wrong_tag(err).is_none()));
    let deepest: Vec<_> = possible
        .filter_map(|errors| errors.iter().max_by_key(|err| depth(err)))
        .collect();
    let most = deepest.iter().map(|err| depth(err)).max();
    let mut best = deepest.into_iter().filter(|err| Some(depth(err)) == most);
    let (first, second) = (best.next(), best.next());
    first.filter(|_| second.is_none())
}

/// The place of a member that has to have one value and has another, and that value.
#[cfg(feature = "validate")]
fn wrong_tag<'a>(err: &'a ValidationError<'_>) -> Option<(&'a str, &'a Value)> {
    match err.kind() {
        ValidationErrorKind::Constant { expected_value } => {
            Some((err.instance_path().as_str(), expected_value))
        }
        _ => None,
    }
}

/// Writes a JSON pointer in the way of `serde_path_to_error`: `/a/0/b` as `a[0].b`, the whole as `.`.
#[cfg(feature = "validate")]
fn path(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        if segment.bytes().all(|byte| byte.is_ascii_digit()) && !segment.is_empty() {
            path += &format!("[{segment}]");
        } else {
            let dot = if path.is_empty() { "" } else { "." };
            path += dot;
            path += &segment.replace("~1", "/").replace("~0", "~");
        }
    }
    match path.is_empty() {
        true => ".".to_owned(),
        false => path,
    }
}

#[cfg(not(feature = "validate"))]
impl Schema {
    pub(super) fn compile(_: &Value) -> Result<Self, String> {
        Ok(Self {})
    }

    pub(super) fn is_checked(&self) -> bool {
        false
    }

    pub(super) fn check(&self, _: &Value) -> Result<(), Misfit> {
        Ok(())
    }

    pub(super) fn check_text(&self, _: &str) -> Result<(), Misfit> {
        Ok(())
    }
}
