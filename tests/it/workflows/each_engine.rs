//! The engines on which a test with real processes runs: a bus in files, and one whose order a server keeps.

use cli_team_bridge::sys::random_ids;

use crate::support::postgres_server;

#[derive(Clone, Copy)]
pub(crate) enum Engine {
    Files,
    Server,
}

impl Engine {
    /// Says whether what it needs is installed. It starts the server, and blocks.
    pub(crate) fn is_there(self) -> bool {
        matches!(self, Self::Files) || postgres_server::shared().is_some()
    }

    /// Returns the lines of the user's configuration that put a new bus there.
    pub(crate) fn settings(self) -> String {
        match self {
            Self::Files => String::new(),
            Self::Server => {
                let server = postgres_server::shared().expect("it is there");
                format!("bus = {server:?}\nteam = \"team-{}\"\n", random_ids::blob())
            }
        }
    }
}

/// Makes a test of each function, on each engine.
macro_rules! on_each_engine {
    ($($name:ident),* $(,)?) => {
        crate::workflows::each_engine::on_each_engine!(@ file, Files, $($name),*);
        crate::workflows::each_engine::on_each_engine!(@ postgres, Server, $($name),*);
    };
    (@ $module:ident, $engine:ident, $($name:ident),*) => {
        mod $module {
            use crate::workflows::each_engine::Engine;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let engine = Engine::$engine;
                    if tokio::task::block_in_place(|| engine.is_there()) {
                        super::$name(engine).await;
                    } else {
                        println!("skipped: no PostgreSQL is installed");
                    }
                }
            )*
        }
    };
}

pub(crate) use on_each_engine;
