//! Several recordings as one profile: the rows of each behind those of the one before.
//! Keeps: processes and threads of different recordings stay apart, whatever their numbers; what each recording counted
//! adds up; a function that is the same in two of them is one function, unless its file was changed in between.

use foldhash::HashMap;

use crate::making::build::promoted;
use crate::tables::locations::Location;
use crate::tables::owner::is_nameless;
use crate::tables::profile::{
    CLine, Collection, Collector, Context, ContextIndex, File, FileIndex, Frame, FrameIndex, FrameKind, Function,
    FunctionIndex, Heap, Home, LockWait, Mark, Module, ModuleIndex, Node, NodeIndex, Process, ProcessIndex, Profile,
    Recorder, Rss, SampleGroup, StackDepth, Step, Thread, ThreadIndex, WeightGroup,
};
use crate::tables::source_text::Expression;
use crate::tables::table::{Table, TableIndex};

/// Each with the name that its processes are told apart by. One alone stays as it is. None of them is `promoted` yet; the result is.
pub fn joined(mut profiles: Vec<(String, Profile)>) -> Profile {
    if profiles.len() == 1
        && let Some((_, only)) = profiles.pop()
    {
        return promoted(only);
    }
    let mut joined = Profile { recordings: profiles.len() as u64, ..Profile::default() };
    joined.start_realtime_ns = profiles.iter().filter_map(|(_, profile)| profile.start_realtime_ns).min();
    joined.recorder = recorder(&profiles);
    let mut tables = Tables::default();
    for (name, profile) in profiles {
        add(&mut joined, &mut tables, &name, profile);
    }
    promoted(joined)
}

/// None where one of them was killed. The program's end is not one of all.
fn recorder(profiles: &[(String, Profile)]) -> Option<Recorder> {
    let recorders: Option<Vec<&Recorder>> = profiles.iter().map(|(_, profile)| profile.recorder.as_ref()).collect();
    let recorders = recorders?;
    let wall_ns = profiles.iter().fold(0_u64, |sum, (_, profile)| sum.saturating_add(profile.wall_ns()));
    let argv = recorders.first()?.argv.clone();
    Some(Recorder { argv, exit_code: None, exit_signal: None, wall_ns })
}

/// Where the rows of all recordings so far are found again.
#[derive(Default)]
struct Tables {
    files: HashMap<File, FileIndex>,
    modules: HashMap<Module, ModuleIndex>,
    functions: HashMap<Function, FunctionIndex>,
    frames: HashMap<FrameKey, FrameIndex>,
    nodes: HashMap<(Option<NodeIndex>, FrameIndex), NodeIndex>,
}

#[derive(PartialEq, Eq, Hash)]
struct FrameKey {
    function: FunctionIndex,
    kind: FrameKind,
    location: Option<Location>,
    expression: Option<Expression>,
    c_line: Option<CLine>,
}

