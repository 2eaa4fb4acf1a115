//! Peer under test: rmcp 3.11.
//!
//!   rmcp-peer stdio [--pipes] [--rt multi|current]
//!   rmcp-peer http [--addr 127.0.0.1:0] [--json] [--stateless] [--keepalive-ms N]
//!                  [--nodelay] [--rt multi|current]
//!
//! `--graceful` (both modes) turns SIGTERM into an orderly stop: cancel the
//! service, wait for it, return from main. Without it the signal just kills.
//! `--nodelay` sets TCP_NODELAY on accepted sockets; without it the listener is
//! set up as in the SDK's own examples (`axum::serve` on a plain listener).
//!
//! Contract with `loadgen` (stderr, one line each, CLOCK_MONOTONIC nanoseconds):
//!   LISTENING <ip:port>        the HTTP socket is bound
//!   STARTED <tag> <ns>         a `slow` handler began
//!   CANCELLED <tag> <ns>       a `slow` handler saw its cancellation
//!   FINISHED <tag> <ns>        a `slow` handler ran to its end
use std::time::Duration;

use rmcp::{
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{ServerCapabilities, ServerConfig},
    schemars, tool, tool_handler, tool_router, ServerHandler, ServiceExt,
};
use tokio_util::sync::CancellationToken;

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct EchoArgs {
    /// Text to return
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct SlowArgs {
    /// Label printed with the time stamps
    #[serde(default)]
    tag: String,
    /// How long to wait when nobody cancels
    #[serde(default)]
    seconds: Option<f64>,
}

#[derive(Clone)]
pub struct Bench {
    tool_router: ToolRouter<Self>,
}

fn mono_ns() -> u64 {
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `ts` is a valid out-pointer for the duration of the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

fn mark(what: &str, tag: &str, at: u64) {
    use std::io::Write;
    let line = format!("{what} {tag} {at}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

#[tool_router]
impl Bench {
    fn new() -> Self {
        Self {
            tool_router: Self::tool_router(),
        }
    }

    #[tool(description = "Returns its text")]
    async fn echo(&self, Parameters(args): Parameters<EchoArgs>) -> String {
        args.text
    }

    #[tool(description = "Waits for its cancellation, or for some seconds (10)")]
    async fn slow(&self, Parameters(args): Parameters<SlowArgs>, ct: CancellationToken) -> String {
        mark("STARTED", &args.tag, mono_ns());
        let wait = Duration::from_secs_f64(args.seconds.unwrap_or(10.0));
        tokio::select! {
            _ = ct.cancelled() => {
                let at = mono_ns();
                mark("CANCELLED", &args.tag, at);
                "cancelled".into()
            }
            _ = tokio::time::sleep(wait) => {
                mark("FINISHED", &args.tag, mono_ns());
                "done".into()
            }
        }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Bench {
    #[allow(deprecated)]
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

type Fail = Box<dyn std::error::Error + Send + Sync>;

/// Fires `ct` on SIGTERM when asked to be graceful.
fn stop_on_term(graceful: bool) -> CancellationToken {
    let ct = CancellationToken::new();
    if graceful {
        let ct = ct.clone();
        tokio::spawn(async move {
            let mut term =
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
                    .expect("signal handler");
            term.recv().await;
            ct.cancel();
        });
    }
    ct
}

async fn stdio(pipes: bool, graceful: bool) -> Result<(), Fail> {
    let ct = stop_on_term(graceful);
    if pipes {
        let s = Bench::new()
            .serve_with_ct(rmcp::transport::io::stdio_pipes(), ct)
            .await?;
        s.waiting().await?;
    } else {
        let s = Bench::new()
            .serve_with_ct(rmcp::transport::stdio(), ct)
            .await?;
        s.waiting().await?;
    }
    Ok(())
}

#[cfg(feature = "http")]
async fn http(
    addr: String,
    json: bool,
    stateless: bool,
    keepalive: Option<u64>,
    nodelay: bool,
    graceful: bool,
) -> Result<(), Fail> {
    use rmcp::transport::streamable_http_server::{
        session::local::LocalSessionManager, StreamableHttpServerConfig, StreamableHttpService,
    };
    let ct = stop_on_term(graceful);
    let mut config = StreamableHttpServerConfig::default()
        .with_cancellation_token(ct.child_token())
        .with_json_response(json)
        .with_legacy_session_mode(!stateless);
    if let Some(ms) = keepalive {
        config = config.with_sse_keep_alive((ms > 0).then(|| Duration::from_millis(ms)));
    }
    let proto = Bench::new();
    let service: StreamableHttpService<Bench, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(proto.clone()),
        LocalSessionManager::default().into(),
        config,
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(&addr).await?;
    eprintln!("LISTENING {}", listener.local_addr()?);
    if nodelay {
        use axum::serve::ListenerExt;
        let listener = listener.tap_io(|s| {
            let _ = s.set_nodelay(true);
        });
        axum::serve(listener, router)
            .with_graceful_shutdown(ct.cancelled_owned())
            .await?;
    } else {
        axum::serve(listener, router)
            .with_graceful_shutdown(ct.cancelled_owned())
            .await?;
    }
    Ok(())
}

#[cfg(not(feature = "http"))]
async fn http(_: String, _: bool, _: bool, _: Option<u64>, _: bool, _: bool) -> Result<(), Fail> {
    Err("built without the http feature".into())
}

fn main() -> Result<(), Fail> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |n: &str| args.iter().any(|a| a == n);
    let opt = |n: &str| {
        args.iter()
            .position(|a| a == n)
            .and_then(|i| args.get(i + 1).cloned())
    };
    let mode = args.first().cloned().unwrap_or_default();
    let rt = if opt("--rt").as_deref() == Some("current") {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
    } else {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?
    };
    rt.block_on(async {
        match mode.as_str() {
            "stdio" => stdio(has("--pipes"), has("--graceful")).await,
            "http" => {
                let addr = opt("--addr").unwrap_or_else(|| "127.0.0.1:0".into());
                let ka = opt("--keepalive-ms").and_then(|v| v.parse().ok());
                http(
                    addr,
                    has("--json"),
                    has("--stateless"),
                    ka,
                    has("--nodelay"),
                    has("--graceful"),
                )
                .await
            }
            _ => Err("usage: rmcp-peer stdio|http ...".into()),
        }
    })
}
