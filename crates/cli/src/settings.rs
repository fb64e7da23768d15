//! Settings: options that need not be typed, from a file and from `GENBA_…` variables. A setting is as if the flag had been
//! typed: it is put in front of the words of the command line, unless one of them decides already.
//! Owns: which options are settings, and what wins: flag, then variable, then file. Never: gives an option a meaning or a
//! check of its own (the definition of the command line has both), reads a variable that is not one of its own, changes
//! the environment.

mod definition;
mod file;
mod setting;
mod shown;
mod variables;

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::upload::Server;
use crate::words::failure::Failure;
use setting::{KEYS, SHOW_CONFIG, Setting, Value, is_typed};

/// `none`: no settings at all.
const NONE: &str = "GENBA_SETTINGS";

/// What becomes of a command line.
pub enum Applied {
    /// The same with the settings in it.
    Words(Vec<OsString>),
    /// `--show-config`: the page to print.
    Shown(String),
}

/// The variables that set options of a verb.
pub fn variables_of(verb: &str) -> Vec<String> {
    let keys = KEYS.iter().find(|(name, _)| *name == verb).map_or(&[][..], |(_, keys)| *keys);
    keys.iter().map(|key| variables::name_of(key)).collect()
}

/// Gives a verb that can be asked for its settings the option for it.
pub fn with_show_config(verb: Command) -> Command {
    verb.arg(
        Arg::new(SHOW_CONFIG)
            .long("show-config")
            .action(ArgAction::SetTrue)
            .help_heading(None)
            .help("Do nothing but say what each option is, and where that comes from"),
    )
}

/// `words` begins with the command's own name. What clap refuses is left to be refused when the words are read in earnest.
pub fn applied(command: &Command, words: Vec<OsString>) -> Result<Applied, Failure> {
    let mut lenient = lenient(command);
    let Ok(matches) = lenient.try_get_matches_from_mut(&words) else {
        return Ok(Applied::Words(words));
    };
    let Some((name, typed)) = matches.subcommand() else {
        return Ok(Applied::Words(words));
    };
    let Some(verb) = lenient.find_subcommand(name) else {
        return Ok(Applied::Words(words));
    };
    let keys = KEYS.iter().find(|(verb, _)| *verb == name).map_or(&[][..], |(_, keys)| *keys);
    let is_shown = verb.get_arguments().any(|option| option.get_id() == SHOW_CONFIG) && typed.get_flag(SHOW_CONFIG);
    if keys.is_empty() && !is_shown {
        return Ok(Applied::Words(words));
    }
    // For scripts, and for the Python package: what others have set is not meant for them.
    let is_off = std::env::var_os(NONE).is_some_and(|value| value == "none");
    if is_off && !is_shown {
        return Ok(Applied::Words(words));
    }
    let (file, variables) = match is_off {
        true => (file::Nearest::default(), Vec::new()),
        false => (file::nearest(&lenient)?, variables::read(&lenient, keys)?),
    };
    let of_file = file.settings.iter().filter(|setting| keys.contains(&setting.key));
    // A value that only other verbs take: `weight = "copied"` beside `genba diff`.
    let is_taken = |setting: &&Setting| definition::refusal(verb, setting).is_none();
    let levels = [variables.iter().filter(is_taken).collect(), of_file.filter(is_taken).collect()];
    let mut chosen = chosen(verb, typed, levels)?;
    let left_out = leave_out_what_is_not_counted(verb, typed, &mut chosen);
    if is_shown {
        return Ok(Applied::Shown(shown::page(verb, typed, &chosen, (!is_off).then_some(&file))));
    }
    chosen.iter().try_for_each(|setting| check_address(setting))?;
    if !is_on("quiet", typed, &chosen) {
        left_out.iter().for_each(|words| crate::words::failure::say(&format!("note: {words}")));
    }
    file.passed_over.iter().for_each(|words| crate::words::failure::say(&format!("warning: {words}")));
    // The verb is the first word: the command has no options of its own that go with a verb.
    let set = chosen.iter().flat_map(|setting| definition::words(setting).into_iter().chain(place_of(verb, setting)));
    let (before, after) = words.split_at(words.len().min(2));
    Ok(Applied::Words(before.iter().cloned().chain(set).chain(after.iter().cloned()).collect()))
}

/// A view is told where its weight is set: one that a file does not tell is no error then.
fn place_of(verb: &Command, setting: &Setting) -> Option<OsString> {
    let is_asked = verb.get_arguments().any(|option| option.get_id() == "weight_set_at");
    (setting.key == "weight" && is_asked).then(|| format!("--weight-set-at={}", setting.origin).into())
}

