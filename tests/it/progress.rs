//! Progress: only with a token, rising, before the answer, never after it.

use serde::Deserialize;
use smol_mcp::Context;

/// What the tool `report` reports, one after the other, without a pause.
#[derive(Deserialize)]
pub(crate) struct Reports {
    values: Vec<f64>,
}

pub(crate) async fn report(reports: Reports, cx: Context) {
    for value in reports.values {
        cx.progress(value, None, format_args!("at {value}"));
    }
}
