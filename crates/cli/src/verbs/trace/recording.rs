//! What a traced program's processes counted, as one recording.
//! Owns: which process each file is of, and the blocks. Never: changes what was counted; it is in the recording as pstats has it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use genba_format::{masking, proto};

use super::calibration;
use super::written::Written;
use crate::finish::{self, Added, Places, Seen, SourceText, Told};
use crate::recording::{monotonic_ns, recorder};
use crate::verbs::run::start::Ending;
use crate::verbs::run::target::Program;
use crate::words::failure::{self, Failure, say};
use crate::words::progress::during;

/// Of a file in one block, far below the format's limit.
const PART_BYTES: usize = 4 << 20;

/// The same moment on both clocks.
#[derive(Clone, Copy)]
pub struct Moment {
    realtime_ns: u64,
    monotonic_ns: u64,
}

impl Moment {
    pub fn now() -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { realtime_ns: u64::try_from(since.as_nanos()).unwrap_or(0), monotonic_ns: monotonic_ns() }
    }
}

/// The run that was traced.
pub struct Run<'a> {
    pub program: &'a Program,
    pub agent: &'a Path,
    pub ending: &'a Ending,
    pub pid: u32,
    pub began: Moment,
}

/// Into the empty file at `path`. `prof`: the file of the program's own process. Err: the counts are not in it.
pub fn write(run: &Run<'_>, path: &Path, prof: &Path, written: &Written) -> Result<(), Failure> {
    let ended_ns = run.began.monotonic_ns.saturating_add(u64::try_from(run.ending.wall.as_nanos()).unwrap_or(0));
    let found = calibration::measure(run.program, run.agent).unwrap_or_default();
    let main = written.has_main.then(|| (run.pid, prof.to_owned()));
    let files = main.into_iter().chain(written.others.iter().map(|path| (pid_of(path), path.clone())));
    let mut processes = Vec::new();
    for (pid, file) in files {
        match std::fs::read(&file) {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => processes.push(blocks(&start(run, pid, &found.version), &bytes, found.call_ps)),
            Err(error) => say(&format!("note: the counts of process {pid} are lost: {}", failure::of_system(&error))),
        }
    }
    finish::append_traced(path, processes, (run.began.monotonic_ns, ended_ns))?;
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::no(format!("cannot read the recording {}: {}", path.display(), failure::of_system(&error)))
    })?;
    let Ok(Ok(traced)) = genba_format::read(&bytes).map(genba_import::traced) else {
        return Err(Failure::ours(format!("cannot read back the recording {}", path.display())));
    };
    drop(bytes);
    let recorder = recorder(
        run.ending.status.code().unwrap_or(0),
        std::os::unix::process::ExitStatusExt::signal(&run.ending.status).unwrap_or(0),
        run.ending.wall,
    );
    let seen = Seen { recorder: Some(recorder), ..Seen::default() };
    let added = during("reading sources", || {
        let told = Told::new();
        Added::sources_to(&traced.recording, seen, Places::own(&told, SourceText::All), ended_ns)
    });
    added.left_out.iter().for_each(|words| say(&format!("note: {words}")));
    // The counts are there.
    if let Err(failure) = added.append(path) {
        let _ = failure.print();
    }
    Ok(())
}

/// `app.4711.prof`, or `app.4711-2.prof`; 0 where the name does not tell.
fn pid_of(path: &Path) -> u32 {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let last = stem.rsplit('.').next().unwrap_or_default();
    last.split('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Of another process than the program's own only the number is known.
fn start(run: &Run<'_>, pid: u32, version: &str) -> proto::Start {
    let is_main = pid == run.pid;
    let of_main = |text: String| if is_main { text } else { String::new() };
    let words: Vec<String> = [&run.program.name]
        .into_iter()
        .chain(&run.program.arguments)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    proto::Start {
        pid,
        parent_pid: if is_main { std::process::id() } else { 0 },
        executable: of_main(run.program.path.display().to_string()),
        argv: if is_main { masking::masked(words.iter().map(String::as_str)) } else { Vec::new() },
        python_version: of_main(version.to_owned()),
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        realtime_ns: run.began.realtime_ns,
        monotonic_ns: run.began.monotonic_ns,
        began_realtime_ns: run.began.realtime_ns,
        native: true,
        cwd: of_main(std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default()),
        ..proto::Start::default()
    }
}

fn blocks(start: &proto::Start, prof: &[u8], call_ps: u64) -> Vec<proto::Block> {
    let parts = prof.chunks(PART_BYTES).enumerate();
    let blocks = parts.map(|(at, part)| proto::Block {
        start: (at == 0).then(|| start.clone()),
        traced: Some(proto::Traced { prof: part.to_vec(), call_ps: if at == 0 { call_ps } else { 0 } }),
        ..proto::Block::default()
    });
    blocks.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::pid_of;

    #[test]
    fn a_file_is_of_the_process_in_its_name() {
        let pids = ["/tmp/app.4711.prof", "app.v2.12-2.prof", "app.prof"].map(|name| pid_of(Path::new(name)));
        assert_eq!(pids, [4711, 12, 0]);
    }
}
