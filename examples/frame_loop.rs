//! A server inside a main loop that draws a frame, handles requests, and never waits for anything else.
//!
//! The scene belongs to the loop, without a lock. Handlers send the loop functions to run on the scene, and get the results
//! a frame later. The server's tasks run in a slice of each frame, on the same thread.
//!
//! ```sh
//! cargo run --example frame_loop
//! ```

use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use serde::Deserialize;
use serde_json::json;
use smol::Executor;
use smol_mcp::{Context, HandlerError, NoInput, Server, Tool, stdio, with_state};

const FRAME: Duration = Duration::from_millis(16);
const SLICE: Duration = Duration::from_millis(4);

#[derive(Default)]
struct Scene {
    frame: u64,
    light: u8,
}

/// A function that a handler wants the loop to run.
type Request = Box<dyn FnOnce(&mut Scene) + Send>;

/// The way from handlers to the scene.
#[derive(Clone)]
struct Stage(Sender<Request>);

impl Stage {
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Scene) -> T + Send + 'static,
    ) -> Result<T, HandlerError> {
        let (answer, answered) = async_channel::bounded(1);
        let request = move |scene: &mut Scene| {
            // Fails if the handler has been dropped.
            let _ = answer.try_send(ask(scene));
        };
        // Fails once the loop has ended; the scene is gone then, and so is every answer.
        let _ = self.0.send(Box::new(request)).await;
        Ok(answered.recv().await?)
    }
}

#[derive(Deserialize)]
struct Fade {
    to: u8,
}

/// Changes the light by one step a frame, until its client has seen enough.
async fn fade(stage: Stage, input: Fade, cx: Context) -> Result<String, HandlerError> {
    loop {
        cx.signal().check()?;
        let (frame, light) = stage
            .ask(move |scene| {
                scene.light = match scene.light < input.to {
                    true => scene.light + 1,
                    false => scene.light.max(1) - 1,
                };
                (scene.frame, scene.light)
            })
            .await?;
        cx.progress(frame, None, format_args!("light {light}"));
        if light == input.to {
            return Ok(format!("light {light}"));
        }
    }
}

fn server(executor: &Arc<Executor<'static>>, stage: Stage) -> Result<Server, smol_mcp::Error> {
    let look = async |stage: Stage, _: NoInput, _: Context| {
        stage.ask(|scene| format!("light {}", scene.light)).await
    };
    let look = Tool::new("look", with_state(&stage, look));
    let fade = Tool::new("fade", with_state(&stage, fade));
    Server::builder("stage", env!("CARGO_PKG_VERSION"))
        .executor(executor.clone())
        .tool(look.description("Says how bright it is, 0 to 255"))
        .tool(
            fade.description("Changes the light, step by step")
                .input_schema(json!({
                    "type": "object",
                    "properties": { "to": { "type": "integer", "minimum": 0, "maximum": 255 } },
                    "required": ["to"],
                })),
        )
        .build()
}

fn main() -> Result<(), Box<dyn Error>> {
    let (sender, requests): (_, Receiver<Request>) = async_channel::bounded(64);
    let executor = Arc::new(Executor::new());
    let server = server(&executor, Stage(sender))?;
    let serving = executor.spawn(async move { stdio::serve(&server).await });

    let mut scene = Scene::default();
    while !serving.is_finished() {
        let next = Instant::now() + FRAME;
        let slice = Instant::now() + SLICE;
        while Instant::now() < slice && executor.try_tick() {}
        while let Ok(request) = requests.try_recv() {
            request(&mut scene);
        }
        // Here the scene is drawn, and the loop waits for the display.
        scene.frame += 1;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    smol::block_on(serving)?;
    Ok(())
}
