//! What an imported recording holds, as text. Owns: look-ups in its tables. Never: reads with the code under test.

use std::collections::BTreeMap;
use std::path::Path;

use genba_format::{ReadBlock, proto};
use genba_import::Imported;

pub fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/imports").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn block(imported: &Imported) -> &ReadBlock {
    assert_eq!(imported.recording.blocks.len(), 1);
    &imported.recording.blocks[0]
}

/// Each sample: its frames outermost first, its thread, its ticks, its CPU and wall time in quanta.
pub fn samples(imported: &Imported) -> Vec<(Vec<String>, u32, u64, u64, u64)> {
    let read = block(imported);
    let rows = read.samples.as_ref().expect("samples").rows();
    rows.map(|row| (stack(read, row.node), row.thread, u64::from(row.ticks), row.cpu_quanta, row.wall_quanta)).collect()
}

/// Ticks by the name of each function that is in the stack, once a stack.
pub fn totals(imported: &Imported) -> BTreeMap<String, u64> {
    let mut totals = BTreeMap::new();
    for (frames, _, ticks, _, _) in samples(imported) {
        let mut names: Vec<&str> = frames.iter().map(|frame| without_line(frame)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            *totals.entry(name.to_owned()).or_default() += ticks;
        }
    }
    totals
}

/// Ticks by the innermost frame.
pub fn leaves(imported: &Imported) -> BTreeMap<String, u64> {
    let mut leaves = BTreeMap::new();
    for (frames, _, ticks, _, _) in samples(imported) {
        *leaves.entry(frames.last().cloned().unwrap_or_default()).or_default() += ticks;
    }
    leaves
}

fn without_line(frame: &str) -> &str {
    frame.rsplit_once(" line ").map_or(frame, |(name, _)| name)
}

/// `name:first line:file line 12` of Python, `name [module]` of C, `(words)` of none.
pub fn stack(read: &ReadBlock, leaf: u32) -> Vec<String> {
    let tables = read.block.tables.as_ref().expect("tables");
    let nodes = tables.nodes.as_ref().expect("nodes");
    let string = |index: u32| String::from_utf8_lossy(&tables.strings[index as usize]).into_owned();
    let mut frames = Vec::new();
    let mut next = leaf;
    while next > 0 {
        let row = next as usize - 1;
        assert!(nodes.parent[row] < next, "a parent stands before its node");
        let (table, address) = (nodes.table[row] as usize, nodes.address[row]);
        frames.push(match proto::NodeKind::try_from(nodes.kind[row] as i32) {
            Ok(proto::NodeKind::Python) => {
                let code = &tables.codes[table];
                assert_eq!(code.linetable_bytes as usize, code.linetable.len());
                let name = format!("{}:{}:{}", string(code.qualname), code.first_line, string(code.filename));
                match line(code, address) {
                    Some(line) => format!("{name} line {line}"),
                    None => name,
                }
            }
            Ok(proto::NodeKind::CLeaf) => {
                let path = string(tables.modules[table].path);
                let mut names = read.block.c_names.iter().filter(|name| name.module == path);
                let name = names.find(|name| (name.start..name.end).contains(&address)).expect("a name");
                format!("{} [{path}]", name.name)
            }
            Ok(proto::NodeKind::Mark) => format!("({})", string(nodes.table[row])),
            other => panic!("a node of kind {other:?}"),
        });
        next = nodes.parent[row];
    }
    frames.reverse();
    frames
}

/// The line of a code unit, where each entry of the table is one unit long.
fn line(code: &proto::Code, unit: u64) -> Option<i64> {
    let mut line = i64::from(code.first_line);
    let mut bytes = code.linetable.iter();
    let mut at = 0;
    while let Some(head) = bytes.next() {
        assert_eq!(head & 0x87, 0x80, "the head of an entry of one unit");
        let has_line = (head >> 3) & 15 == 13;
        if has_line {
            let (mut value, mut shift) = (0_i64, 0);
            for byte in bytes.by_ref() {
                value |= i64::from(byte & 0x3f) << shift;
                shift += 6;
                if byte & 0x40 == 0 {
                    break;
                }
            }
            line += if value & 1 == 1 { -(value >> 1) } else { value >> 1 };
        }
        if at == unit {
            return has_line.then_some(line);
        }
        at += 1;
    }
    panic!("unit {unit} is not in the table")
}
