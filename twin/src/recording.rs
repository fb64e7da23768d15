//! `recording FILE`: the stacks of a recording in the twin's text, C frames by where their function begins.
//! Owns: reading raw nodes, so that no name and no view stands between. Leaves out: inferred frames, which the twin has none of.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use genba_format::ProcessKey;
use genba_format::proto::{self, NodeKind};

use crate::distribution::Distribution;
use crate::files::{File, outside};

pub struct Options {
    pub file: PathBuf,
    pub under: String,
    pub root: PathBuf,
    /// CLOCK_MONOTONIC: samples that end within are counted.
    pub from_ns: u64,
    pub to_ns: u64,
}

/// The tables of one process key.
#[derive(Default)]
struct Tables {
    strings: Vec<String>,
    modules: Vec<proto::Module>,
    codes: Vec<proto::Code>,
    nodes: Vec<[u64; 4]>,
}

pub fn run(options: &Options) -> Result<(), String> {
    const QUANTUM_NS: i64 = genba_format::QUANTUM_NS as i64;
    const RUNNING_AND_GC: std::ops::RangeInclusive<u32> = 0..=1;
    let path = options.file.display();
    let bytes = fs::read(&options.file).map_err(|error| format!("cannot read {path}: {error}"))?;
    let recording = genba_format::read(&bytes).map_err(|error| format!("{path}: {error:?}"))?;
    if !recording.faults.is_empty() {
        return Err(format!("{path} is damaged: {:?}", recording.faults));
    }
    let mut processes: HashMap<ProcessKey, Tables> = HashMap::new();
    let mut files: HashMap<String, Option<File>> = HashMap::new();
    let mut distribution = Distribution::default();
    for read in &recording.blocks {
        let tables = processes.entry(read.header.process_key).or_default();
        if let Some(new) = &read.block.tables {
            tables.extend(new);
        }
        let Some(samples) = &read.samples else { continue };
        let mut end_quanta = read.header.start_ns as i64 / QUANTUM_NS;
        for (row, end_delta_quanta) in samples.rows().zip(samples.end_deltas_quanta()) {
            end_quanta += end_delta_quanta;
            let within = (options.from_ns..options.to_ns).contains(&((end_quanta * QUANTUM_NS) as u64));
            if within && RUNNING_AND_GC.contains(&row.state) {
                let frames = tables.frames(row.node, &mut files, options);
                distribution.add(&frames, &options.under, 1);
            }
        }
    }
    distribution.print();
    Ok(())
}

impl Tables {
    fn extend(&mut self, new: &proto::Tables) {
        self.strings.extend(new.strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()));
        self.modules.extend(new.modules.iter().cloned());
        self.codes.extend(new.codes.iter().cloned());
        if let Some(nodes) = &new.nodes {
            self.nodes.extend(
                (0..nodes.parent.len())
                    .map(|index| {
                        [nodes.parent[index], nodes.kind[index], nodes.table[index]]
                            .map(u64::from)
                            .into_iter()
                            .collect::<Vec<_>>()
                    })
                    .zip(&nodes.address)
                    .map(|(three, &address)| [three[0], three[1], three[2], address]),
            );
        }
    }

    /// Outermost first. Node indices count from 1; 0 is the end.
    fn frames(&self, leaf: u32, files: &mut HashMap<String, Option<File>>, options: &Options) -> Vec<String> {
        let mut frames = Vec::new();
        let mut next = u64::from(leaf);
        while let Some(index) = next.checked_sub(1) {
            let [parent, kind, table, address] = self.nodes[index as usize];
            frames.extend(self.frame(kind as i32, table as usize, address, files, options));
            next = parent;
        }
        frames.reverse();
        frames
    }

    fn frame(
        &self,
        kind: i32,
        table: usize,
        address: u64,
        files: &mut HashMap<String, Option<File>>,
        options: &Options,
    ) -> Option<String> {
        const ANONYMOUS: u32 = 2;
        let text = |index: u32| self.strings[index as usize].as_str();
        let kind = NodeKind::try_from(kind).ok()?;
        let back = match kind {
            NodeKind::CReturn => 1,
            NodeKind::CLeaf => 0,
            NodeKind::CInferredCall | NodeKind::CInferredOperands => return None,
            NodeKind::Mark => return Some(text(table as u32).to_owned()),
            NodeKind::Python => {
                let code = &self.codes[table];
                return Some(format!("{} ({}:{})", text(code.qualname), text(code.filename), code.first_line));
            }
        };
        let module = &self.modules[table];
        if module.kind == ANONYMOUS {
            return Some("[anonymous]".to_owned());
        }
        let path = text(module.path);
        let file = files.entry(path.to_owned()).or_insert_with(|| {
            let bytes = fs::read(outside(&options.root, path)).ok()?;
            File::parse(path, &bytes).ok()
        });
        Some(match file {
            Some(file) => file.spell(address - back),
            // The vDSO is no file.
            None => format!("{path}+?"),
        })
    }
}
