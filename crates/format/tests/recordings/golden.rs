//! The golden recordings, one a format version, are read by every later build and say what they said when written.

use genba_format::{BlockHeader, ReadBlock, laws, proto, read};

use crate::small;

const V1: &[u8] = include_bytes!("../../../../testdata/golden/v1.genba");
const V1_TEXT: &str = include_str!("../../../../testdata/golden/v1.txt");
const V2: &[u8] = include_bytes!("../../../../testdata/golden/v2.genba");
const V2_TEXT: &str = include_str!("../../../../testdata/golden/v2.txt");
const V3: &[u8] = include_bytes!("../../../../testdata/golden/v3.genba");
const V3_TEXT: &str = include_str!("../../../../testdata/golden/v3.txt");

#[test]
fn each_version_says_what_it_said() {
    for (name, bytes, text) in [("v1", V1, V1_TEXT), ("v2", V2, V2_TEXT), ("v3", V3, V3_TEXT)] {
        let found = dump(bytes);
        assert!(found == text, "testdata/golden/{name}.txt says otherwise; found:\n{found}");
    }
}

/// The compressor may change their bytes; what is read from them may not.
#[test]
fn each_version_holds_the_blocks_of_its_generator() {
    for (version, bytes, blocks) in [(1, V1, small::blocks()), (2, V2, small::blocks()), (3, V3, small::version_3())] {
        let read = read(bytes).expect("a recording");
        let found: Vec<_> = read.blocks.iter().map(|read| (read.header, read.whole())).collect();
        let made = blocks.into_iter().map(|(header, block)| (BlockHeader { version, ..header }, block));
        assert_eq!(found, made.collect::<Vec<_>>());
    }
}

fn dump(bytes: &[u8]) -> String {
    let recording = read(bytes).expect("a recording");
    let mut lines = Vec::new();
    for block in &recording.blocks {
        dump_block(block, &mut lines);
    }
    lines.extend(recording.faults.iter().map(|fault| format!("fault: {fault}")));
    lines.extend(recording.lost.iter().map(|lost| format!("lost: {lost:?}")));
    lines.extend(laws::check(&recording).iter().map(|violation| format!("violation: {violation}")));
    lines.push(String::new());
    lines.join("\n")
}

fn dump_block(read: &ReadBlock, lines: &mut Vec<String>) {
    let header = &read.header;
    lines.push(format!(
        "block {} {} of version {}, {} to {} ns",
        header.process_key.escape_ascii(),
        header.sequence,
        header.version,
        header.start_ns,
        header.end_ns
    ));
    let proto::Block {
        start,
        tables,
        samples,
        accounting,
        marks,
        end,
        c_names,
        sources,
        recorder,
        c_places,
        columns,
        reaped,
        packages,
        weights,
        collections,
        collector,
        not_followed,
        heaps,
        traced,
    } = &read.whole();
    // Fields that came later are left out where they are empty: the text stays what it was.
    let empty = [", continues_key: []", ", without_children: false"];
    let without = |line: String, empty: &&str| line.replace(*empty, "");
    lines.extend(start.iter().map(|start| empty.iter().fold(format!("  {start:?}"), without)));
    if let Some(tables) = tables {
        dump_tables(tables, lines);
    }
    if let Some(samples) = samples {
        for row in 0..samples.ticks.len() {
            let context = samples.context.get(row).map_or(String::new(), |context| format!(" context {context}"));
            lines.push(format!(
                "  sample end {:+} thread {} node {} state {} ticks {} cpu {} wall {}{context}",
                samples.end_delta_quanta[row],
                samples.thread[row],
                samples.node[row],
                samples.state[row],
                samples.ticks[row],
                samples.cpu_quanta[row],
                samples.wall_quanta[row]
            ));
        }
    }
    lines.extend(weights.iter().map(|weights| format!("  {weights:?}")));
    lines.extend(collections.iter().map(|collection| format!("  {collection:?}")));
    lines.extend(collector.iter().map(|collector| format!("  {collector:?}")));
    let without = |text: String| text.replace(", cpu_reaped_ns: 0", "").replace(", measures: []", "");
    lines.extend(accounting.iter().map(|accounting| without(format!("  {accounting:?}"))));
    lines.extend(reaped.iter().map(|reaped| format!("  {reaped:?}")));
    lines.extend(marks.iter().map(|mark| format!("  {mark:?}")));
    lines.extend(end.iter().map(|end| format!("  {end:?}")));
    lines.extend(c_names.iter().map(|name| format!("  {name:?}").replace(", full_name: \"\"", "")));
    lines.extend(sources.iter().map(|source| format!("  {source:?}")));
    lines.extend(c_places.iter().map(|places| format!("  {places:?}")));
    lines.extend(packages.iter().map(|package| format!("  package {package}")));
    lines.extend(recorder.iter().map(|recorder| format!("  {recorder:?}")));
    lines.extend(not_followed.iter().map(|row| format!("  {row:?}")));
    lines.extend(traced.iter().map(|traced| format!("  {traced:?}")));
    lines.extend(heaps.iter().map(|heap| format!("  {heap:?}")));
    assert_eq!(*columns, None, "samples are shown as samples");
}

fn dump_tables(tables: &proto::Tables, lines: &mut Vec<String>) {
    for (index, string) in (tables.strings_first..).zip(&tables.strings) {
        lines.push(format!("  string {index} \"{}\"", string.escape_ascii()));
    }
    for (index, module) in (tables.modules_first..).zip(&tables.modules) {
        lines.push(format!("  module {index} {module:?}"));
    }
    for (index, code) in (tables.codes_first..).zip(&tables.codes) {
        lines.push(format!("  code {index} {code:?}"));
    }
    if let Some(nodes) = &tables.nodes {
        for (row, index) in (0..nodes.parent.len()).zip(tables.nodes_first..) {
            lines.push(format!(
                "  node {index} parent {} kind {} table {} address {:#x}",
                nodes.parent[row], nodes.kind[row], nodes.table[row], nodes.address[row]
            ));
        }
    }
    for (index, thread) in (tables.threads_first..).zip(&tables.threads) {
        lines.push(format!("  thread {index} {thread:?}"));
    }
    for (index, context) in (tables.contexts_first..).zip(&tables.contexts) {
        lines.push(format!("  context {index} {context:?}"));
    }
    lines.extend(tables.code_parts.iter().map(|part| format!("  {part:?}")));
    lines.extend(tables.known_addresses.iter().map(|known| format!("  {known:?}")));
}
