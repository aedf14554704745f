//! A setup after another one, in whatever state the user has left the file: it adds what is missing, and changes nothing else.

use std::path::Path;

use serde_json::{Value, json};

use crate::setup::clients::CLIENTS;
use crate::setup::edits::config_edit::{FileEdits, JsonEdit};
use crate::setup::edits::{edit_json, edit_toml};
use crate::setup::known_client::{ClientFile, Places, Server};
use crate::setup::setup_plan::{Addition, Earlier, Removal, plan_addition, plan_removal};
use crate::setup::setup_record::{Owner, SetupRecord};

/// What the user may have done with one of setup's edits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Kept,
    /// An entry has further fields and another limit, a hook another limit.
    Changed,
    Removed,
}

const STATES: [State; 3] = [State::Kept, State::Changed, State::Removed];

fn files(program: &str) -> Vec<(&'static str, ClientFile)> {
    let places = Places::read(|name| (name == "HOME").then(|| "/home/u".into()), false).unwrap();
    let server = Server { program: program.to_owned() };
    let of = |client: &'static crate::setup::known_client::Client| {
        let files = (client.for_user)(&places, &server).into_iter();
        let files = files.chain((client.for_project)(Path::new("/p"), &server));
        files.map(|file| (client.name, file)).collect::<Vec<_>>()
    };
    CLIENTS.iter().flat_map(of).collect()
}

fn parse(text: &str, kind: &FileEdits) -> Value {
    let whole = match kind {
        FileEdits::Json(_) => edit_json::value_at(text, &[]),
        FileEdits::Toml(_) => edit_toml::value_at(text, &[]),
    };
    whole.unwrap().unwrap()
}

/// Writes a value as a text of the same kind.
fn text_of(value: &Value, kind: &FileEdits) -> String {
    match kind {
        FileEdits::Json(_) => format!("{value:#}\n"),
        FileEdits::Toml(_) => toml::to_string(value).unwrap(),
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, key| &mut value[key.as_str()])
}

/// Does with one edit what the user has done. Returns whether something is missing then.
fn leave(value: &mut Value, edit: &JsonEdit, state: State) -> bool {
    let (path, ours) = (edit.path(), edit.value());
    let (key, around) = path.split_last().unwrap();
    match (edit, state) {
        (_, State::Kept) => false,
        (JsonEdit::Entry(_), State::Changed) => {
            let entry = at(value, path);
            entry["env"] = json!({ "MY": "only copy" });
            entry["trust"] = json!(true);
            entry["timeout"] = json!(600_000);
            false
        }
        (JsonEdit::Entry(_), State::Removed) => {
            at(value, around).as_object_mut().unwrap().remove(key).unwrap();
            true
        }
        (JsonEdit::Item(_), _) => {
            let list = at(value, path).as_array_mut().unwrap();
            let found = list.iter().position(|item| item == ours).unwrap();
            if state == State::Changed && ours["hooks"].is_array() {
                list[found]["hooks"][0]["timeout"] = json!(77);
                return false;
            }
            list.remove(found);
            true
        }
    }
}

struct First {
    after: String,
    earlier: Earlier,
}

fn set_up(name: &str, file: &ClientFile, before: Option<&str>, earlier: Option<&Earlier>) -> First {
    match plan_addition(before, &file.edits, name, earlier).unwrap() {
        Addition::Write { after, original, ours, made, .. } => {
            let owner = Owner { client: name, project: None };
            let change = (ours, made);
            let record = SetupRecord::new(owner, &file.path, original.as_deref(), &after, change);
            let record = match earlier {
                Some(earlier) => record.following(&earlier.record),
                None => record,
            };
            First { after, earlier: Earlier { record, original } }
        }
        Addition::Nothing => {
            First { after: before.unwrap().to_owned(), earlier: earlier.unwrap().clone() }
        }
    }
}

