//! The rows of `defaults` compared with the reader and the documentation.

use std::fs;
use std::path::Path;

use super::test_directories::TestDirectories;
use crate::config::defaults::{CONFLICT, LIMITS, NAMES, NOTIFY, PROFILE, WEBHOOKS, WORKFLOWS};
use crate::config::key::names;
use crate::config::key_tables;

#[test]
fn the_document_has_the_tables_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let document = fs::read_to_string(path).unwrap() + "\n";
    let expected = key_tables().map(|(title, table)| format!("\n## `{title}`\n\n{table}\n"));
    let is_there = expected.iter().all(|part| document.contains(part));
    assert!(is_there, "docs/configuration.md should have:\n{}", expected.concat());
}

/// A date is no valid value of any key, so its error shows that the key is known.
#[test]
fn every_key_of_a_table_is_read() {
    let profile = "[agents.a]\ncommand = \"x\"\nmode = \"m\"\n";
    let tables = [
        (profile, names(&PROFILE)),
        ("[limits]\n", names(&LIMITS)),
        ("[names]\n", names(&NAMES)),
        ("[conflict]\n", names(&CONFLICT)),
        ("[workflows]\n", names(&WORKFLOWS)),
    ];
    for key in names(&NOTIFY) {
        let text = format!("[notify]\n{key} = 2020-01-01");
        let error = TestDirectories::new().user(&text).error();
        assert!(error.contains("not a date or time"), "{key}: {error}");
    }
    for key in names(&WEBHOOKS) {
        let text = format!("[webhooks.ci]\n{key} = 2020-01-01");
        let error = TestDirectories::new().user(&text).error();
        assert!(error.contains("not a date or time"), "{key}: {error}");
    }
    for (table, keys) in tables {
        for key in keys {
            let table = table.replace(&format!("{key} = \"x\"\n"), "");
            let table = table.replace(&format!("{key} = \"m\"\n"), "");
            let text = format!("{table}{key} = 2020-01-01");
            let error = TestDirectories::new().project(&text).error();
            assert!(error.contains("not a date or time"), "{key}: {error}");
        }
    }
}
