//! stub
use std::borrow::Cow;
#[derive(Debug)]
pub(crate) struct HeaderParam(String);
impl HeaderParam {
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
    pub(crate) fn check(&self, _: &serde_json::Value, _: Option<&[u8]>) -> Result<(), String> {
        Ok(())
    }
}
pub(crate) fn collect(_: &serde_json::Value) -> Result<Vec<HeaderParam>, String> {
    Ok(Vec::new())
}
pub(crate) fn trim(v: &[u8]) -> &[u8] {
    v.trim_ascii()
}
pub(crate) fn decode(v: &[u8]) -> Option<Cow<'_, str>> {
    std::str::from_utf8(trim(v)).ok().map(Cow::Borrowed)
}
