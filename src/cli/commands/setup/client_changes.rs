//! The changes to one client's files: plans them, shows them, and makes them, with a record of each.

use std::path::Path;

use super::shown_edits;
use crate::cli::{Failure, output};
use crate::config::quoted;
use crate::setup::clients::named;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::entry_arguments::JudgeArguments;
use crate::setup::edits::entry_variables::{Values, VariableForms, expand};
use crate::setup::known_client::ClientFile;
use crate::setup::setup_plan::{
    Addition, Earlier, Surroundings, check_projects_entries, plan_correction,
};
use crate::setup::setup_record::{Owner, Records, SetupRecord};
use crate::sys::process::find_program;

/// One file of a client, with its planned change.
pub(super) struct PlannedFile {
    now: ConfigFile,
    earlier: Option<Earlier>,
    addition: Addition,
    purpose: &'static str,
}

/// The files of a client: those with a change, those without, and those that cannot be changed, with the reason.
#[derive(Default)]
pub(super) struct PlannedClient {
    pub(super) changes: Vec<PlannedFile>,
    pub(super) up_to_date: Vec<String>,
    pub(super) refused: Vec<String>,
}

/// Plans all files of a client.
pub(super) fn plan(
    files: &[ClientFile],
    owner: Owner<'_>,
    records: &Records,
    judge_arguments: JudgeArguments,
) -> PlannedClient {
    let mut planned = PlannedClient::default();
    for file in files {
        match plan_file(file, owner, records, judge_arguments) {
            Ok(found) if found.addition == Addition::Nothing => {
                planned.up_to_date.push(quoted(&found.now.path));
            }
            Ok(found) => planned.changes.push(found),
            Err(error) => planned.refused.push(format!("{}: {error}", quoted(&file.path))),
        }
    }
    planned
}

fn plan_file(
    file: &ClientFile,
    owner: Owner<'_>,
    records: &Records,
    judge_arguments: JudgeArguments,
) -> Result<PlannedFile, Failure> {
    let now = ConfigFile::read(&file.path, owner.project)?;
    let earlier = records.of(&now.path)?.map(|record| {
        let original = records.original(&record);
        Earlier { record, original }
    });
    if let (Some(_), Some(text)) = (owner.project, &now.text) {
        check_projects_entries(text, &file.edits, earlier.as_ref())?;
    }
    let search = std::env::var_os("PATH");
    let is_missing = |program: &str| find_program(Path::new(program), search.as_deref()).is_none();
    let is_of_project = owner.project.is_some();
    let client = named(owner.client);
    let forms = client.map_or(VariableForms::None, |client| client.variables);
    let value = |name: &str| std::env::var(name).ok();
    let values = Values { variable: &value, workspace: owner.project };
    let expand = |command: &str| expand(command, forms, values).text;
    let around =
        Surroundings { is_missing: &is_missing, expand: &expand, judge_arguments, is_of_project };
    let text = now.text.as_deref();
    let edits = client.map_or_else(|| file.edits.clone(), |client| client.to_write(&file.edits));
    let addition = plan_correction(text, &edits, owner.client, earlier.as_ref(), around)?;
    if let Some(text) = &now.text {
        file.check_readable(text)?;
    }
    if let Addition::Write { after, .. } = &addition {
        now.may_be_replaced()?;
        now.may_become(after)?;
    }
    Ok(PlannedFile { now, earlier, addition, purpose: file.purpose })
}

impl PlannedFile {
    /// Prints the edits.
    pub(super) fn show(&self) {
        let Addition::Write { added, removed, .. } = &self.addition else {
            return;
        };
        let new = if self.now.text.is_none() { ", a new file" } else { "" };
        output::say(&format!("\n{}{new}: {}", quoted(&self.now.path), self.purpose));
        let removed = shown_edits::lines('-', removed).into_iter();
        for line in removed.chain(shown_edits::lines('+', added)) {
            output::say(&format!("  {line}"));
        }
    }

    /// Keeps the original, makes the change, and reports it.
    pub(super) fn write(&self, owner: Owner<'_>, records: &Records) -> Result<(), Failure> {
        let Addition::Write { after, original, ours, set, made, .. } = &self.addition else {
            return Ok(());
        };
        let change = (ours.clone(), made.clone());
        let path = &self.now.path;
        let record = SetupRecord::new(owner, path, original.as_deref(), after, change);
        let mut record = record.with_set(set);
        if let Some(earlier) = &self.earlier {
            record = record.following(&earlier.record);
        }
        let missing = self.now.missing_directories();
        if !missing.is_empty() {
            record.directories = missing;
        }
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", quoted(path));
        let keep = |record: &SetupRecord| {
            records.keep(record, original.as_deref()).map_err(|error| failed(&error))
        };
        // A killed setup leaves the file as it was or as it will be, so the record is of both until the file is written.
        let until_made = self.earlier.as_ref().map(|earlier| record.until_made(&earlier.record));
        keep(until_made.as_ref().unwrap_or(&record))?;
        if let Err(error) = self.now.replace(after) {
            // Nothing was written. A leftover record does no harm: an undo looks at what the file has.
            let _ = match &self.earlier {
                Some(earlier) => records.keep(&earlier.record, earlier.original.as_deref()),
                None => records.forget(&record),
            };
            return Err(failed(&error).into());
        }
        if until_made.is_some() {
            keep(&record)?;
        }
        let backup = if record.had_file() {
            format!(" (the original: {})", quoted(&records.original_path(&record)))
        } else {
            String::new()
        };
        output::tell(&format!("Wrote {}{backup}.", quoted(path)));
        Ok(())
    }
}
