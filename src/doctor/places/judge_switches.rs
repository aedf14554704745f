//! Judges the settings that switch a client's entry off. Pure.

use crate::doctor::finding::{Cause, Finding, Level, Subject};
use crate::setup::known_client::{Switch, SwitchEffect};
use crate::setup::switches::EntryLeftOut;

/// The check, in two words.
pub(super) const CHECK: &str = "switched off";

/// Adds to a client's findings what switches its entry off. An entry that is off is not all right, however it is written. One that is a
/// problem comes first: nobody should turn it on, or approve it, as it is.
pub(super) fn add(
    findings: &mut Vec<Finding>,
    client: &str,
    left_out: &[EntryLeftOut],
    switches: &[Switch],
) {
    let subject = Subject::Client(client.to_owned());
    for EntryLeftOut { file, is_local, says, remedy, .. } in left_out {
        let cause = Some(Cause::Entry { file: file.clone(), is_local: *is_local });
        // Whatever it says, the client does not use it.
        findings.retain(|one| one.check != "entry" || one.cause != cause);
        let note = Finding::note(&subject, CHECK, says).with_remedy(remedy);
        findings.push(note.with_cause(cause));
    }
    if findings.iter().any(|one| one.check == "entry" && one.level == Level::Problem) {
        return;
    }
    if switches.iter().any(|switch| switch.effect == SwitchEffect::Off) {
        findings.retain(|finding| finding.check != "entry" || finding.level != Level::Ok);
    }
    findings.extend(switches.iter().map(|Switch { effect, says, remedy, unused_file }| {
        let finding = match effect {
            SwitchEffect::Off => Finding::problem(&subject, CHECK, says, remedy),
            SwitchEffect::Partly => Finding::note(&subject, CHECK, says).with_remedy(remedy),
        };
        finding.with_cause(unused_file.clone().map(Cause::UnusedFile))
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_is_switched_off_is_a_problem_and_not_all_right_as_well() {
        let subject = Subject::Client("x".to_owned());
        let entry = || {
            vec![
                Finding::ok(&subject, "entry", "it starts"),
                Finding::note(&subject, "timeout", "short"),
            ]
        };
        let switch = |effect| Switch {
            effect,
            says: "off".to_owned(),
            remedy: "on".to_owned(),
            unused_file: None,
        };
        let judged = |effect| {
            let mut findings = entry();
            add(&mut findings, "x", &[], &[switch(effect)]);
            findings.iter().map(|finding| (finding.check, finding.level)).collect::<Vec<_>>()
        };
        let off = [("timeout", Level::Note), (CHECK, Level::Problem)];
        assert_eq!(judged(SwitchEffect::Off), off);
        let partly = [("entry", Level::Ok), ("timeout", Level::Note), (CHECK, Level::Note)];
        assert_eq!(judged(SwitchEffect::Partly), partly);
        let mut wrong =
            vec![Finding::problem(&subject, "entry", "it may run anything", "remove it")];
        add(&mut wrong, "x", &[], &[switch(SwitchEffect::Off), switch(SwitchEffect::Partly)]);
        assert_eq!(wrong.len(), 1, "nobody is told to turn it on: {wrong:?}");
    }

    #[test]
    fn an_entry_that_the_client_leaves_out_is_a_note_whatever_is_wrong_with_it() {
        let subject = Subject::Client("x".to_owned());
        let cause = |file: &str| Some(Cause::Entry { file: file.into(), is_local: false });
        let used = Finding::ok(&subject, "entry", "it starts").with_cause(cause("/used"));
        let wrong = Finding::problem(&subject, "entry", "it is gone", "mend it");
        let mut findings = vec![used, wrong.with_cause(cause("/left out"))];
        let left_out = EntryLeftOut {
            key: "k".to_owned(),
            file: "/left out".into(),
            is_local: false,
            says: "it takes another one".to_owned(),
            remedy: "mend it".to_owned(),
        };
        add(&mut findings, "x", &[left_out], &[]);
        let found: Vec<_> = findings.iter().map(|one| (one.check, one.level)).collect();
        assert_eq!(found, [("entry", Level::Ok), (CHECK, Level::Note)], "{findings:?}");
    }
}