fn add(joined: &mut Profile, tables: &mut Tables, name: &str, profile: Profile) {
    // Both counted from their own beginning; on one clock where both know it.
    let begins = profile.start_realtime_ns.zip(joined.start_realtime_ns);
    let later_ns = begins.map_or(0, |(own, first)| own.saturating_sub(first));
    let at = |at_ns: u64| at_ns.saturating_add(later_ns);
    let processes_before = joined.processes.len();
    let process = |index: ProcessIndex| ProcessIndex::new(processes_before + index.position());
    let threads_before = joined.threads.len();
    let contexts_before = joined.contexts.len();
    let context = |index: ContextIndex| ContextIndex::new(contexts_before + index.position());

    joined.span_ns = joined.span_ns.saturating_add(profile.span_ns);
    joined.blocks_lost = joined.blocks_lost.saturating_add(profile.blocks_lost);
    joined.faults.extend(profile.faults.into_iter().map(|fault| format!("{name}: {fault}")));
    for row in profile.processes.iter() {
        joined.processes.push(Process {
            recording: Some(name.to_string()),
            parent: row.parent.map(process),
            exec_of: row.exec_of.map(process),
            start_ns: at(row.start_ns),
            run_ended_ns: row.run_ended_ns.map(at),
            ..row.clone()
        });
    }
    for row in profile.threads.iter() {
        let start_ns = row.start_ns.map(at);
        joined.threads.push(Thread { process: process(row.process), start_ns, ..row.clone() });
    }
    let rss = profile.rss.iter().map(|row| Rss { process: process(row.process), at_ns: at(row.at_ns), ..*row });
    joined.rss.extend(rss);
    let heaps = profile.heaps.iter();
    joined.heaps.extend(heaps.map(|row| Heap {
        process: row.process.map(process),
        at_ns: at(row.at_ns),
        file: format!("{} of {name}", row.file),
        ..row.clone()
    }));
    joined.packages.extend_from_slice(&profile.packages);
    joined.not_followed.extend_from_slice(&profile.not_followed);
    let marks = profile.marks.iter();
    joined.marks.extend(marks.map(|row| Mark { process: process(row.process), at_ns: at(row.at_ns), ..row.clone() }));

    // What an expression is can only be read in the text that it was executed from.
    let different = joined.sources.differing(&profile.sources);
    // So it is with a text that is in no file: nothing tells whether it is the same in both.
    let is_apart = |path: &str| different.contains(path) || is_nameless(path);
    let path = |path: &str| if is_apart(path) { format!("{path} ({name})") } else { path.to_string() };
    let files = profile.files.iter().map(|row| File { path: path(&row.path), ..row.clone() });
    let files = interned(&mut joined.files, &mut tables.files, files);
    let modules = interned(&mut joined.modules, &mut tables.modules, profile.modules.iter().cloned());
    let functions = profile.functions.iter().map(|row| Function {
        name: row.name.clone(),
        home: match &row.home {
            Home::Python { file, first_line, table_bytes } => {
                Home::Python { file: files[file.position()], first_line: *first_line, table_bytes: *table_bytes }
            }
            Home::C { module, origin, full_name } => {
                Home::C { module: modules[module.position()], origin: origin.clone(), full_name: full_name.clone() }
            }
            Home::Mark => Home::Mark,
        },
    });
    let functions = interned(&mut joined.functions, &mut tables.functions, functions);
    let mut frames = Vec::with_capacity(profile.frames.len());
    for row in profile.frames.iter() {
        let row = Frame { function: functions[row.function.position()], ..row.clone() };
        let known = tables.frames.entry(FrameKey {
            function: row.function,
            kind: row.kind,
            location: row.location,
            expression: row.expression.clone(),
            c_line: row.c_line.clone(),
        });
        frames.push(*known.or_insert_with(|| joined.frames.push(row)));
    }
    let mut nodes: Vec<NodeIndex> = Vec::with_capacity(profile.nodes.len());
    for row in profile.nodes.iter() {
        let parent = row.parent.map(|parent| nodes[parent.position()]);
        let frame = frames[row.frame.position()];
        let known = tables.nodes.entry((parent, frame));
        nodes.push(*known.or_insert_with(|| joined.nodes.push(Node { parent, frame })));
    }
    for row in profile.contexts.iter() {
        let parent = row.parent.map(context);
        joined.contexts.push(Context { process: process(row.process), parent, ..row.clone() });
    }
    joined.samples.extend(profile.samples.iter().map(|group| SampleGroup {
        node: group.node.map(|node| nodes[node.position()]),
        context: group.context.map(context),
        thread: ThreadIndex::new(threads_before + group.thread.position()),
        ..*group
    }));
    joined.weights.extend(profile.weights.iter().map(|group| WeightGroup {
        node: group.node.map(|node| nodes[node.position()]),
        context: group.context.map(context),
        thread: ThreadIndex::new(threads_before + group.thread.position()),
        ..*group
    }));
    joined.steps.extend(profile.steps.iter().map(|step| Step {
        node: step.node.map(|node| nodes[node.position()]),
        thread: ThreadIndex::new(threads_before + step.thread.position()),
        ..*step
    }));
    joined.lock_waits.extend(profile.lock_waits.iter().map(|wait| LockWait {
        node: wait.node.map(|node| nodes[node.position()]),
        thread: ThreadIndex::new(threads_before + wait.thread.position()),
        holder: ThreadIndex::new(threads_before + wait.holder.position()),
        ..*wait
    }));
    joined.stack_depths.extend(profile.stack_depths.iter().map(|depth| StackDepth {
        node: depth.node.map(|node| nodes[node.position()]),
        thread: ThreadIndex::new(threads_before + depth.thread.position()),
        ..*depth
    }));
    joined.collections.extend(profile.collections.iter().map(|row| Collection {
        process: process(row.process),
        node: row.node.map(|node| nodes[node.position()]),
        thread: row.thread.map(|thread| ThreadIndex::new(threads_before + thread.position())),
        at_ns: at(row.at_ns),
        ..*row
    }));
    let collectors = profile.collectors.iter();
    joined.collectors.extend(collectors.map(|row| Collector { process: process(row.process), ..row.clone() }));
    for path in &different {
        joined
            .faults
            .push(format!("{path} is not the same in {name} as in a recording before it: it is shown as another file"));
    }
    joined.sources.join(profile.sources, path);
}

/// The new index of each row.
fn interned<I: TableIndex, T: Clone + Eq + std::hash::Hash>(
    table: &mut Table<I, T>,
    known: &mut HashMap<T, I>,
    rows: impl Iterator<Item = T>,
) -> Vec<I> {
    rows.map(|row| *known.entry(row).or_insert_with_key(|row| table.push(row.clone()))).collect()
}
