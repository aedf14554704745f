//! A local package registry with one package: it serves tarballs, as the public registry does after a release.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Map, Value, json};

/// The name of the package.
const NAME: &str = "cli-team-bridge";

/// Starts the registry for tarballs, the last of which is the newest version, and returns its address. It lasts as long as the test.
pub(crate) fn start(tarballs: Vec<PathBuf>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let versions: Vec<_> = tarballs.iter().map(|tarball| version(tarball, &address)).collect();
    let latest = versions.last().expect("there is a version")["version"].clone();
    let versions: Map<_, _> = versions
        .into_iter()
        .map(|version| (version["version"].as_str().unwrap().to_owned(), version))
        .collect();
    let about = json!({ "name": NAME, "dist-tags": { "latest": latest }, "versions": versions });
    std::thread::spawn(move || {
        for client in listener.incoming() {
            answer(client.unwrap(), &about, &tarballs);
        }
    });
    address
}

/// Returns the registry's entry of a version: its manifest, and the address of its tarball.
fn version(tarball: &PathBuf, address: &str) -> Value {
    let read =
        Command::new("tar").args(["-xOzf"]).arg(tarball).arg("package/package.json").output();
    let mut manifest: Value = serde_json::from_slice(&read.unwrap().stdout).unwrap();
    let file = tarball.file_name().unwrap().to_str().unwrap();
    manifest["dist"] = json!({ "tarball": format!("{address}{file}") });
    manifest
}

fn answer(mut client: TcpStream, about: &Value, tarballs: &[PathBuf]) {
    let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
    let Some(Ok(request)) = lines.next() else { return };
    // The rest of the head has to be read, or closing resets the connection.
    lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let tarball = tarballs.iter().find(|tarball| tarball.file_name().unwrap() == path);
    let (status, body) = match tarball {
        Some(tarball) => ("200 OK", std::fs::read(tarball).unwrap()),
        None if path == NAME => ("200 OK", about.to_string().into_bytes()),
        None => ("404 Not Found", b"{}".to_vec()),
    };
    let mut head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\n");
    write!(head, "Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()).unwrap();
    // A client may have closed the connection.
    let _ = client.write_all(head.as_bytes()).and_then(|()| client.write_all(&body));
}
