//! The server from its start to its end.
//! Owns: the listener, who may connect without a token, what is cleared each hour, the end by a signal. Never: answers a request.

mod connections;
mod local;
mod making;
mod paced;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::chores::{Open, Place};
use crate::keeping::keeper::Keeper;
use crate::routes::router;
use crate::routes::state::Shared;
use crate::serve::connections::{Connections, Limits};
use crate::storage::database::Older;
use crate::storage::{settings, tokens};
use crate::words::problem::{Problem, log};

pub use local::{Answer, Asked, Found, Site, serve_here};

const CLEARED_EVERY: Duration = Duration::from_secs(3_600);
/// Requests that are under way when the server ends.
const ENDING: Duration = Duration::from_secs(20);

pub struct Settings {
    pub listen: SocketAddr,
    pub place: Place,
    pub recording_bytes_max: u64,
    /// Open ones included.
    pub recordings_of_token_max: u64,
    /// None: as it was set before.
    pub keep_days: Option<u32>,
    /// What makes the first token, with the options that say where this server's data is.
    pub first_token: String,
    /// This very program, which reads recordings when it is started with `serve read-one`.
    pub program: PathBuf,
}

/// Until a signal ends it. `said` gets the address once it listens.
pub fn serve(settings: Settings, said: impl FnOnce(SocketAddr) + Send) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Problem::internal("starting threads", &error))?;
    let served = runtime.block_on(serving(settings, said));
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

async fn serving(settings: Settings, said: impl FnOnce(SocketAddr) + Send) -> Result<(), Problem> {
    let Open { keeper } = settings.place.open(&settings.program, Older::Grows).await?;
    let Settings { recording_bytes_max, recordings_of_token_max, .. } = settings;
    let keeper = Keeper { recording_bytes_max, recordings_of_token_max, ..keeper };
    let is_loopback = settings.listen.ip().is_loopback();
    if !is_loopback && !tokens::is_any(&keeper.database).await? {
        return Err(Problem::new(401, format!("authentication is needed to listen on {}", settings.listen))
            .detail("there is no token yet, and others than this machine could connect")
            .hint(settings.first_token));
    }
    // Before somebody knows the address.
    let ended = ended_by_signal()?;
    let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
        Problem::new(503, format!("cannot listen on {}", settings.listen))
            .detail(error.to_string())
            .hint("name another address: --listen 127.0.0.1:8971")
    })?;
    let address = listener.local_addr().map_err(|error| Problem::internal("the address", &error))?;
    // A start that fails leaves another server on the same data as it is.
    if settings.keep_days.is_some() {
        settings::set_keep_days(&keeper.database, settings.keep_days).await?;
    }
    let (end, ending) = watch::channel(false);
    let shared = Arc::new(Shared::new(keeper, is_loopback, ending.clone()));
    let clearing = tokio::spawn(clear_each_hour(Arc::clone(&shared)));
    let connections = Connections::new(router(Arc::clone(&shared)), Limits::of_process(), ending);
    let serving = tokio::spawn(connections.take_all(listener));
    said(address);
    ended.await;
    let _ = end.send(true);
    // Whoever does not finish in time sends its upload's rest again: what was acknowledged is safe.
    let _ = tokio::time::timeout(ENDING, serving).await;
    clearing.abort();
    shared.keeper.database.close().await;
    Ok(())
}

fn ended_by_signal() -> Result<impl Future<Output = ()>, Problem> {
    let wait = |kind| signal(kind).map_err(|error| Problem::internal("waiting for signals", &error));
    let (mut terminate, mut interrupt) = (wait(SignalKind::terminate())?, wait(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn clear_each_hour(shared: Arc<Shared>) {
    let mut hours = tokio::time::interval(CLEARED_EVERY);
    loop {
        hours.tick().await;
        // It is tried again in an hour; the log has the reason.
        if let Err(problem) = shared.keeper.clear().await {
            log(&format!("warning: not everything that is old could be deleted: {problem}"));
        }
    }
}
