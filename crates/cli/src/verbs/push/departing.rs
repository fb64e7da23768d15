//! `genba push --dry-run`: each field that would leave this machine, with its value. docs/privacy.md has the same list.
//! Owns: that page. Never: sends; asks for a name in the network; looks at a file beside the recording.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use genba_format::measure::Measure;
use genba_format::{UNKNOWN_EXIT_CODE, proto};
use genba_profile::figures;
use genba_profile::owner::{Owner, Places, of_python};
use genba_profile::report::printable;

use crate::read::RecordingFile;
use crate::upload::{Content, New, Server, TOKEN_VARIABLE};

/// Processes, paths and names that are listed; the others are counted.
const LISTED_MAX: usize = 20;

/// `token`: where it is from, the variable if no file is named. None: there is no token.
pub fn page(
    file: &RecordingFile,
    content: &Content,
    new: &New,
    server: &Server,
    token: Option<Option<&Path>>,
) -> String {
    let user = match token {
        Some(None) => format!("the name of the token in {TOKEN_VARIABLE}, which the server knows"),
        Some(Some(path)) => format!("the name of the token in {}, which the server knows", path.display()),
        None => "nobody's: there is no token".to_owned(),
    };
    let mut rows = Rows::default();
    rows.heading(&format!("to {}, with each request", server.shown()));
    rows.add("user", user);
    rows.add("program", format!("genba {}", env!("CARGO_PKG_VERSION")));
    rows.add("address", "this machine's network address, as every server sees it");
    rows.heading("about the recording");
    rows.add("name", &new.name);
    rows.add("host", new.host.as_deref().unwrap_or("not known"));
    rows.add("tags", or_none(&new.tags));
    rows.add("size", format!("{} ({} bytes)", figures::size(content.bytes), figures::count(content.bytes)));
    rows.add("sha256", &content.sha256);
    rows.heading("the file itself, unchanged; it holds");
    Stored::of(file).add_to(&mut rows);
    rows.heading("never");
    rows.add("environment", "neither names nor values");
    rows.add("values", "contents of variables, arguments of functions");
    rows.add("files", "other than this one; what is in it of source text is listed above");
    rows.add("network", "addresses that the program talked to");
    rows.page
}

#[derive(Default)]
struct Rows {
    page: String,
}

impl Rows {
    fn heading(&mut self, words: &str) {
        let blank = if self.page.is_empty() { "" } else { "\n" };
        self.page += &format!("{blank}{}\n", printable(words));
    }

    fn add(&mut self, field: &str, value: impl AsRef<str>) {
        self.page += &format!("  {field:<17} {}\n", printable(value.as_ref()));
    }

    /// One row a value; what is more is counted.
    fn add_each(&mut self, field: &str, values: &[String]) {
        for (position, value) in values.iter().take(LISTED_MAX).enumerate() {
            self.add(if position == 0 { field } else { "" }, value);
        }
        match values.len() {
            0 => self.add(field, "none"),
            many if many > LISTED_MAX => self.add("", format!("and {} more", many - LISTED_MAX)),
            _ => {}
        }
    }
}

/// What the blocks hold.
#[derive(Default)]
struct Stored {
    processes: Vec<String>,
    executables: BTreeSet<String>,
    command_lines: Vec<String>,
    folders: BTreeSet<String>,
    versions: BTreeSet<String>,
    tags: BTreeSet<String>,
    options: BTreeSet<&'static str>,
    refused: BTreeSet<String>,
    interval_ns: BTreeSet<u64>,
    began_ms: BTreeSet<u64>,
    own_command: Vec<String>,
    end: Option<String>,
    modules: BTreeSet<String>,
    functions: u64,
    function_files: BTreeSet<String>,
    stacks: u64,
    threads: BTreeSet<String>,
    contexts: BTreeSet<String>,
    samples: u64,
    /// Of each measure but CPU: its weights in all.
    weights: BTreeMap<u32, u64>,
    accountings: u64,
    reaped: u64,
    reaped_cpu_ns: u64,
    collections: u64,
    marks: u64,
    words_of_marks: BTreeSet<String>,
    memory_values: u64,
    c_names: u64,
    c_sources: BTreeSet<String>,
    not_followed: Vec<String>,
    heaps: u64,
    heap_files: BTreeSet<String>,
    /// With the bytes of the heap that had most of it.
    heap_classes: BTreeMap<String, u64>,
    counts_calls: bool,
    packages: BTreeSet<String>,
    own_sources: Vec<String>,
    other_sources: BTreeMap<Owner, u64>,
}

