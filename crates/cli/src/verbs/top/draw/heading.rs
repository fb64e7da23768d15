//! The lines above the rows: what is followed, how it is, both laws, the shares of GIL and GC, and CPU over time.
//! Never: leaves out the accounting.

use genba_profile::cpu_over_time::SECOND_NS;
use genba_profile::figures::{percent, size};
use genba_profile::live::Part;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::style::{Palette, REVERSED, STRONG, cut, in_lines};
use crate::files::growing_file::Fate;
use crate::verbs::top::follower::{Picture, core_hundredths};
use crate::verbs::top::model::Model;
use crate::verbs::top::state::{State, left_behind_in_words};

/// Of a second, from nothing to all.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Faults that have a line each; the others are counted.
const FAULTS_MAX: usize = 2;

pub fn lines(model: &Model, width: usize, palette: Palette) -> Vec<Line<'static>> {
    let mut lines = vec![first(model, width, palette)];
    if let Some(picture) = &model.picture {
        lines.push(Line::raw(cut(&picture.live.who, width)));
        lines.extend(in_lines(&picture.live.law, width, Style::new()));
        lines.push(Line::raw(cut(&shares(picture), width)));
        lines.push(cpu(picture, width, palette));
    }
    for notice in notices(model) {
        lines.extend(in_lines(&notice, width, palette.alarm()));
    }
    lines
}

fn first(model: &Model, width: usize, palette: Palette) -> Line<'static> {
    let state = state(model);
    let name = format!("genba top {}", model.name);
    let frozen = if model.is_frozen { " FROZEN " } else { "" };
    let used = name.width() + frozen.width() + 2;
    let state = cut(&state, width.saturating_sub(used));
    let gap = width.saturating_sub(used - 2 + state.width()).max(1);
    let gaps = if frozen.is_empty() { (gap, 0) } else { (gap.saturating_sub(1), 1) };
    Line::from(vec![
        Span::styled(cut(&name, width), STRONG),
        Span::raw(" ".repeat(gaps.0)),
        Span::styled(frozen, REVERSED),
        Span::raw(" ".repeat(gaps.1)),
        Span::styled(state, palette.bar()),
    ])
}

fn state(model: &Model) -> String {
    let bytes = size(model.status.bytes);
    match &model.status.state {
        State::Waiting => "waiting for the first block".to_owned(),
        State::Recording => format!("recording, {bytes}"),
        State::Quiet { seconds } => format!("no new block for {seconds} s, {bytes}"),
        State::Gone { seconds } => format!("no new block for {seconds} s, and no process of it runs here"),
        State::Ended(how) => format!("ended: {how}, {bytes}"),
        State::LeftBehind { how, processes } => format!("ended: {how}, {}, {bytes}", left_behind_in_words(*processes)),
    }
}

fn shares(picture: &Picture) -> String {
    let share = |Part { part_ns, whole_ns }: Part| percent(part_ns, whole_ns);
    let (gil, gc) = (share(picture.live.gil), share(picture.live.gc));
    format!("GIL: {gil} % of the time with work was spent waiting for it · GC: {gc} % of CPU")
}

/// `CPU 1.02 cores ▁▂▅█` of as many seconds as there is room for. The highest bar is the busiest of them, one core at least.
fn cpu(picture: &Picture, width: usize, palette: Palette) -> Line<'static> {
    let seconds_ns = &picture.seconds_ns;
    let now = seconds_ns.last().copied().map(core_hundredths);
    let words = match now {
        Some(hundredths) => format!("CPU {}.{:02} cores ", hundredths / 100, hundredths % 100),
        None => "CPU in the first second ".to_owned(),
    };
    let room = width.saturating_sub(words.width());
    let shown = &seconds_ns[seconds_ns.len().saturating_sub(room)..];
    let highest_ns = shown.iter().copied().max().unwrap_or(0).max(SECOND_NS);
    let bar = |second_ns: &u64| {
        let place = second_ns.saturating_mul(BARS.len() as u64).div_ceil(highest_ns).saturating_sub(1);
        BARS.get(place as usize).copied().unwrap_or('█')
    };
    Line::from(vec![Span::raw(words), Span::styled(shown.iter().map(bar).collect::<String>(), palette.bar())])
}

/// What went wrong, in words.
fn notices(model: &Model) -> Vec<String> {
    let mut notices: Vec<String> = missed(model).into_iter().collect();
    match model.status.fate {
        Fate::Same => {}
        Fate::Truncated => {
            notices.push(
                "the file is shorter than what was read of it: nothing more is read, and what was read is shown"
                    .to_owned(),
            );
        }
        Fate::Replaced => notices.push("another file has this name now: q, and genba top again, follows it".to_owned()),
        Fate::Removed => notices.push("the file has no name any more: it was moved or removed".to_owned()),
    }
    if let Some(error) = &model.status.error {
        notices.push(format!("the file cannot be read: {error}"));
    }
    let faults = model.picture.as_ref().map_or(&[][..], |picture| &picture.faults);
    notices.extend(faults.iter().take(FAULTS_MAX).cloned());
    if faults.len() > FAULTS_MAX {
        notices.push(format!("and {} faults more (genba check lists them)", faults.len() - FAULTS_MAX));
    }
    notices
}

/// Of several processes the newest one's reason: the screen has no room for more, and all are told when it is gone.
fn missed(model: &Model) -> Option<String> {
    let last = model.missed.last()?;
    let (pid, why) = (last.pid, last.in_short());
    Some(match model.missed.len() {
        1 => format!("process {pid} is not recorded: {why}"),
        processes => format!("{processes} processes are not recorded; the last one is {pid}: {why}"),
    })
}
