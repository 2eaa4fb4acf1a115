//! The nouns of the protocol as they travel: exact JSON out, the same back in, and complaints that name the member.
#![cfg(feature = "server")]

mod protocol {
    mod nouns;
    mod refused;
    #[cfg(feature = "validate")]
    mod schema;
}
