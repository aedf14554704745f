//! Finds the program of a profile, or says how to install it if it is missing.

use std::path::{Path, PathBuf};

use super::agent_command::Command;
use super::agent_profile::Profile;
use crate::domain::missing_program::{MissingProgram, Searched};

impl Profile {
    /// Returns the path of the program to start.
    ///
    /// `own_binary` is the path of this binary. `find` is given a bare name, to look up on `PATH`, or an absolute path,
    /// and returns the path of the executable file if there is one.
    pub fn program(
        &self,
        own_binary: &Path,
        find: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<PathBuf, MissingProgram> {
        let program = match &self.command.value {
            Command::OwnBinary => return Ok(own_binary.to_owned()),
            // A path from a TOML file is text, so the conversion loses nothing.
            Command::Absolute(path) => path.to_string_lossy().into_owned(),
            Command::OnPath(name) => name.clone(),
        };
        find(&program).ok_or_else(|| {
            let is_path = Path::new(&program).is_absolute();
            let (profile, origin) = (self.name.clone(), &self.command.source);
            MissingProgram {
                instead: format!(
                    "correct `command` of [agents.{profile}] (it comes from {origin})"
                ),
                profile: Some(profile),
                program,
                searched: if is_path { Searched::AsExecutable } else { Searched::OnPath },
                install: self.install_of_command(),
            }
        })
    }

    /// Returns how to install the program. Instructions of one layer do not apply to another layer's program.
    fn install_of_command(&self) -> Option<String> {
        let install = self.install.as_ref()?;
        (install.source == self.command.source).then(|| install.value.clone())
    }
}
