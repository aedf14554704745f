//! The demo of a team on two machines, with a server of its own.

use crate::support::{Stage, postgres_server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_on_a_server_has_one_owner_of_its_request_and_leaves_nothing() {
    if tokio::task::block_in_place(postgres_server::shared).is_none() {
        println!("skipped: no PostgreSQL is installed");
        return;
    }
    let stage = Stage::new("");
    let (exit, said) = stage.ended(&["demo", "--bus", "postgres"], None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(said.contains("The request had one owner on both machines: "), "{said}");
    assert!(said.contains("0 processes left."), "{said}");
    assert!(stage.processes().is_empty());
}

#[tokio::test]
async fn where_no_server_is_installed_the_demo_says_what_to_install() {
    let stage = Stage::new("").with_variable("PG_BIN", "/nowhere");
    let (exit, said) = stage.ended(&["demo", "--bus", "postgres"], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("no PostgreSQL server is installed here"), "{said}");
    assert!(said.contains("`apt install postgresql`"), "{said}");
}
