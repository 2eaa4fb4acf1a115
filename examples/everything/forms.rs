//! Forms: every kind of field, with defaults and with choices.

use smol_mcp::protocol::{Elicit, Field, FormSchema};
use smol_mcp::{Builder, Context, HandlerError, NoInput, Tool};

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", |_: NoInput, cx| {
                fill_in(defaults(), cx)
            })
            .description("Asks the person to fill in a form that has defaults"),
        )
        .tool(
            Tool::new("test_elicitation_sep1330_enums", |_: NoInput, cx| {
                fill_in(choices(), cx)
            })
            .description("Asks the person to fill in a form that offers choices"),
        )
}

fn defaults() -> FormSchema {
    FormSchema::new()
        .optional(
            "name",
            Field::text().title("Name").default_value("John Doe"),
        )
        .optional("age", Field::integer().title("Age").default_value(30))
        .optional("score", Field::number().title("Score").default_value(95.5))
        .optional(
            "status",
            Field::choice(["active", "inactive", "pending"])
                .title("Status")
                .default_value("active"),
        )
        .optional(
            "verified",
            Field::boolean().title("Verified").default_value(true),
        )
}

fn choices() -> FormSchema {
    let plain = ["option1", "option2", "option3"];
    let titled = [
        ("value1", "First Option"),
        ("value2", "Second Option"),
        ("value3", "Third Option"),
    ];
    let named = [
        ("opt1", "Option One"),
        ("opt2", "Option Two"),
        ("opt3", "Option Three"),
    ];
    FormSchema::new()
        .optional("untitledSingle", Field::choice(plain))
        .optional("titledSingle", Field::choice(titled))
        // For clients that know the titles of choices by no other way.
        .optional("legacyEnum", Field::choice(named).enum_names())
        .optional("untitledMulti", Field::choices(plain))
        .optional("titledMulti", Field::choices(titled))
}

async fn fill_in(form: FormSchema, cx: Context) -> Result<String, HandlerError> {
    let answer = cx
        .elicit("form", Elicit::form("Please fill in the form.", form))
        .await?;
    match answer.is_accepted() {
        true => Ok(format!(
            "filled in: {}",
            serde_json::to_string(&answer.content)?
        )),
        false => Ok("not filled in".to_owned()),
    }
}
