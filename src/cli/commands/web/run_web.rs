//! Starts the server, says how to reach it, and ends it on a signal.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::open_browser::open_browser;
use super::project_surroundings::ProjectSurroundings;
use super::sign_in_files::{SignInFiles, base_path};
use crate::cli::{Failure, below_agent, find_project, output, serve_mcp, signal_policy, with_hint};
use crate::domain::text::visible_letters::beginning;
use crate::web::{WebServer, WebSettings};

/// What an agent cannot do.
const ACT: &str = "serve its team's pages";

/// The most characters of the project's name.
const NAME: usize = 60;

/// How to serve the pages.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge web                    open the pages in your browser, to look only
  cli-team-bridge web --write            also send messages, stop agents, cancel work
  cli-team-bridge web --write --answer   also answer what agents ask
  cli-team-bridge web --no-open          only print the URL, which signs in once")]
pub(crate) struct WebArguments {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The port, on loopback alone [default: a free one].
    #[arg(long, value_name = "PORT", value_parser = port)]
    port: Option<u16>,
    /// Do not open a browser.
    #[arg(long)]
    no_open: bool,
    /// Allow messages, stops and cancels from the pages.
    #[arg(long)]
    write: bool,
    /// Allow answers to what agents ask, and approvals of steps, from the pages.
    #[arg(long)]
    answer: bool,
}

pub(crate) fn run(arguments: &WebArguments) -> Result<(), Failure> {
    below_agent::refuse_to(ACT)?;
    let root = find_project::find(arguments.project.as_deref())?.root;
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
    let settings = WebSettings {
        port: arguments.port,
        project: beginning(&name, NAME),
        base_path: base_path()?,
        can_write: arguments.write,
        can_answer: arguments.answer,
    };
    let surroundings = Arc::new(ProjectSurroundings::of(root));
    let opens = !arguments.no_open;
    serve_mcp::run(async move || {
        signal_policy::obey(async move |mut stop| {
            let server = bind(settings.clone(), surroundings).await?;
            let files = SignInFiles::write(server.port(), &server.sign_in_url())?;
            say_where(&server, &settings);
            if opens {
                open_browser(files.page());
            }
            let stop = async move {
                let signal = stop.next().await;
                tracing::debug!("ending on {signal}");
            };
            server.serve(stop).await;
            files.remove();
            Ok(())
        })
        .await
    })
}

async fn bind(
    settings: WebSettings,
    surroundings: Arc<ProjectSurroundings>,
) -> Result<WebServer, Failure> {
    let port = settings.port;
    WebServer::bind(settings, surroundings).await.map_err(|error| match port {
        Some(port) => with_hint(
            format!("cannot listen on port {port} of 127.0.0.1 and [::1]: {error}"),
            "name another port, or leave out --port to get a free one",
        ),
        None => format!("cannot listen on 127.0.0.1: {error}").into(),
    })
}

/// Prints the URL, then how to reach it from elsewhere, and what is allowed.
fn say_where(server: &WebServer, settings: &WebSettings) {
    output::say(&server.sign_in_url());
    let port = server.port();
    let allowed = match (settings.can_write, settings.can_answer) {
        (false, false) => "Its pages only show; --write and --answer allow more.",
        (true, false) => "Its pages may send, stop and cancel, but give no permission (--answer).",
        (false, true) => "Its pages may give permissions, but not send or stop (--write).",
        (true, true) => "Its pages may send, stop, cancel, and give permissions.",
    };
    output::tell(&format!(
        "This URL signs one browser in, once. {allowed}\nOnly this machine reaches it; from elsewhere: \
         ssh -L {port}:127.0.0.1:{port} HOST. Ctrl-C ends it."
    ));
}

fn port(text: &str) -> Result<u16, String> {
    let found = text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    found.ok_or_else(|| "write a port from 1 to 65535, such as 8080".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_that_a_program_can_listen_on() {
        assert_eq!(port("8080"), Ok(8080));
        for wrong in ["x", "", "0", "-1", "65536"] {
            assert_eq!(port(wrong).unwrap_err(), "write a port from 1 to 65535, such as 8080");
        }
    }
}
