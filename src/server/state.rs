//! State that handlers share.

/// Makes a handler of a function that takes state, which it shares with other handlers, before its own arguments.
///
/// Each call gets a clone of the state. The function may be a method, or an async closure that captures nothing:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use smol_mcp::protocol::{ResourceContents, ResourceInfo};
/// use smol_mcp::{Context, HandlerError, NoInput, Resource, Server, Tool, with_state};
///
/// #[derive(Default)]
/// struct Shelf(Mutex<Vec<String>>);
///
/// impl Shelf {
///     async fn take(self: Arc<Self>, _: NoInput, _: Context) -> Result<String, HandlerError> {
///         let book = self.0.lock().unwrap().pop();
///         book.ok_or_else(|| HandlerError::public("The shelf is empty."))
///     }
/// }
///
/// async fn read(shelf: Arc<Shelf>, uri: String, _: Context) -> ResourceContents {
///     ResourceContents::text(uri, shelf.0.lock().unwrap().join("\n"))
/// }
///
/// let shelf = Arc::new(Shelf::default());
/// let count = async |shelf: Arc<Shelf>, _: NoInput, _: Context| {
///     format!("{} books", shelf.0.lock().unwrap().len())
/// };
/// let server = Server::builder("shelf", "1.0.0")
///     .tool(Tool::new("take", with_state(&shelf, Shelf::take)))
///     .tool(Tool::new("count", with_state(&shelf, count)))
///     .resource(Resource::new(ResourceInfo::new("shelf:///", "shelf"), with_state(&shelf, read)))
///     .build()?;
/// # let _ = server;
/// # Ok::<_, smol_mcp::Error>(())
/// ```
///
/// It works for everything that takes a function of two arguments: tools of all kinds, resources, prompts,
/// completion, and functions [around](crate::Builder::around) calls.
pub fn with_state<State, First, Second, Output, Handler>(
    state: &State,
    handler: Handler,
) -> impl Fn(First, Second) -> Output + use<State, First, Second, Output, Handler>
where
    State: Clone,
    Handler: Fn(State, First, Second) -> Output,
{
    let state = state.clone();
    move |first, second| handler(state.clone(), first, second)
}
