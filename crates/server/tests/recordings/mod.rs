//! Recordings for the tests: the golden ones, and hostile ones that are made here.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use genba_format::{BlockHeader, compress, encode_block, proto};
use tempfile::NamedTempFile;

const KEY: [u8; 16] = [7; 16];

pub fn golden(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/golden/{version}.genba"))
}

pub fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    file.flush().expect("room for it");
    file
}

/// Of a run that was killed: one function of that name, in that file, with a hundred samples in line 2; no source.
pub fn spoken(function: &str, file: &str) -> Vec<u8> {
    let strings = ["", function, file, "python3.15"];
    let tables = proto::Tables {
        strings: strings.iter().map(|text| text.as_bytes().to_vec()).collect(),
        codes: vec![proto::Code {
            qualname: 1,
            filename: 2,
            first_line: 1,
            // One instruction: the line behind the first one, without columns.
            linetable_bytes: 2,
            linetable: vec![0x80 | (13 << 3), 2],
        }],
        nodes: Some(proto::Nodes { parent: vec![0], kind: vec![0], table: vec![0], address: vec![0] }),
        threads: vec![proto::Thread { tid: 4127, name: 3, start_ns: 1_000 }],
        ..proto::Tables::default()
    };
    let rows = 100;
    let samples = proto::Samples {
        end_delta_quanta: vec![100; rows],
        thread: vec![0; rows],
        node: vec![1; rows],
        state: vec![0; rows],
        ticks: vec![1; rows],
        cpu_quanta: vec![100; rows],
        wall_quanta: vec![100; rows],
        ..proto::Samples::default()
    };
    let block = proto::Block {
        start: Some(proto::Start {
            pid: 4127,
            executable: "/usr/bin/python3.15".into(),
            argv: vec!["python3.15".into(), "app.py".into()],
            python_version: "3.15.2".into(),
            interval_ns: 1_000_000,
            realtime_ns: 1_795_000_000_000_000_000,
            monotonic_ns: 1_000,
            native: true,
            ..proto::Start::default()
        }),
        tables: Some(tables),
        samples: Some(samples),
        accounting: Some(proto::Accounting {
            ticks: rows as u64,
            sampled: rows as u64,
            cpu_process_ns: 160_000_000,
            cpu_sampled_ns: 160_000_000,
            ..proto::Accounting::default()
        }),
        ..proto::Block::default()
    };
    stored(&block)
}

/// A block that grows to far more than its bytes when it is decoded: a few kB with millions of empty strings.
pub fn bomb() -> Vec<u8> {
    let tables = proto::Tables { strings: vec![Vec::new(); 4_000_000], ..proto::Tables::default() };
    stored(&proto::Block { tables: Some(tables), ..proto::Block::default() })
}

/// The numbers of a page as they are; anything else stays.
pub fn unpacked(page: &str) -> String {
    let Some((_, numbers)) = page.split_once("data-numbers=\"gzip+base64\">") else { return page.to_owned() };
    let packed = STANDARD.decode(numbers.split('<').next().unwrap_or_default().trim()).expect("base64");
    let mut plain = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut plain).expect("gzip");
    plain
}

fn stored(block: &proto::Block) -> Vec<u8> {
    let header = BlockHeader {
        version: genba_format::VERSION,
        process_key: KEY,
        sequence: 0,
        start_ns: 1_000,
        end_ns: 160_001_000,
    };
    let mut file = Vec::new();
    encode_block(&header, block.clone(), &mut compress, &mut file).expect("a block that is small enough");
    file
}
