//! JSON Schemas of tools: compiled once at registration, without any access to a network.
//!
//! The default dialect is 2020-12; others are told apart by `$schema`. Without the feature `validate` nothing is checked.

use serde_json::Value;

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

    /// Checks a value; the error says where it does not fit, and why.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let Some(validator) = &self.validator else {
            return Ok(());
        };
        match validator.validate(value) {
            Ok(()) => Ok(()),
            Err(err) => match err.instance_path().as_str() {
                "" => Err(err.to_string()),
                path => Err(format!("{path}: {err}")),
            },
        }
    }

    pub(super) fn check_text(&self, text: &str) -> Result<(), String> {
        match self.is_checked() {
            false => Ok(()),
            true => self.check(&serde_json::from_str(text).map_err(|err| err.to_string())?),
        }
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

    pub(super) fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    pub(super) fn check_text(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
}
