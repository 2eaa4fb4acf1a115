//! Forms: what they ask for, and whether an answer fits.

use std::fmt;

use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::format;
use crate::protocol::Invalid;
use crate::protocol::object::{setters, words};

/// Says what a form asks for: fields in the order in which they are shown.
///
/// Building never fails; [`check`](Self::check) finds the mistakes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormSchema {
    fields: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: String,
    field: Field,
    required: bool,
}

impl FormSchema {
    /// Makes a form without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that must be filled in.
    #[must_use]
    pub fn required(self, name: impl Into<String>, field: impl Into<Field>) -> Self {
        self.field(name.into(), field.into(), true)
    }

    /// Adds a field that may be left empty.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, field: impl Into<Field>) -> Self {
        self.field(name.into(), field.into(), false)
    }

    fn field(mut self, name: String, field: Field, required: bool) -> Self {
        self.fields.push(Entry {
            name,
            field,
            required,
        });
        self
    }

    /// Checks that the form can be filled in.
    ///
    /// # Errors
    ///
    /// When two fields have one name, a choice offers nothing or one value twice, a number is not
    /// finite, a minimum exceeds its maximum, or a default would not be accepted as an answer. The
    /// error names the field.
    pub fn check(&self) -> Result<(), Invalid> {
        for (position, Entry { name, field, .. }) in self.fields.iter().enumerate() {
            if self.fields[..position]
                .iter()
                .any(|earlier| earlier.name == *name)
            {
                return Err(Invalid::new(format!("field {name:?} is there twice")));
            }
            field.check().map_err(|reason| of_field(name, reason))?;
        }
        Ok(())
    }

    /// Checks the content of an answer against the form.
    ///
    /// Members that the form did not ask for are allowed, as in JSON Schema.
    ///
    /// # Errors
    ///
    /// When a required field is missing or a value does not fit its field. The error names the
    /// field.
    ///
    /// ```
    /// use serde_json::json;
    /// use smol_mcp::protocol::{Field, FormSchema};
    ///
    /// let schema = FormSchema::new().required("age", Field::integer().minimum(18));
    /// let validate = |content: serde_json::Value| schema.validate(content.as_object().unwrap());
    /// assert!(validate(json!({"age": 18})).is_ok());
    /// assert_eq!(validate(json!({"age": 17})).unwrap_err().to_string(), r#"field "age": less than 18"#);
    /// assert_eq!(validate(json!({})).unwrap_err().to_string(), r#"field "age": missing"#);
    /// ```
    pub fn validate(&self, content: &Map<String, Value>) -> Result<(), Invalid> {
        for Entry {
            name,
            field,
            required,
        } in &self.fields
        {
            match content.get(name) {
                Some(value) => field
                    .validate(value)
                    .map_err(|reason| of_field(name, reason))?,
                None if *required => return Err(of_field(name, "missing")),
                None => {}
            }
        }
        Ok(())
    }
}

fn of_field(name: &str, reason: impl fmt::Display) -> Invalid {
    Invalid::new(format!("field {name:?}: {reason}"))
}

impl FormSchema {
    /// Tells whether it asks for several values at once, as forms do since 2025-11-25.
    pub(crate) fn has_choices(&self) -> bool {
        self.fields
            .iter()
            .any(|entry| matches!(entry.field, Field::Choices(_)))
    }

    /// The form as revisions before 2025-11-25 know it: titles of choices stand in `enumNames`, and
    /// booleans alone have defaults.
    pub(crate) fn before_2025_11_25(&self) -> impl Serialize + '_ {
        Written {
            fields: &self.fields,
            property: Field::before_2025_11_25,
        }
    }
}

impl Serialize for FormSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Written {
            fields: &self.fields,
            property: |field| field,
        };
        written.serialize(serializer)
    }
}

/// A form, with its fields written in one way or another.
struct Written<'a, T> {
    fields: &'a [Entry],
    property: fn(&'a Field) -> T,
}

impl<T: Serialize> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Properties<'a, 'b, T>(&'b Written<'a, T>);

        impl<T: Serialize> Serialize for Properties<'_, '_, T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Written { fields, property } = self.0;
                serializer.collect_map(
                    fields
                        .iter()
                        .map(|entry| (&entry.name, property(&entry.field))),
                )
            }
        }

        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|entry| entry.required)
            .map(|entry| entry.name.as_str())
            .collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties(self))?;
        if !required.is_empty() {
            map.serialize_entry("required", &required)?;
        }
        map.end()
    }
}

