//! The address of a server, as people write it, without a password: that comes from the environment or a passfile, as for `psql`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::bus::storage::LogError;
use crate::domain::wait_times;
use crate::sys::fs::bounded_file;

/// The longest passfile that is read.
const PASSFILE_BYTES: u64 = 64 * 1024;

/// The port of a server that names none.
const PORT: u16 = 5432;

/// An address that can be connected to.
pub(super) struct Address {
    pub(super) config: Config,
    /// The server as people are told of it.
    pub(super) shown: String,
}

impl Address {
    /// Reads an address: `postgres://user@host:port/database`, or words as `host=… user=… dbname=…`.
    pub(super) fn parse(text: &str) -> Result<Self, LogError> {
        let unfit = |reason: String| LogError::Unfit { server: "of the setting".into(), reason };
        // An encrypted connection is always to a server that has proven its name.
        let text = text.replace("sslmode=verify-full", "sslmode=require");
        let text = text.replace("sslmode=verify-ca", "sslmode=require");
        let mut config: Config = text.parse().map_err(|error| unfit(format!("{error}")))?;
        if config.get_password().is_some() {
            let reason = "its address has a password in it, which other programs could read: put it into PGPASSWORD, or into a \
                          passfile (~/.pgpass)";
            return Err(unfit(reason.to_owned()));
        }
        if config.get_hosts().is_empty() {
            return Err(unfit("its address names no host".to_owned()));
        }
        let shown = shown(&config);
        // Nobody listens on the way within this machine.
        if config.get_ssl_mode() == SslMode::Prefer {
            let mode = if is_local(&config) { SslMode::Disable } else { SslMode::Require };
            config.ssl_mode(mode);
        }
        if let Some(password) = password(&config) {
            config.password(password);
        }
        config
            .application_name("cli-team-bridge")
            .connect_timeout(wait_times::SERVER)
            .keepalives_idle(wait_times::SERVER)
            .tcp_user_timeout(wait_times::SERVER * 2);
        Ok(Self { config, shown })
    }
}

/// Says whether all hosts are on this machine, so that nobody can listen on the way.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
    })
}

/// Returns the names and ports of the hosts.
fn hosts(config: &Config) -> Vec<(String, u16)> {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
    let hosts = config.get_hosts().iter().enumerate();
    let hosts = hosts.map(|(at, host)| match host {
        Host::Tcp(name) => (name.clone(), port(at)),
        Host::Unix(path) => (path.display().to_string(), port(at)),
    });
    hosts.collect()
}

fn shown(config: &Config) -> String {
    let hosts: Vec<_> =
        hosts(config).into_iter().map(|(host, port)| format!("{host}:{port}")).collect();
    format!("{}/{}", hosts.join(","), database(config))
}

fn database(config: &Config) -> &str {
    config.get_dbname().or(config.get_user()).unwrap_or_default()
}

/// Finds the password as PostgreSQL's own programs do: `PGPASSWORD`, else the passfile.
fn password(config: &Config) -> Option<String> {
    if let Ok(password) = std::env::var("PGPASSWORD") {
        return Some(password);
    }
    let file = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".pgpass"))
    })?;
    let mode = file.metadata().ok()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!("the passfile is not used, because others may read it: `chmod 600` it");
        return None;
    }
    let text = bounded_file::read(&file, PASSFILE_BYTES).ok()?;
    let text = String::from_utf8_lossy(&text);
    let user = config.get_user().unwrap_or_default();
    let mut found = hosts(config).into_iter().filter_map(|(host, port)| {
        let host = if host.starts_with('/') { "localhost".to_owned() } else { host };
        let wanted = [host, port.to_string(), database(config).to_owned(), user.to_owned()];
        text.lines().find_map(|line| password_of(line, &wanted))
    });
    found.next()
}

/// Returns the password of a line of a passfile (`host:port:database:user:password`), if the line is for this server.
fn password_of(line: &str, wanted: &[String; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        let is_last = fields.len() > wanted.len();
        let field = fields.last_mut()?;
        match char {
            '\\' => field.extend(chars.next()),
            ':' if !is_last => fields.push(String::new()),
            _ => field.push(char),
        }
    }
    let password = fields.pop()?;
    let fits = |(field, wanted): (&String, &String)| field == "*" || field == wanted;
    let is_for_it = fields.len() == wanted.len() && fields.iter().zip(wanted).all(fits);
    is_for_it.then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_passfile_is_for_the_server_that_it_names() {
        let wanted = ["db", "5432", "agents", "bridge"].map(str::to_owned);
        for (line, found) in [
            ("db:5432:agents:bridge:se:cret", Some("se:cret")),
            ("*:*:*:bridge:any\\:\\\\", Some("any:\\")),
            ("other:5432:agents:bridge:no", None),
            ("#db:5432:agents:bridge:no", None),
            ("db:5432:agents", None),
            ("", None),
        ] {
            assert_eq!(password_of(line, &wanted).as_deref(), found, "{line}");
        }
    }

    #[test]
    fn an_address_has_no_password_and_says_where_the_server_is() {
        let address = Address::parse("postgres://bridge@127.0.0.1:5433/agents").unwrap();
        assert_eq!(address.shown, "127.0.0.1:5433/agents");
        assert!(Address::parse("host=/run/postgresql user=bridge").is_ok());
    }

    #[test]
    fn a_connection_to_another_machine_is_encrypted_unless_its_user_says_otherwise() {
        let mode = |text: &str| Address::parse(text).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://bridge@localhost/agents"), SslMode::Disable);
        assert_eq!(mode("postgres://bridge@localhost/agents?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://bridge@db.example/agents"), SslMode::Require);
        assert_eq!(
            mode("postgres://bridge@db.example/agents?sslmode=verify-full"),
            SslMode::Require
        );
        assert_eq!(mode("postgres://bridge@db.example/agents?sslmode=disable"), SslMode::Disable);
    }

    #[test]
    fn a_password_in_an_address_is_refused() {
        let refused = Address::parse("postgres://bridge:secret@db/agents").err().unwrap();
        assert!(refused.to_string().contains("passfile"), "{refused}");
        assert!(!refused.to_string().contains("secret@"));
        assert!(Address::parse("user=bridge").is_err());
    }
}
