//! The questions that can be asked about recordings, as the server writes them to the process that answers.
//! Owns: their form in JSON, which is also a part of the key under which an answer is remembered. Never: answers.

use std::path::PathBuf;

use genba_profile::report::{By, Sort};
use genba_profile::weight::Weight;
use serde::{Deserialize, Serialize};

/// About one recording, or about two where it says so. A name is a file's, as the reader of the answer knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// JSON: `Facts`.
    Facts { name: String },
    /// The viewer's page.
    Page { name: String },
    /// The viewer's page of two recordings.
    Comparison { before_name: String, after_name: String },
    /// As `genba tree --format json`. `min_share` is in per cent.
    Tree { weight: Option<WeighedBy>, inverted: bool, min_share: Option<f64> },
    /// As `genba report --format json`.
    Rows { by: RowsBy, weight: Option<WeighedBy>, sort: OrderBy, limit: Option<usize> },
    /// Resident memory in windows of equal length, and the stacks of that time. Without a process: of the one that was largest.
    Memory { from_ns: Option<u64>, to_ns: Option<u64>, bins: u32, process: Option<usize> },
    /// As `genba diff --format json`, of two recordings.
    Difference { before_name: String, after_name: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeighedBy {
    Cpu,
    Wall,
    Samples,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowsBy {
    #[default]
    Expression,
    Line,
    Function,
    Module,
    Thread,
    Process,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderBy {
    #[default]
    #[serde(rename = "self")]
    Own,
    Total,
}

/// What the process gets to do, in one line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub ask: Ask,
    pub files: Vec<PathBuf>,
    /// Of address space.
    pub memory_bytes: u64,
    pub cpu_s: u64,
}

/// The first line of its answer; the bytes of an answer follow it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub(super) enum Reply {
    Json { bytes: u64 },
    Html { bytes: u64 },
    Refused { title: String, detail: Option<String>, hint: Option<String> },
    Absent { words: String },
    OutOfMemory,
}

impl From<WeighedBy> for Weight {
    fn from(by: WeighedBy) -> Weight {
        match by {
            WeighedBy::Cpu => Weight::Cpu,
            WeighedBy::Wall => Weight::Wall,
            WeighedBy::Samples => Weight::Samples,
        }
    }
}

impl From<RowsBy> for By {
    fn from(by: RowsBy) -> By {
        match by {
            RowsBy::Expression => By::Expression,
            RowsBy::Line => By::Line,
            RowsBy::Function => By::Function,
            RowsBy::Module => By::Module,
            RowsBy::Thread => By::Thread,
            RowsBy::Process => By::Process,
        }
    }
}

impl From<OrderBy> for Sort {
    fn from(by: OrderBy) -> Sort {
        match by {
            OrderBy::Own => Sort::Own,
            OrderBy::Total => Sort::Total,
        }
    }
}