/// Describes one field of a form. Each kind has its own type with its settings.
///
/// ```
/// use smol_mcp::protocol::Field;
///
/// let json = |field: Field| serde_json::to_string(&field).unwrap();
/// assert_eq!(json(Field::text().max_length(80).into()), r#"{"type":"string","maxLength":80}"#);
/// assert_eq!(json(Field::number().minimum(0.5).into()), r#"{"type":"number","minimum":0.5}"#);
/// assert_eq!(
///     json(Field::choice([("r", "Red"), ("g", "Green")]).default_value("g").into()),
///     r#"{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}],"default":"g"}"#,
/// );
/// assert_eq!(
///     json(Field::choices(["a", "b"]).max_items(1).into()),
///     r#"{"type":"array","maxItems":1,"items":{"enum":["a","b"],"type":"string"}}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Field {
    /// A line of text.
    Text(TextField),
    /// A number.
    Number(NumberField),
    /// Yes or no.
    Boolean(BooleanField),
    /// One out of several values.
    Choice(ChoiceField),
    /// Any number out of several values. Sent since 2025-11-25.
    Choices(ChoicesField),
}

impl Field {
    /// Describes a line of text.
    pub fn text() -> TextField {
        TextField::default()
    }

    /// Describes a number.
    pub fn number() -> NumberField {
        NumberField::default()
    }

    /// Describes a whole number. `42.0` is one, as in JSON Schema.
    pub fn integer() -> NumberField {
        NumberField {
            integer: true,
            ..NumberField::default()
        }
    }

    /// Describes a yes or no.
    pub fn boolean() -> BooleanField {
        BooleanField::default()
    }

    /// Describes one out of several values: strings, or pairs of a value and the text
    /// shown to people.
    pub fn choice(choices: impl IntoIterator<Item = impl Into<Choice>>) -> ChoiceField {
        ChoiceField {
            choices: collect(choices),
            ..ChoiceField::default()
        }
    }

    /// Describes any number out of several values: strings, or pairs of a value and the text shown
    /// to people.
    pub fn choices(choices: impl IntoIterator<Item = impl Into<Choice>>) -> ChoicesField {
        ChoicesField {
            choices: collect(choices),
            ..ChoicesField::default()
        }
    }

    /// Checks the field itself, its default included.
    fn check(&self) -> Result<(), String> {
        let default = match self {
            Self::Text(text) => {
                ordered(text.min_length, text.max_length)?;
                text.default_value.as_ref().map(|default| json!(default))
            }
            Self::Number(number) => {
                if [number.minimum, number.maximum, number.default_value]
                    .into_iter()
                    .flatten()
                    .any(|x| !x.is_finite())
                {
                    return Err("not a finite number".into());
                }
                ordered(number.minimum, number.maximum)?;
                number.default_value.map(to_number)
            }
            Self::Boolean(_) => None,
            Self::Choice(choice) => {
                distinct(&choice.choices)?;
                choice.default_value.as_ref().map(|default| json!(default))
            }
            Self::Choices(choices) => {
                distinct(&choices.choices)?;
                ordered(choices.min_items, choices.max_items)?;
                choices.default_value.as_ref().map(|default| json!(default))
            }
        };
        match default {
            Some(default) => self
                .validate(&default)
                .map_err(|reason| format!("default: {reason}")),
            None => Ok(()),
        }
    }

    fn before_2025_11_25(&self) -> Value {
        let mut field = match self {
            Self::Choice(choice) => json!(Self::Choice(choice.clone().enum_names())),
            field => json!(field),
        };
        if let (false, Value::Object(members)) = (matches!(self, Self::Boolean(_)), &mut field) {
            members.remove("default");
        }
        field
    }