/// A server's address is no matter of clap's: only who pushes looks at it, and would not know where it is set.
fn check_address(setting: &Setting) -> Result<(), Failure> {
    match &setting.value {
        Value::Text(address) if setting.key == "push" => Server::parse(&address.to_string_lossy())
            .map(drop)
            .map_err(|failure| failure.within(&format!("{}: `push`", setting.origin))),
        _ => Ok(()),
    }
}

/// The definition without what has to be typed.
fn lenient(command: &Command) -> Command {
    let mut lenient = command.clone().mut_subcommands(|verb| verb.mut_args(|option| option.required(false)));
    lenient.build();
    lenient
}

/// A recording is weighed by what it counts. The words about what was left out.
fn leave_out_what_is_not_counted(verb: &Command, typed: &ArgMatches, chosen: &mut Vec<&Setting>) -> Vec<String> {
    const COUNTED_WITH: [(&str, &str); 2] = [("copied", "copies"), ("allocated", "alloc")];
    let mut left_out = Vec::new();
    for (weight, option) in COUNTED_WITH {
        let counts = verb.get_arguments().any(|argument| argument.get_id() == option);
        if !counts || is_on(option, typed, chosen) {
            continue;
        }
        chosen.retain(|setting| {
            let is_left_out = setting.key == "weight" && setting.value == Value::Text(weight.into());
            if is_left_out {
                left_out.push(format!(
                    "{}: `weight` is left out: without --{option} no {weight} bytes are recorded",
                    setting.origin
                ));
            }
            !is_left_out
        });
    }
    left_out
}

/// A switch, typed or set.
fn is_on(option: &str, typed: &ArgMatches, chosen: &[&Setting]) -> bool {
    let is_set = || chosen.iter().any(|setting| setting.key == option && setting.value == Value::Switch(true));
    typed.try_get_one::<bool>(option).is_ok_and(|on| on == Some(&true)) || is_set()
}

/// The settings that hold, strongest level first. One that is typed, or that cannot go with one that is, is left out; so is what cannot go with
/// a setting of a stronger level. Err: two of one level that cannot go together.
fn chosen<'a>(verb: &Command, typed: &ArgMatches, levels: [Vec<&'a Setting>; 2]) -> Result<Vec<&'a Setting>, Failure> {
    let mut decided: Vec<&Arg> =
        verb.get_arguments().filter(|option| is_typed(typed, option.get_id().as_str())).collect();
    let mut chosen: Vec<&Setting> = Vec::new();
    for level in levels {
        let begin = chosen.len();
        for setting in level {
            let options = definition::options(verb, setting.key);
            let is_decided = options.iter().any(|option| {
                decided.iter().any(|other| other.get_id() == option.get_id() || exclude(verb, option, other))
            });
            if is_decided {
                continue;
            }
            let rival = chosen[begin..].iter().find(|other| {
                let others = definition::options(verb, other.key);
                options.iter().any(|option| others.iter().any(|other| exclude(verb, option, other)))
            });
            if let Some(rival) = rival {
                return Err(Failure::usage(format!(
                    "{}: `{}` cannot be set together with `{}`",
                    setting.origin, setting.key, rival.key
                ))
                .detail(format!("`{}` is set at {}", rival.key, rival.origin))
                .hint(format!("leave one of them out; genba {} --help says what they are", verb.get_name())));
            }
            chosen.push(setting);
        }
        decided.extend(chosen[begin..].iter().flat_map(|setting| definition::options(verb, setting.key)));
    }
    Ok(chosen)
}

fn exclude(verb: &Command, one: &Arg, other: &Arg) -> bool {
    let excludes = |one: &Arg, other: &Arg| {
        verb.get_arg_conflicts_with(one).iter().any(|excluded| excluded.get_id() == other.get_id())
    };
    excludes(one, other) || excludes(other, one)
}

#[cfg(test)]
mod tests {
    use super::setting::Origin;
    use super::*;

    fn command() -> Command {
        let mut command = crate::command();
        command.build();
        command
    }

    #[test]
    fn every_setting_is_an_option_and_can_be_taken_back_on_the_command_line() {
        let command = command();
        for (name, keys) in KEYS {
            let verb = command.find_subcommand(name).unwrap();
            for key in keys {
                let options = definition::options(verb, key);
                // What sends something away can be taken back without a value of its own.
                let is_taken_back = definition::kind(verb, key) == definition::Kind::Switch || *key == "push";
                let expected = if is_taken_back { 2 } else { 1 };
                assert_eq!(options.len(), expected, "genba {name}: {key} (a switch has --{key} and --no-{key})");
            }
        }
    }