impl Stored {
    fn of(file: &RecordingFile) -> Stored {
        let mut stored = Stored { counts_calls: file.counts_calls(), ..Stored::default() };
        // An index of a table counts through all blocks of a process.
        let mut strings: BTreeMap<[u8; 16], Vec<String>> = BTreeMap::new();
        for read in &file.recording.blocks {
            let block = &read.block;
            if let Some(start) = &block.start {
                stored.add_start(start);
            }
            let strings = strings.entry(read.header.process_key).or_default();
            if let Some(tables) = &block.tables {
                stored.add_tables(tables, strings);
            }
            let clocks = block.accounting.iter().flat_map(|accounting| &accounting.thread_clocks);
            let names = clocks.filter_map(|clock| strings.get(clock.name.checked_sub(1)? as usize));
            stored.threads.extend(names.map(|name| format!("{name} (in Python)")));
            stored.samples += read.samples.as_ref().map_or(0, |samples| samples.len() as u64);
            stored.accountings += u64::from(block.accounting.is_some());
            stored.packages.extend(block.packages.iter().cloned());
            stored.add_counted(block);
            stored.add_marks(&block.marks);
            stored.add_c(block);
            stored.add_heaps(&block.heaps);
            stored.not_followed.extend(block.not_followed.iter().map(|program| {
                let shown = if program.command.is_empty() { &program.name } else { &program.command };
                format!("{shown} ({}: {})", program.name, program.reason)
            }));
            if let Some(recorder) = &block.recorder {
                stored.own_command.clone_from(&recorder.argv);
                let version = format!("genba {}", recorder.genba_version);
                if !recorder.genba_version.is_empty() && !stored.versions.iter().any(|told| told.ends_with(&version)) {
                    stored.versions.insert(version);
                }
                let (code, signal) = (recorder.exit_code, recorder.exit_signal);
                let after = figures::duration(recorder.wall_ns);
                stored.end = Some(match code {
                    _ if signal > 0 => format!("signal {signal} after {after}"),
                    UNKNOWN_EXIT_CODE => format!("complete after {after}"),
                    code => format!("exit code {code} after {after}"),
                });
            }
        }
        stored.add_sources(file);
        stored
    }

    /// A file of another profiler's tells little of this.
    fn add_start(&mut self, start: &proto::Start) {
        if start.pid != 0 {
            self.processes.push(format!("{} (started by {})", start.pid, start.parent_pid));
            let options =
                [("--mem", start.memory), ("--no-native", !start.native), ("--no-children", start.without_children)];
            self.options.extend(options.iter().filter(|(_, is_given)| *is_given).map(|(option, _)| *option));
            self.interval_ns.insert(start.interval_ns);
        }
        if !start.refused.is_empty() {
            self.refused.insert(start.refused.clone());
        }
        self.executables.insert(start.executable.clone());
        if !start.argv.is_empty() {
            self.command_lines.push(start.argv.join(" "));
        }
        self.folders.insert(start.cwd.clone());
        let versions = [("Python", &start.python_version), ("genba", &start.agent_version)];
        let told = versions.iter().filter(|(_, version)| !version.is_empty());
        self.versions.insert(told.map(|(of, version)| format!("{of} {version}")).collect::<Vec<_>>().join(", "));
        self.tags.extend(start.tags.iter().cloned());
        if start.realtime_ns != 0 {
            self.began_ms.insert(start.realtime_ns / 1_000_000);
        }
    }

