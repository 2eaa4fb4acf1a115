//! The floor: the least a server can do for `echo` (read, one serde_json parse, write). No protocol, no cancellation.
use serde_json::Value;
use std::io::{Read, Write};

fn answer(line: &[u8], out: &mut Vec<u8>) {
    let v: Value = match serde_json::from_slice(line) {
        Ok(v) => v,
        Err(_) => return,
    };
    let Some(id) = v.get("id") else { return };
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    serde_json::to_writer(&mut *out, id).unwrap();
    match v["method"].as_str() {
        Some("tools/call") => {
            out.extend_from_slice(b",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":");
            serde_json::to_writer(&mut *out, &v["params"]["arguments"]["text"]).unwrap();
            out.extend_from_slice(b"}]}}");
        }
        _ => out.extend_from_slice(b",\"result\":{\"resultType\":\"complete\",\"tools\":[],\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"floor\",\"version\":\"0\"}}}"),
    }
}

fn stdio() {
    let (mut i, mut o) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut buf, mut out, mut tmp) = (Vec::new(), Vec::new(), vec![0u8; 65536]);
    loop {
        let n = i.read(&mut tmp).unwrap();
        if n == 0 {
            return;
        }
        buf.extend_from_slice(&tmp[..n]);
        let mut at = 0;
        while let Some(e) = buf[at..].iter().position(|&b| b == b'\n') {
            let before = out.len();
            answer(&buf[at..at + e], &mut out);
            if out.len() > before {
                out.push(b'\n');
            }
            at += e + 1;
        }
        buf.drain(..at);
        o.write_all(&out).unwrap();
        o.flush().unwrap();
        out.clear();
    }
}

fn http() {
    use smol::io::{AsyncReadExt, AsyncWriteExt};
    let ex: &'static smol::LocalExecutor<'static> = Box::leak(Box::new(smol::LocalExecutor::new()));
    smol::block_on(ex.run(async {
        let l = smol::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        eprintln!("LISTENING {}", l.local_addr().unwrap());
        loop {
            let (mut s, _) = l.accept().await.unwrap();
            let _ = s.set_nodelay(true);
            ex.spawn(async move {
                let (mut buf, mut out, mut tmp) = (Vec::new(), Vec::new(), vec![0u8; 8192]);
                loop {
                    let mut h = [httparse::EMPTY_HEADER; 32];
                    let mut r = httparse::Request::new(&mut h);
                    let head = match r.parse(&buf) {
                        Ok(httparse::Status::Complete(n)) => {
                            let len: usize = r.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length")).and_then(|h| std::str::from_utf8(h.value).ok()?.parse().ok()).unwrap_or(0);
                            Some((n, len))
                        }
                        _ => None,
                    };
                    if let Some((n, len)) = head {
                        if buf.len() >= n + len {
                            let mut body = Vec::with_capacity(256);
                            answer(&buf[n..n + len], &mut body);
                            out.clear();
                            write!(out, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len()).unwrap();
                            out.extend_from_slice(&body);
                            buf.drain(..n + len);
                            if s.write_all(&out).await.is_err() { return; }
                            continue;
                        }
                    }
                    match s.read(&mut tmp).await { Ok(0) | Err(_) => return, Ok(k) => buf.extend_from_slice(&tmp[..k]) }
                }
            }).detach();
        }
    }));
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => stdio(),
        _ => http(),
    }
}
