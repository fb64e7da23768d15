//! The recordings that a view is made from, read as one.
//! Owns: what is said about several of them. Never: reads one that is named twice as two.

use std::path::{Path, PathBuf};

use clap::Args;
use genba_profile::joined::joined;
use genba_profile::profile::Profile;
use genba_profile::reading::Reading;
use genba_profile::shell;
use genba_profile::window::{Bins, Window};

use crate::read::RecordingFile;
use crate::read::filter_options::{FilterOptions, nothing_kept};
use crate::words::failure::Failure;

#[derive(Args)]
pub struct RecordingArguments {
    /// Recordings of genba, vmprof's logs (plain, gzip, bz2), .prof files or collapsed stacks; several are read as one [default: the newest *.genba here]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub struct Recordings(Vec<RecordingFile>);

impl RecordingArguments {
    pub fn open(&self) -> Result<Recordings, Failure> {
        open_all(&self.files)
    }

    /// As a shell takes them.
    pub fn words(&self) -> String {
        self.files.iter().map(|file| shell::path(file)).collect::<Vec<_>>().join(" ")
    }

    /// Of what was named as recordings: source of Python, by its name, and the rest.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    pub fn sources_and_others(&self) -> (Vec<&Path>, Vec<&Path>) {
        let is_source = |path: &&Path| path.extension().is_some_and(|ending| ending == "py");
        self.files.iter().map(PathBuf::as_path).partition(is_source)
    }
}

/// None named: the newest here.
pub fn open_all(paths: &[PathBuf]) -> Result<Recordings, Failure> {
    match paths {
        [] => Ok(Recordings(vec![RecordingFile::open(None)?])),
        paths => open_apart(paths),
    }
}

/// Recordings of which no two hold the same samples.
pub fn open_apart(paths: &[PathBuf]) -> Result<Recordings, Failure> {
    let mut known = Vec::new();
    let mut files: Vec<RecordingFile> = Vec::new();
    for path in paths {
        let same = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if known.contains(&same) {
            return Err(Failure::usage(format!("{} is named twice", path.display()))
                .detail("its samples would count twice")
                .hint("name each recording once"));
        }
        known.push(same);
        let file = RecordingFile::open(Some(path))?;
        if let Some(other) = files.iter().find(|other| other.has_processes_of(&file)) {
            let (other, path) = (other.path.display(), path.display());
            return Err(Failure::usage(format!("{path} and {other} hold the same processes"))
                .detail("one is a copy of the other, and its samples would count twice")
                .hint("name one of them"));
        }
        files.push(file);
    }
    Ok(Recordings(files))
}

/// One recording twice, for two times of it.
pub fn open_twice(path: &Path) -> Result<Recordings, Failure> {
    Ok(Recordings(vec![RecordingFile::open(Some(path))?, RecordingFile::open(Some(path))?]))
}

impl Recordings {
    /// How long each is, from its beginning to its last block.
    pub fn spans_ns(&self) -> Vec<u64> {
        self.0.iter().map(|file| file.accounts().span_ns).collect()
    }

    pub fn is_one_twice(&self) -> bool {
        matches!(self.0.as_slice(), [one, other] if one.path == other.path)
    }

    /// Those from that position on, which are then by themselves.
    pub fn split_off(&mut self, position: usize) -> Recordings {
        Recordings(self.0.split_off(position))
    }

    /// One whose samples have no times.
    pub fn timeless(&self) -> Option<(&RecordingFile, &'static str)> {
        self.0.iter().find_map(|file| Some((file, file.timeless()?)))
    }

    pub fn path(&self, position: usize) -> &Path {
        &self.0[position].path
    }

    #[must_use]
    pub fn all_count_calls(&self) -> bool {
        self.0.iter().all(RecordingFile::counts_calls)
    }

    /// With what the filters keep. A window counts from the beginning of each recording.
    pub fn filtered(&self, options: &FilterOptions) -> Result<Reading, Failure> {
        self.filtered_as(options, |window| self.joined(window))
    }

    /// The same, with the moments of the samples in at most so many bins: of one recording. Several have no time in common.
    pub fn filtered_in_bins(&self, options: &FilterOptions, bins_max: u32) -> Result<Reading, Failure> {
        self.filtered_as(options, |window| match self.0.as_slice() {
            [file] if file.timeless().is_none() => {
                file.profile_in_bins(window, Bins::of_span(file.accounts().span_ns, bins_max))
            }
            _ => self.joined(window),
        })
    }

    fn filtered_as(
        &self,
        options: &FilterOptions,
        profile: impl FnOnce(Option<Window>) -> Profile,
    ) -> Result<Reading, Failure> {
        let filter = options.filter();
        if let Some((file, why)) = self.timeless().filter(|_| filter.window.is_some()) {
            return Err(Failure::no(format!("--time does not apply to {}", file.path.display()))
                .detail(why)
                .hint("leave --time out"));
        }
        Reading::filtered(profile(filter.window), &filter).map_err(|nothing| nothing_kept(&nothing))
    }

    /// None: they are several.
    pub fn only(&self) -> Option<&RecordingFile> {
        match self.0.as_slice() {
            [file] => Some(file),
            _ => None,
        }
    }

    /// Without their folders.
    pub fn name(&self) -> String {
        self.0.iter().map(RecordingFile::name).collect::<Vec<_>>().join(", ")
    }

    /// What files that are made of them are named after: the first one's name without its ending.
    pub fn stem(&self) -> String {
        let stem = self.0.first().and_then(|first| first.path.file_stem());
        stem.map_or_else(|| "genba".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Each by itself, with its name and when its samples were. A window counts from the beginning of each recording. `options`: by position.
    pub fn each_over_time<'o>(
        &self,
        options: impl Fn(usize) -> &'o FilterOptions,
    ) -> Result<Vec<(String, Reading)>, Failure> {
        let reading = |(position, file): (usize, &RecordingFile)| {
            let filter = options(position).filter();
            let reading = Reading::filtered(file.profile_over_time(filter.window), &filter);
            let reading =
                reading.map_err(|nothing| nothing_kept(&nothing).detail(format!("in {}", file.path.display())));
            Ok((self.told_apart(file), reading?))
        };
        self.0.iter().enumerate().map(reading).collect()
    }

    /// The file's name, with its folder where another has the same.
    fn told_apart(&self, file: &RecordingFile) -> String {
        let others = self.0.iter().filter(|other| other.name() == file.name() && !self.is_one_twice()).count();
        if others > 1 { file.path.display().to_string() } else { file.name() }
    }

    fn joined(&self, window: Option<Window>) -> Profile {
        let profile = |file: &RecordingFile| (self.told_apart(file), file.profile_in_window(window));
        joined(self.0.iter().map(profile).collect())
    }
}