    fn add_tables(&mut self, tables: &proto::Tables, strings: &mut Vec<String>) {
        strings.resize(tables.strings_first as usize, String::new());
        strings.extend(tables.strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()));
        let named = |index: u32| strings.get(index as usize).cloned().unwrap_or_default();
        self.modules.extend(tables.modules.iter().map(|module| named(module.path)));
        self.functions += tables.codes.len() as u64;
        self.function_files.extend(tables.codes.iter().map(|code| named(code.filename)));
        self.stacks += tables.nodes.as_ref().map_or(0, |nodes| nodes.parent.len() as u64);
        let threads = tables.threads.iter().map(|thread| (thread.tid, named(thread.name)));
        let told = threads.filter(|(tid, name)| *tid != 0 || !name.is_empty());
        self.threads.extend(told.map(|(tid, name)| if tid == 0 { name } else { format!("{tid} {name}") }));
        self.contexts.extend(tables.contexts.iter().map(|context| named(context.name)));
        self.c_names += tables.known_addresses.len() as u64;
    }

    fn add_counted(&mut self, block: &proto::Block) {
        for weights in &block.weights {
            let all = self.weights.entry(weights.kind).or_default();
            *all = weights.weight.iter().fold(*all, |all, weight| all.saturating_add(*weight));
        }
        self.collections += block.collections.len() as u64;
        self.reaped += block.reaped.len() as u64;
        self.reaped_cpu_ns =
            block.reaped.iter().fold(self.reaped_cpu_ns, |all, child| all.saturating_add(child.cpu_ns));
    }

    fn add_marks(&mut self, marks: &[proto::Mark]) {
        self.marks += marks.len() as u64;
        let rss = |mark: &&proto::Mark| mark.kind == proto::MarkKind::Rss as u32;
        self.memory_values += marks.iter().filter(rss).count() as u64;
        self.words_of_marks.extend(marks.iter().map(|mark| mark.text.clone()));
    }

    fn add_c(&mut self, block: &proto::Block) {
        self.c_names += block.c_names.len() as u64;
        for places in &block.c_places {
            let files = places.file.iter().filter_map(|file| places.strings.get(file.checked_sub(1)? as usize));
            self.c_sources.extend(files.cloned());
        }
    }

    fn add_heaps(&mut self, heaps: &[proto::Heap]) {
        self.heaps += heaps.len() as u64;
        self.heap_files.extend(heaps.iter().map(|heap| heap.file.clone()));
        for heap in heaps {
            // A damaged file may tell the bytes of fewer.
            let bytes = heap.class_bytes.iter().copied().chain(std::iter::repeat(0));
            for (class, bytes) in heap.classes.iter().zip(bytes) {
                let most = self.heap_classes.entry(class.clone()).or_default();
                *most = (*most).max(bytes);
            }
        }
    }

    fn add_sources(&mut self, file: &RecordingFile) {
        let packages: Vec<String> = self.packages.iter().cloned().collect();
        let executable = self.executables.first().cloned().unwrap_or_default();
        let places = Places { executable: &executable, packages: &packages };
        for source in file.recording.blocks.iter().flat_map(|read| &read.block.sources) {
            let lines: u64 = source.chunks.iter().map(|chunk| chunk.text.lines().count() as u64).sum();
            if lines == 0 {
                continue;
            }
            match of_python(&source.path, places) {
                Owner::User => {
                    let whole = u64::from(source.lines);
                    self.own_sources.push(format!("{}: {lines} of {whole} lines", source.path));
                }
                other => *self.other_sources.entry(other).or_default() += 1,
            }
        }
    }

    fn add_to(&self, rows: &mut Rows) {
        rows.add_each("process", &self.processes);
        rows.add_each("executable", &list(&self.executables));
        rows.add_each("command line", &self.command_lines);
        rows.add("genba's own", or_none(&[self.own_command.join(" ")]));
        rows.add_each("working directory", &list(&self.folders));
        rows.add_each("versions", &list(&self.versions));
        rows.add("stored tags", or_none(&list(&self.tags)));
        rows.add("options", or_none(&self.options.iter().map(ToString::to_string).collect::<Vec<_>>()));
        let began =
            self.began_ms.first().map_or_else(|| "not told".to_owned(), |ms| format!("began {ms} ms after 1970"));
        rows.add("time", began);
        let intervals: Vec<String> = self.interval_ns.iter().copied().map(figures::duration).collect();
        rows.add("interval", or_none(&intervals));
        rows.add_each("not sampled", &list(&self.refused));
        rows.add_each("not followed", &self.not_followed);
        self.add_code_to(rows);
        rows.add("samples", figures::count(self.samples));
        for measure in [Measure::Copied, Measure::Allocated] {
            let name = measure.name().unwrap_or_default();
            let bytes = self.weights.get(&measure.stored()).map(|bytes| format!("{}, by stack", figures::size(*bytes)));
            rows.add(&format!("{name} bytes"), bytes.unwrap_or_else(|| "none".to_owned()));
        }
        let clocks = figures::counted(self.accountings, "part", "parts");
        rows.add("accounting", format!("counts and clocks of {clocks} of the time"));
        let children = figures::counted(self.reaped, "child process", "child processes");
        let reaped = format!("{} of {children} that ended", figures::duration(self.reaped_cpu_ns));
        rows.add("children's CPU", if self.reaped == 0 { "none".to_owned() } else { reaped });
        let collections = figures::counted(self.collections, "collection", "collections");
        let told = format!("{collections}, each with its time, reason and place");
        rows.add("collections", if self.collections == 0 { "none".to_owned() } else { told });
        rows.add("memory", figures::counted(self.memory_values, "resident size", "resident sizes"));
        rows.add("heaps", figures::count(self.heaps));
        rows.add_each("files of heaps", &list(&self.heap_files));
        let mut classes: Vec<(&String, u64)> = self.heap_classes.iter().map(|(class, bytes)| (class, *bytes)).collect();
        classes.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let classes: Vec<String> = classes.into_iter().map(|(class, _)| class.clone()).collect();
        rows.add_each("heap by class", &classes);
        rows.add("marks", figures::count(self.marks));
        rows.add_each("words of marks", &list(&self.words_of_marks));
        self.add_text_to(rows);
        rows.add("end", self.end.as_deref().unwrap_or("not told"));
    }

    fn add_code_to(&self, rows: &mut Rows) {
        rows.add_each("modules", &list(&self.modules));
        let functions = figures::counted(self.functions, "function", "functions");
        rows.add("Python code", format!("{functions}, each with its name, file, first line and location table"));
        rows.add_each("their files", &list(&self.function_files));
        rows.add("counts of calls", if self.counts_calls { "of these functions, by their callers" } else { "none" });
        rows.add("stacks", format!("{} frames of stacks", figures::count(self.stacks)));
        rows.add_each("threads", &list(&self.threads));
        rows.add_each("tasks and tags", &list(&self.contexts));
        rows.add("C names", figures::count(self.c_names));
        rows.add_each("C sources", &list(&self.c_sources));
        rows.add_each("packages", &list(&self.packages));
    }

    fn add_text_to(&self, rows: &mut Rows) {
        let files = figures::counted(self.own_sources.len() as u64, "file of your own", "files of your own");
        let others = self.other_sources.iter().map(|(owner, count)| format!(", {count} of {owner}"));
        rows.add("source text", format!("{files}{}", others.collect::<String>()));
        if !self.own_sources.is_empty() {
            rows.add_each("your own", &self.own_sources);
        }
    }
}

fn list(values: &BTreeSet<String>) -> Vec<String> {
    values.iter().filter(|value| !value.is_empty()).cloned().collect()
}

fn or_none(values: &[String]) -> String {
    let joined = values.join(", ");
    if joined.is_empty() { "none".to_owned() } else { joined }
}