    #[test]
    fn what_is_stronger_decides() {
        let command = command();
        let verb = command.find_subcommand("run").unwrap();
        let text = |key, value: &str, origin: &str| Setting {
            key,
            value: Value::Text(value.into()),
            origin: Origin::Variable(origin.to_owned()),
        };
        let check = |line: &str, variables: &[&'static str], file: &[&'static str], expected: &str| {
            let words = line.split(' ').filter(|word| !word.is_empty());
            let typed = verb.clone().no_binary_name(true).try_get_matches_from(words).unwrap();
            let variables: Vec<Setting> = variables.iter().map(|key| text(*key, "", "variable")).collect();
            let file: Vec<Setting> = file.iter().map(|key| text(*key, "", "file")).collect();
            let found = match chosen(verb, &typed, [variables.iter().collect(), file.iter().collect()]) {
                Ok(chosen) => chosen.iter().map(|one| format!("{} of {}", one.key, one.origin)).collect::<Vec<_>>(),
                Err(failure) => vec![failure.to_string().lines().next().unwrap_or_default().to_owned()],
            };
            assert_eq!(found.join(", "), expected, "{line}");
        };
        check("", &[], &["rate"], "rate of file");
        check("", &["rate"], &["rate", "tag"], "rate of variable, tag of file");
        check("-r 100", &["rate"], &["rate"], "");
        // One says the same as the other in another way.
        check("--interval 1ms", &[], &["rate"], "");
        check("-r 100", &[], &["interval"], "");
        check("", &["interval"], &["rate"], "interval of variable");
        check("--interval 1ms", &[], &["budget"], "");
        check("--budget 5%", &["rate"], &["interval"], "");
        check("", &[], &["interval", "rate"], "error: file: `rate` cannot be set together with `interval`");
        check("--no-children", &[], &["children"], "");
        check("--children", &["native"], &["children", "native"], "native of variable");
        check("app.py -r 100", &[], &["rate"], "rate of file");
    }

    #[test]
    fn a_weight_is_left_out_where_nothing_counts_it() {
        let command = command();
        let origin = || Origin::Variable("GENBA_WEIGHT".to_owned());
        let weight = |by: &str| Setting { key: "weight", value: Value::Text(by.into()), origin: origin() };
        let copies = Setting { key: "copies", value: Value::Switch(true), origin: origin() };
        let check = |line: &str, by: &str, sets_copies: bool, expected: &str| {
            let mut words = line.split(' ');
            let verb = command.find_subcommand(words.next().unwrap()).unwrap();
            let typed = verb.clone().no_binary_name(true).try_get_matches_from(words).unwrap();
            let weight = weight(by);
            let mut chosen = vec![&weight];
            chosen.extend(sets_copies.then_some(&copies));
            let said = leave_out_what_is_not_counted(verb, &typed, &mut chosen).join("\n");
            let is_left_out = !chosen.iter().any(|setting| setting.key == "weight");
            assert_eq!((said.as_str(), is_left_out), (expected, !expected.is_empty()), "{line}");
        };
        let without = "GENBA_WEIGHT: `weight` is left out: without --copies no copied bytes are recorded";
        check("run app.py", "copied", false, without);
        check("run --copies app.py", "copied", false, "");
        check("run --copies --no-copies app.py", "copied", false, without);
        check("run app.py", "copied", true, "");
        check("run app.py", "wall", false, "");
        check("report app.genba", "copied", false, "");
        let without = "GENBA_WEIGHT: `weight` is left out: without --alloc no allocated bytes are recorded";
        check("attach --copies 1", "allocated", false, without);
    }

    #[test]
    fn a_value_is_one_that_any_verb_takes() {
        let command = lenient(&crate::command());
        let setting = |by: &str| Setting {
            key: "weight",
            value: Value::Text(by.into()),
            origin: Origin::Variable("GENBA_WEIGHT".to_owned()),
        };
        definition::check(&command, &setting("copied")).unwrap();
        let refused = definition::check(&command, &setting("gold")).unwrap_err().to_string();
        assert!(refused.contains("expected one of cpu, wall, samples, copied, allocated"), "{refused}");
        let is_taken =
            |verb: &str, by: &str| definition::refusal(command.find_subcommand(verb).unwrap(), &setting(by)).is_none();
        assert_eq!(
            [is_taken("diff", "copied"), is_taken("diff", "wall"), is_taken("run", "copied")],
            [false, true, true]
        );
    }
}