    fn validate(&self, value: &Value) -> Result<(), String> {
        match self {
            Self::Text(text) => text.validate(value.as_str().ok_or("not a string")?),
            Self::Number(number) => number.validate(value.as_f64().ok_or("not a number")?),
            Self::Boolean(_) => value
                .as_bool()
                .map(drop)
                .ok_or_else(|| "not a boolean".into()),
            Self::Choice(choice) => offered(&choice.choices, value),
            Self::Choices(choices) => choices.validate(value.as_array().ok_or("not an array")?),
        }
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let (kind, title, description) = match self {
            Self::Text(text) => ("string", &text.title, &text.description),
            Self::Number(number) if number.integer => {
                ("integer", &number.title, &number.description)
            }
            Self::Number(number) => ("number", &number.title, &number.description),
            Self::Boolean(boolean) => ("boolean", &boolean.title, &boolean.description),
            Self::Choice(choice) => ("string", &choice.title, &choice.description),
            Self::Choices(choices) => ("array", &choices.title, &choices.description),
        };
        map.serialize_entry("type", kind)?;
        entry(&mut map, "title", title)?;
        entry(&mut map, "description", description)?;
        match self {
            Self::Text(text) => {
                entry(&mut map, "minLength", &text.min_length)?;
                entry(&mut map, "maxLength", &text.max_length)?;
                entry(&mut map, "format", &text.format)?;
                entry(&mut map, "default", &text.default_value)?;
            }
            Self::Number(number) => {
                entry(&mut map, "minimum", &number.minimum.map(to_number))?;
                entry(&mut map, "maximum", &number.maximum.map(to_number))?;
                entry(&mut map, "default", &number.default_value.map(to_number))?;
            }
            Self::Boolean(boolean) => entry(&mut map, "default", &boolean.default_value)?,
            Self::Choice(choice) => {
                if is_titled(&choice.choices) && !choice.enum_names {
                    map.serialize_entry("oneOf", &titled(&choice.choices))?;
                } else {
                    map.serialize_entry("enum", &untitled(&choice.choices))?;
                }
                if is_titled(&choice.choices) && choice.enum_names {
                    map.serialize_entry("enumNames", &titles(&choice.choices))?;
                }
                entry(&mut map, "default", &choice.default_value)?;
            }
            Self::Choices(choices) => {
                entry(&mut map, "minItems", &choices.min_items)?;
                entry(&mut map, "maxItems", &choices.max_items)?;
                let items = if is_titled(&choices.choices) {
                    json!({"anyOf": titled(&choices.choices)})
                } else {
                    json!({"type": "string", "enum": untitled(&choices.choices)})
                };
                map.serialize_entry("items", &items)?;
                entry(&mut map, "default", &choices.default_value)?;
            }
        }
        map.end()
    }
}

/// Describes a line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextField {
    title: Option<String>,
    description: Option<String>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    format: Option<Format>,
    default_value: Option<String>,
}

impl TextField {
    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what the field is for.
        description: impl Into<String> = Some(description.into());
        /// Sets how many characters it takes at least.
        min_length: u64 = Some(min_length);
        /// Sets how many characters it takes at most.
        max_length: u64 = Some(max_length);
        /// Sets what the text must look like.
        format: Format = Some(format);
        /// Sets what is filled in at first.
        default_value: impl Into<String> = Some(default_value.into());
    }

    fn validate(&self, text: &str) -> Result<(), String> {
        let length = text.chars().count() as u64;
        if let Some(min) = self.min_length.filter(|min| length < *min) {
            return Err(format!("shorter than {min} characters"));
        }
        if let Some(max) = self.max_length.filter(|max| length > *max) {
            return Err(format!("longer than {max} characters"));
        }
        match self.format {
            Some(format) if !format.fits(text) => Err(format!("not of the format {format}")),
            _ => Ok(()),
        }
    }
}

words! {
    /// Names what a text must look like.
    pub enum Format: "format" {
        /// An e-mail address.
        Email = "email",
        /// An absolute URI.
        Uri = "uri",
        /// A day, `2026-07-28`.
        Date = "date",
        /// A moment, `2026-07-28T09:00:00Z`.
        DateTime = "date-time",
    }
}

impl Format {
    /// Tells whether a text has this format. Of e-mail addresses only the outline is checked.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => format::is_email(text),
            Self::Uri => format::is_uri(text),
            Self::Date => format::is_date(text),
            Self::DateTime => format::is_date_time(text),
        }
    }
}

/// Describes a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumberField {
    integer: bool,
    title: Option<String>,
    description: Option<String>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    default_value: Option<f64>,
}

impl NumberField {
    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what the field is for.
        description: impl Into<String> = Some(description.into());
        /// Sets the least number it takes.
        minimum: impl Into<f64> = Some(minimum.into());
        /// Sets the greatest number it takes.
        maximum: impl Into<f64> = Some(maximum.into());
        /// Sets what is filled in at first.
        default_value: impl Into<f64> = Some(default_value.into());
    }

    fn validate(&self, number: f64) -> Result<(), String> {
        if self.integer && number.fract() != 0.0 {
            return Err("not a whole number".into());
        }
        if let Some(min) = self.minimum.filter(|min| number < *min) {
            return Err(format!("less than {min}"));
        }
        if let Some(max) = self.maximum.filter(|max| number > *max) {
            return Err(format!("more than {max}"));
        }
        Ok(())
    }
}

/// Describes a yes or no.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BooleanField {
    title: Option<String>,
    description: Option<String>,
    default_value: Option<bool>,
}

impl BooleanField {
    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what the field is for.
        description: impl Into<String> = Some(description.into());
        /// Sets what is chosen at first.
        default_value: bool = Some(default_value);
    }
}

/// Describes one out of several values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChoiceField {
    title: Option<String>,
    description: Option<String>,
    choices: Vec<Choice>,
    default_value: Option<String>,
    enum_names: bool,
}

