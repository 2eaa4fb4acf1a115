//! What a server has seen of a request, as one line without blanks in its parts, for a header of the answer.

use hyper::Request;

/// The header that carries it.
pub const HEADER: &str = "x-seen";

/// Says method, target, version, headers and body. Lines of one name stand together, where the first of them stood.
pub fn tell<B>(request: &Request<B>, body: &[u8]) -> String {
    let mut headers = String::new();
    for name in request.headers().keys() {
        for value in request.headers().get_all(name) {
            headers += &format!("{name}={};", hex(value.as_bytes()));
        }
    }
    let (method, target, version) = (request.method(), request.uri(), request.version());
    let (length, sum) = (body.len(), sum(body));
    format!("{method} {target} {version:?} {headers} {length}:{sum:08x}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// FNV-1a.
fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, &byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
