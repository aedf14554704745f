//! Judges the settings that switch a client's entry off. Pure.

use crate::doctor::finding::{Cause, Finding, Level, Subject};
use crate::setup::known_client::{Switch, SwitchEffect};

/// The check, in two words.
pub(super) const CHECK: &str = "switched off";

/// Adds to a client's findings what switches its entry off. An entry that is off is not all right, however it is written. One that is a
/// problem comes first: nobody should turn it on, or approve it, as it is.
pub(super) fn add(findings: &mut Vec<Finding>, client: &str, switches: &[Switch]) {
    let subject = Subject::Client(client.to_owned());
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
            add(&mut findings, "x", &[switch(effect)]);
            findings.iter().map(|finding| (finding.check, finding.level)).collect::<Vec<_>>()
        };
        let off = [("timeout", Level::Note), (CHECK, Level::Problem)];
        assert_eq!(judged(SwitchEffect::Off), off);
        let partly = [("entry", Level::Ok), ("timeout", Level::Note), (CHECK, Level::Note)];
        assert_eq!(judged(SwitchEffect::Partly), partly);
        let mut wrong =
            vec![Finding::problem(&subject, "entry", "it may run anything", "remove it")];
        add(&mut wrong, "x", &[switch(SwitchEffect::Off), switch(SwitchEffect::Partly)]);
        assert_eq!(wrong.len(), 1, "nobody is told to turn it on: {wrong:?}");
    }
}