impl ChoiceField {
    /// Writes the titles in `enumNames` instead of `oneOf`, for clients that know only those.
    ///
    /// Clients of revisions before 2025-11-25 always get `enumNames`.
    ///
    /// ```
    /// use smol_mcp::protocol::Field;
    ///
    /// let field: Field = Field::choice([("r", "Red"), ("g", "Green")]).enum_names().into();
    /// assert_eq!(
    ///     serde_json::to_string(&field).unwrap(),
    ///     r#"{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}"#,
    /// );
    /// ```
    #[must_use]
    pub fn enum_names(mut self) -> Self {
        self.enum_names = true;
        self
    }

    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what the field is for.
        description: impl Into<String> = Some(description.into());
        /// Sets the value that is chosen at first.
        default_value: impl Into<String> = Some(default_value.into());
    }
}

/// Describes any number out of several values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChoicesField {
    title: Option<String>,
    description: Option<String>,
    choices: Vec<Choice>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    default_value: Option<Vec<String>>,
}

impl ChoicesField {
    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what the field is for.
        description: impl Into<String> = Some(description.into());
        /// Sets how many values must be chosen at least.
        min_items: u64 = Some(min_items);
        /// Sets how many values may be chosen at most.
        max_items: u64 = Some(max_items);
        /// Sets the values that are chosen at first.
        default_value: impl IntoIterator<Item = impl Into<String>> =
            Some(default_value.into_iter().map(Into::into).collect());
    }

    fn validate(&self, values: &[Value]) -> Result<(), String> {
        let count = values.len() as u64;
        if let Some(min) = self.min_items.filter(|min| count < *min) {
            return Err(format!("fewer than {min} values"));
        }
        if let Some(max) = self.max_items.filter(|max| count > *max) {
            return Err(format!("more than {max} values"));
        }
        values
            .iter()
            .try_for_each(|value| offered(&self.choices, value))
    }
}

/// Holds a value that is offered, and the text shown to people for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    value: String,
    title: Option<String>,
}

impl From<&str> for Choice {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

impl From<String> for Choice {
    fn from(value: String) -> Self {
        Self { value, title: None }
    }
}

impl<V: Into<String>, T: Into<String>> From<(V, T)> for Choice {
    fn from((value, title): (V, T)) -> Self {
        Self {
            value: value.into(),
            title: Some(title.into()),
        }
    }
}

/// Each kind of field by `From`, for [`FormSchema::required`] and [`FormSchema::optional`].
macro_rules! fields {
    ($($kind:ident($ty:ident),)*) => {
        $(
            impl From<$ty> for Field {
                fn from(field: $ty) -> Self {
                    Self::$kind(field)
                }
            }
        )*
    };
}

fields! {
    Text(TextField),
    Number(NumberField),
    Boolean(BooleanField),
    Choice(ChoiceField),
    Choices(ChoicesField),
}

fn collect(choices: impl IntoIterator<Item = impl Into<Choice>>) -> Vec<Choice> {
    choices.into_iter().map(Into::into).collect()
}

/// One title is enough for all to travel with one; the others are titled by their values.
fn is_titled(choices: &[Choice]) -> bool {
    choices.iter().any(|choice| choice.title.is_some())
}

fn titled(choices: &[Choice]) -> Vec<Value> {
    choices
        .iter()
        .zip(titles(choices))
        .map(|(choice, title)| json!({"const": choice.value, "title": title}))
        .collect()
}

fn titles(choices: &[Choice]) -> Vec<&str> {
    choices
        .iter()
        .map(|choice| choice.title.as_ref().unwrap_or(&choice.value).as_str())
        .collect()
}

fn untitled(choices: &[Choice]) -> Vec<&str> {
    choices.iter().map(|choice| choice.value.as_str()).collect()
}

fn offered(choices: &[Choice], value: &Value) -> Result<(), String> {
    let value = value.as_str().ok_or("not a string")?;
    if choices.iter().any(|choice| choice.value == value) {
        Ok(())
    } else {
        Err("not one of the choices".into())
    }
}

fn distinct(choices: &[Choice]) -> Result<(), String> {
    if choices.is_empty() {
        return Err("nothing to choose from".into());
    }
    for (position, choice) in choices.iter().enumerate() {
        if choices[..position]
            .iter()
            .any(|earlier| earlier.value == choice.value)
        {
            return Err(format!("the choice {:?} is there twice", choice.value));
        }
    }
    Ok(())
}

fn ordered<T: PartialOrd>(min: Option<T>, max: Option<T>) -> Result<(), String> {
    match (min, max) {
        (Some(min), Some(max)) if min > max => Err("the minimum exceeds the maximum".into()),
        _ => Ok(()),
    }
}

/// Writes whole numbers without a fraction, as far as an `f64` holds them exactly.
fn to_number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < (1_u64 << 53) as f64 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

fn entry<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &str,
    value: &Option<T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(name, value),
        None => Ok(()),
    }
}
