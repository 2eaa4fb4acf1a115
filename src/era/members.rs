//! An object taken apart into its members, so that some of them can be left out: what stays is copied as it stands.

use std::borrow::Cow;

use crate::protocol::jsonrpc;
use crate::protocol::meta;

/// The members of an object that this crate has written, by name, each as its text.
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Members<'a> {
    /// Takes an object apart; anything else has no members. Objects of the protocol have fewer than are too many.
    #[inline(never)]
    pub(super) fn read(object: &'a str) -> Self {
        let members = jsonrpc::members(object).unwrap_or_default().into_iter();
        let texts = members.map(|(name, value)| (name, Cow::Borrowed(value.get())));
        Self(texts.collect())
    }

    #[inline(never)]
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let member = self.0.iter().find(|(known, _)| known == name);
        member.map(|(_, value)| &**value)
    }

    /// Returns the text of a string member, or nothing.
    pub(super) fn text(&self, name: &str) -> Cow<'_, str> {
        self.get(name).and_then(meta::text_of).unwrap_or_default()
    }

    #[inline(never)]
    pub(super) fn remove(&mut self, names: &[&str]) {
        self.0.retain(|(name, _)| !names.contains(&&**name));
    }

    pub(super) fn insert(&mut self, name: &'static str, value: String) {
        self.remove(&[name]);
        self.0.push((name.into(), value.into()));
    }

    /// Changes a member, if it is there.
    pub(super) fn change(&mut self, name: &str, change: &dyn Fn(&str) -> String) {
        for (_, value) in self.0.iter_mut().filter(|(known, _)| known == name) {
            *value = change(value).into();
        }
    }

    /// Changes each item of a list, if it is there.
    pub(super) fn change_each(&mut self, list: &str, change: &dyn Fn(&str) -> String) {
        self.change(list, &|list| {
            let items = jsonrpc::elements(list).into_iter();
            let items: Vec<_> = items.map(|item| change(item.get())).collect();
            jsonrpc::array(&items)
        });
    }

    /// Puts the object together again.
    #[inline(never)]
    pub(super) fn write(self) -> String {
        let members = self.0.iter();
        jsonrpc::from_members(&mut members.map(|(name, value)| (&**name, &**value)))
    }
}
