//! Numbers for whoever watches the server, in the form of OpenMetrics, which Prometheus reads.
//! Owns: their names. Never: names a recording or a person.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What `encode` writes: Prometheus takes a body for what its header says.
pub const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    route: String,
    status: u16,
}

pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    pub uploaded_bytes: Counter,
    pub sealed: Counter,
    recordings: Gauge,
    recordings_bytes: Gauge,
    live: Gauge,
}

impl Metrics {
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("genba");
        let requests = Family::<Answered, Counter>::default();
        registry.register("http_requests", "Requests that were answered", requests.clone());
        let uploaded_bytes = Counter::default();
        registry.register("uploaded_bytes", "Bytes of recordings that were acknowledged", uploaded_bytes.clone());
        let sealed = Counter::default();
        registry.register("recordings_sealed", "Recordings that were sealed by this server", sealed.clone());
        let [recordings, recordings_bytes, live] = [Gauge::default(), Gauge::default(), Gauge::default()];
        registry.register("recordings", "Recordings in the list", recordings.clone());
        registry.register("recordings_bytes", "Their bytes", recordings_bytes.clone());
        registry.register("recordings_live", "Recordings that still grow", live.clone());
        Metrics { registry, requests, uploaded_bytes, sealed, recordings, recordings_bytes, live }
    }

    pub fn note_request(&self, route: &str, status: u16) {
        self.requests.get_or_create(&Answered { route: route.to_owned(), status }).inc();
    }

    pub fn text(&self, recordings: u64, bytes: u64, live: u64) -> String {
        let gauges = [(&self.recordings, recordings), (&self.recordings_bytes, bytes), (&self.live, live)];
        for (gauge, value) in gauges {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
