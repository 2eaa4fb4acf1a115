//! A listener for tide apps that notices hang-ups.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use tide::listener::ListenInfo;
use tide::utils::async_trait;

use super::convert::{self, Addresses};
use crate::http::{self, Body, Service};
use crate::{Server, Signal};

/// A listener that is not bound yet.
#[derive(Debug)]
#[must_use = "a listener answers nobody until an app listens on it"]
pub struct Listener {
    source: Source,
    server: Option<Server>,
}

impl Listener {
    /// Ends the listener when `server` is [closed](Server::close): answers are sent within the grace, then connections are
    /// dropped. Only one server can be named; the last call counts. For an app with several see [the end](super#the-end).
    ///
    /// Connections then run on the executor of the server, if it was given one and
    /// [`Options::executor`](http::Options::executor) names no other.
    pub fn closes_with(mut self, server: &Server) -> Self {
        self.server = Some(server.clone());
        self
    }
}

impl From<Source> for Listener {
    fn from(source: Source) -> Self {
        Self {
            source,
            server: None,
        }
    }
}

#[derive(Debug)]
enum Source {
    Address(String),
    Bound(http::Listener),
}

impl From<&str> for Listener {
    fn from(address: &str) -> Self {
        Source::Address(address.to_owned()).into()
    }
}

impl From<String> for Listener {
    fn from(address: String) -> Self {
        Source::Address(address).into()
    }
}

impl From<SocketAddr> for Listener {
    fn from(address: SocketAddr) -> Self {
        Source::Address(address.to_string()).into()
    }
}

impl From<http::Listener> for Listener {
    fn from(listener: http::Listener) -> Self {
        Source::Bound(listener).into()
    }
}

impl<State: Clone + Send + Sync + 'static> tide::listener::ToListener<State> for Listener {
    type Listener = AppListener<State>;

    fn to_listener(self) -> io::Result<Self::Listener> {
        Ok(AppListener {
            source: Some(self.source),
            server: self.server,
            app: None,
            info: None,
        })
    }
}

/// A listener of one app; what [`Listener`] becomes when the app listens.
pub struct AppListener<State> {
    source: Option<Source>,
    server: Option<Server>,
    app: Option<tide::Server<State>>,
    info: Option<ListenInfo>,
}

#[async_trait]
impl<State: Clone + Send + Sync + 'static> tide::listener::Listener<State> for AppListener<State> {
    async fn bind(&mut self, app: tide::Server<State>) -> io::Result<()> {
        let listener = match self.source.take() {
            Some(Source::Address(address)) => http::Listener::bind(address.as_str()).await?,
            Some(Source::Bound(listener)) => listener,
            None => return Err(io::Error::other("the listener is bound already")),
        };
        let (name, transport) = match listener.local_addr() {
            Ok(address) => (format!("http://{address}"), "tcp"),
            Err(_) => ("http+unix://".to_owned(), "uds"),
        };
        self.info = Some(ListenInfo::new(name, transport.to_owned(), false));
        self.source = Some(Source::Bound(listener));
        self.app = Some(app);
        Ok(())
    }

    async fn accept(&mut self) -> io::Result<()> {
        match (self.source.take(), self.app.take()) {
            (Some(Source::Bound(listener)), Some(app)) => match self.server.take() {
                Some(server) => http::serve_with(listener, App::new(app), &server).await,
                None => listener.serve(App::new(app)).await,
            },
            _ => Err(io::Error::other("the listener is not bound")),
        }
    }

    fn info(&self) -> Vec<ListenInfo> {
        self.info.iter().cloned().collect()
    }
}

impl<State> fmt::Debug for AppListener<State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppListener")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

impl<State> fmt::Display for AppListener<State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.info {
            Some(info) => info.fmt(f),
            None => f.write_str("not bound"),
        }
    }
}

/// A tide app as a service of our listener.
struct App<State> {
    app: tide::Server<State>,
    addresses: Addresses,
}

impl<State> App<State> {
    fn new(app: tide::Server<State>) -> Self {
        let addresses = Addresses::default();
        Self { app, addresses }
    }
}

impl<State: Clone + Send + Sync + 'static> Service for App<State> {
    async fn call(
        &self,
        request: ::http::Request<Vec<u8>>,
        signal: Signal,
    ) -> ::http::Response<Body> {
        let request = match convert::request_in(request, signal, &self.addresses) {
            Ok(request) => request,
            Err(refused) => return convert::status(refused),
        };
        match self.app.respond::<_, tide::http::Response>(request).await {
            Ok(response) => convert::response_out(response).await,
            // `respond` never fails; if it did, the client would still be answered.
            Err(err) => convert::status(err.status() as u16),
        }
    }
}