/// Checks that `after` is `before` with the missing edits at the ends of their objects and lists.
#[track_caller]
fn check_only_added(before: &Value, after: &Value, missing: &[JsonEdit], what: &str) {
    let mut expected = before.clone();
    for edit in missing {
        let place = at(&mut expected, edit.path());
        match (edit, &mut *place) {
            (JsonEdit::Item(_), Value::Array(list)) => list.push(edit.value().clone()),
            (JsonEdit::Item(_), _) => *place = json!([edit.value()]),
            (JsonEdit::Entry(_), _) => *place = edit.value().clone(),
        }
    }
    // The items of a list in any order: two that are missing are added in setup's order.
    assert_eq!(sorted(after), sorted(&expected), "{what}");
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(list) => {
            let mut list: Vec<_> = list.iter().map(sorted).collect();
            list.sort_by_key(Value::to_string);
            Value::Array(list)
        }
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn a_later_setup_adds_what_is_missing_and_changes_nothing_else() {
    let mut mixes = 0;
    for (name, file) in files("/b/cli-team-bridge") {
        let mine = match &file.edits {
            FileEdits::Json(_) => "{\"mine\": [1], \"hooks\": {\"Other\": [2]}}\n",
            FileEdits::Toml(_) => "mine = [1]\n",
        };
        for before in [None, Some(mine)] {
            let first = set_up(name, &file, before, None);
            let edits = file.edits.each();
            for mix in 0..STATES.len().pow(u32::try_from(edits.len()).unwrap()) {
                let state =
                    |at: usize| STATES[mix / STATES.len().pow(u32::try_from(at).unwrap()) % 3];
                let states: Vec<_> = (0..edits.len()).map(state).collect();
                let mut value = parse(&first.after, &file.edits);
                let is_missing =
                    |(edit, state): (&JsonEdit, &State)| leave(&mut value, edit, *state);
                let missing: Vec<_> = edits.iter().zip(&states).map(is_missing).collect();
                let missing = edits.iter().zip(missing).filter(|(_, is_missing)| *is_missing);
                let missing: Vec<_> = missing.map(|(edit, _)| edit.clone()).collect();
                let text = text_of(&value, &file.edits);
                let what = format!("{name} {}: {states:?}", file.path.display());

                let second = set_up(name, &file, Some(&text), Some(&first.earlier));
                check_only_added(&value, &parse(&second.after, &file.edits), &missing, &what);
                let again =
                    plan_addition(Some(&second.after), &file.edits, name, Some(&second.earlier));
                assert_eq!(again, Ok(Addition::Nothing), "{what}");

                // All of it goes.
                let left = match plan_removal(&second.after, &second.earlier).unwrap() {
                    Removal::Write(left) => left,
                    Removal::Nothing | Removal::Delete => String::new(),
                };
                assert!(!left.contains("cli-team-bridge hook"), "{what}: {left}");
                assert!(!left.contains("orchestrator"), "{what}: {left}");
                assert_eq!(before.is_some(), left.contains("mine"), "{what}: {left}");
                mixes += 1;
            }
        }
    }
    assert!(mixes > 1_000, "{mixes}");
}

#[test]
fn a_moved_program_is_corrected_beside_what_the_user_has_changed() {
    for ((name, file), (_, new)) in
        files("/b/cli-team-bridge").iter().zip(files("/new/cli-team-bridge"))
    {
        let first = set_up(name, file, None, None);
        // The user has added something, and removed an item.
        let mut value = parse(&first.after, &file.edits);
        value["mine"] = json!(1);
        let items = file.edits.each();
        if let Some(item) = items.iter().rfind(|edit| edit.is_item()) {
            leave(&mut value, item, State::Removed);
        }
        let text = text_of(&value, &file.edits);
        let Addition::Write { removed, .. } =
            plan_addition(Some(&text), &new.edits, name, Some(&first.earlier)).unwrap()
        else {
            panic!("{name}: nothing was corrected")
        };
        assert!(!removed.is_empty(), "{name}");
        let second = set_up(name, &new, Some(&text), Some(&first.earlier));
        assert!(!second.after.contains("/b/cli"), "{name}: {}", second.after);
        let mut expected = parse(&set_up(name, &new, None, None).after, &new.edits);
        expected["mine"] = json!(1);
        let after = parse(&second.after, &new.edits);
        assert_eq!(sorted(&after), sorted(&expected), "{name}");
        let Removal::Write(left) = plan_removal(&second.after, &second.earlier).unwrap() else {
            panic!("{name}: nothing is left")
        };
        assert_eq!(parse(&left, &new.edits), json!({ "mine": 1 }), "{name}");
    }
}

/// The file is then as the earlier one wrote it, and the record is of both.
#[test]
fn a_setup_that_was_killed_before_it_wrote_a_moved_program_is_undone_whole() {
    for ((name, file), (_, new)) in
        files("/b/cli-team-bridge").iter().zip(files("/new/cli-team-bridge"))
    {
        let mine = match &file.edits {
            FileEdits::Json(_) => "{ \"mine\" : 1 }",
            FileEdits::Toml(_) => "mine  = 1",
        };
        let first = set_up(name, file, Some(mine), None);
        let second = set_up(name, &new, Some(&first.after), Some(&first.earlier));
        let mut killed = second.earlier.clone();
        killed.record = second.earlier.record.until_made(&first.earlier.record);
        for (text, next) in [(&first.after, &new), (&second.after, file)] {
            let left = plan_removal(text, &killed).unwrap();
            assert_eq!(left, Removal::Write(mine.to_owned()), "{name}");
            let Removal::Write(left) = plan_removal(&format!("{text}\n"), &killed).unwrap() else {
                panic!("{name}: nothing is left")
            };
            assert_eq!(parse(&left, &file.edits), json!({ "mine": 1 }), "{name}");
            let again = set_up(name, next, Some(text), Some(&killed));
            let left = plan_removal(&again.after, &again.earlier).unwrap();
            assert_eq!(left, Removal::Write(mine.to_owned()), "{name}");
        }
    }
}

/// Links may lead from the places of several clients to one file.
#[test]
fn a_file_of_two_clients_gets_the_edits_of_both() {
    let all = files("/b/cli-team-bridge");
    let moved = files("/new/cli-team-bridge");
    let is_json = |file: &ClientFile| matches!(file.edits, FileEdits::Json(_));
    for (at, (one, first)) in all.iter().enumerate().filter(|(_, (_, file))| is_json(file)) {
        for (other_at, (other, second)) in all.iter().enumerate() {
            if !is_json(second) || one == other {
                continue;
            }
            let what = format!("{one}, {other}");
            let mine = "{\"mine\": 1}\n";
            let written = set_up(one, first, Some(mine), None);
            let both = set_up(other, second, Some(&written.after), Some(&written.earlier));
            let value = parse(&both.after, &first.edits);
            let before = parse(&written.after, &first.edits);
            assert!(contains(&value, &before), "{what}: {value:#}");
            for (name, file) in [(one, first), (other, second)] {
                let again =
                    plan_addition(Some(&both.after), &file.edits, name, Some(&both.earlier));
                assert_eq!(again, Ok(Addition::Nothing), "{what}");
            }
            let left = plan_removal(&both.after, &both.earlier).unwrap();
            assert_eq!(left, Removal::Write(mine.to_owned()), "{what}");

            let new = set_up(one, &moved[at].1, Some(&both.after), Some(&both.earlier));
            let new = set_up(other, &moved[other_at].1, Some(&new.after), Some(&new.earlier));
            assert!(!new.after.contains("/b/cli"), "{what}: {}", new.after);
            let corrected = new.after.replace("/new/", "/b/");
            let corrected = parse(&corrected, &first.edits);
            assert_eq!(sorted(&corrected), sorted(&value), "{what}");
            let left = plan_removal(&new.after, &new.earlier).unwrap();
            assert_eq!(left, Removal::Write(mine.to_owned()), "{what}");
        }
    }
}

/// Says whether a value has all that another one has.
fn contains(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(fields), Value::Object(others)) => others
            .iter()
            .all(|(key, other)| fields.get(key).is_some_and(|value| contains(value, other))),
        (Value::Array(list), Value::Array(others)) => {
            others.iter().all(|other| list.contains(other))
        }
        _ => value == other,
    }
}
