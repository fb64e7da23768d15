//! A reference in the user's words, and what can be done about it.
//! Owns: the words. Never: decides which reference it is.

use genba_heap::found::{Node, Reference};
use genba_heap::steps::Step;

use crate::verbs::heap::text::shortened;
use genba_text::quoted;

/// Facts about classes, by their row.
pub trait Classes {
    fn name(&self, row: u64) -> &str;
    /// Python refuses a weak reference to any other object, such as a dict, a list, or one with `__slots__` alone.
    fn bears_weak(&self, _row: u64) -> bool {
        false
    }
}

/// `dict`, `Node`, `Node.__dict__`.
pub fn node(node: Node, classes: &impl Classes) -> String {
    let name = shortened(classes.name(node.row));
    if node.is_attributes { format!("{name}.__dict__") } else { name }
}

/// How a reference is drawn: `dict["key"] → dict`.
pub fn drawn(reference: &Reference, classes: &impl Classes) -> String {
    format!("{} → {}", holder(reference, classes), node(reference.to, classes))
}

/// The same beside an arrow from one class to the other: `["key"]`, `.parent`.
pub fn beside(reference: &Reference) -> String {
    let name = shortened(&reference.name);
    match (reference.step, reference.is_many) {
        (Step::Attribute, false) => format!(".{name}"),
        (Step::Attribute, true) => ".…".to_owned(),
        (Step::Attributes | Step::Plain, _) => String::new(),
        (Step::Key, false) => format!("[{}]", quoted(&name, '"')),
        (Step::Key, true) | (Step::Item, _) => "[…]".to_owned(),
        (Step::AsKey, _) => "as a key".to_owned(),
        (Step::Local, false) if !name.is_empty() => format!("local {name}"),
        (Step::Local, _) => "a local".to_owned(),
    }
}

fn holder(reference: &Reference, classes: &impl Classes) -> String {
    let (class, name) = (shortened(classes.name(reference.from.row)), shortened(&reference.name));
    match (reference.step, reference.is_many) {
        (Step::Attribute, false) => format!("{class}.{name}"),
        (Step::Attribute, true) => format!("{class}.…"),
        (Step::Attributes, _) => class,
        (Step::Key, false) => format!("{}[{}]", node(reference.from, classes), quoted(&name, '"')),
        (Step::Key, true) | (Step::Item, _) => format!("{}[…]", node(reference.from, classes)),
        (Step::AsKey, _) => format!("{}, as a key", node(reference.from, classes)),
        (Step::Local, false) if !name.is_empty() => format!("{class}, local {name}"),
        (Step::Local, _) => format!("{class}, a local"),
        (Step::Plain, _) => node(reference.from, classes),
    }
}

/// What to drop: `the dict's key 'key'`, `Node.parent`.
pub fn named(reference: &Reference, classes: &impl Classes) -> String {
    let (class, name) = (node(reference.from, classes), shortened(&reference.name));
    match (reference.step, reference.is_many) {
        (Step::Attribute, false) if name == "cell_contents" => "the variable that the closure holds".to_owned(),
        (Step::Attribute | Step::Attributes, _) => holder(reference, classes),
        (Step::Key, false) => format!("the {class}'s key {}", quoted(&name, '\'')),
        (Step::Key, true) => format!("the {class}'s values"),
        (Step::Item, _) => format!("the {class}'s items"),
        (Step::AsKey, _) => format!("the {class}'s keys"),
        (Step::Local, false) if !name.is_empty() => format!("the local variable {name} of the {class}"),
        (Step::Local, _) => format!("the {class}'s local variables"),
        (Step::Plain, _) => format!("what the {class} refers to ({})", node(reference.to, classes)),
    }
}

/// Objects of these are as they were made, and what the interpreter made of its own is not the user's to change.
const FIXED: [&str; 22] = [
    "tuple",
    "frozenset",
    "slice",
    "traceback",
    "frame",
    "method",
    "builtin_function_or_method",
    "method-wrapper",
    "code",
    "property",
    "staticmethod",
    "classmethod",
    "getset_descriptor",
    "member_descriptor",
    "method_descriptor",
    "classmethod_descriptor",
    "wrapper_descriptor",
    "mappingproxy",
    "types.GenericAlias",
    "map",
    "filter",
    "zip",
];
/// Of these the fields alone: a program can give them attributes, and take these away.
const FIXED_FIELDS: [(&str, &[&str]); 2] = [
    ("function", &["__closure__", "__globals__", "__builtins__"]),
    ("functools.partial", &["func", "args", "keywords"]),
];
/// Classes of classes.
const METACLASSES: [&str; 4] = ["type", "abc.ABCMeta", "enum.EnumType", "enum.EnumMeta"];
/// Of a class in a cycle: each is in one by its `__mro__`, which no program can drop.
pub const MAKE_ONCE: &str = "make the class once, outside the function that makes it: a class always refers to itself";

/// Whether the holder stays as it was made.
pub fn is_fixed(reference: &Reference, classes: &impl Classes) -> bool {
    let name = classes.name(reference.from.row);
    if let Some((_, fields)) = FIXED_FIELDS.iter().find(|(class, _)| *class == name) {
        return reference.step != Step::Attribute || fields.contains(&reference.name.as_str());
    }
    // CPython's own iterators: those of a program have names for what they hold.
    let is_iterator = name.ends_with("iterator") || name == "enumerate" || name == "reversed";
    let is_own_iterator = reference.step == Step::Plain && (is_iterator || name.starts_with("itertools."));
    reference.step != Step::Local && (is_own_iterator || FIXED.contains(&name))
}

/// Whether objects of this node are classes: their descriptors name them as `__objclass__`.
pub fn is_class(node: Node, references: &[Reference], classes: &impl Classes) -> bool {
    let is_named = |one: &Reference| one.step == Step::Attribute && one.name == "__objclass__" && one.to == node;
    !node.is_attributes && (METACLASSES.contains(&classes.name(node.row)) || references.iter().any(is_named))
}

/// How that is done.
pub fn done(reference: &Reference, classes: &impl Classes) -> String {
    let name = shortened(&reference.name);
    if is_fixed(reference, classes) {
        return "it cannot be changed, so do not make it with that object".to_owned();
    }
    // A weak reference alone keeps nothing.
    let held = format!("if something else holds that {}", node(reference.to, classes));
    let bears_weak = !reference.to.is_attributes && classes.bears_weak(reference.to.row);
    let or_weak = |words: &str| if bears_weak { format!(", or {words} {held}") } else { String::new() };
    match (reference.step, reference.is_many) {
        (Step::Key, false) => {
            let or_weak = or_weak("keep a weakref there");
            format!("del d[{}] or d.clear() when it is done{or_weak}", quoted(&name, '\''))
        }
        (Step::Key, true) | (Step::Item | Step::AsKey, _) => {
            format!(".clear() it when it is done{}", or_weak("keep weakrefs there"))
        }
        (Step::Local, _) => "del the variable at the end of the function, or close the generator".to_owned(),
        (Step::Attribute, false) if name == "__traceback__" => {
            "del the variable that holds the exception, or exception.__traceback__ = None".to_owned()
        }
        (Step::Attribute, false) if name == "cell_contents" => {
            "set it to None when the function is done, or pass the object as an argument".to_owned()
        }
        (Step::Attribute | Step::Attributes, _) if bears_weak => {
            format!("make it a weakref {held}, or set it to None when it is done")
        }
        (Step::Attribute | Step::Attributes, _) => "set it to None when it is done".to_owned(),
        (Step::Plain, _) => "let it go when it is done".to_owned(),
    }
}
