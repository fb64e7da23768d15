//! `genba tree`: whole call paths, root to leaf, in both clocks.
//! Owns: the options. Never: builds the tree or lays out text; genba-profile does.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use genba_profile::tree::{self, Options};
use genba_profile::warnings::warnings;

use crate::failure::Failure;
use crate::read::{self, RecordingFile, Stream, ViewOptions};

const SHARE_MIN: f64 = 0.01;

#[derive(Args)]
pub struct Arguments {
    /// The recording [default: the newest *.genba here]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    view: ViewOptions,

    /// Show no more than N calls in each path
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_depth: Option<u32>,

    /// From the leaves to their callers
    #[arg(long)]
    inverted: bool,
}

pub fn tree(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let profile = RecordingFile::open(arguments.file.as_deref())?.profile();
    let view = &arguments.view;
    let options = Options {
        weight: view.weight.map(Into::into),
        show: view.show.into(),
        inverted: arguments.inverted,
        share_min: view.min_share.map_or(SHARE_MIN, |share| share.0),
        depth_max: arguments.max_depth.map(|calls| calls as usize),
    };
    let tree = tree::tree(&profile, &options);
    read::print(&tree::text(&profile, &tree, &options, read::paint(view.color, Stream::Stdout)))?;
    read::warn(&warnings(&profile, tree.choice.weight));
    Ok(ExitCode::SUCCESS)
}
