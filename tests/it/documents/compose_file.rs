//! The compose file of the examples, read by a YAML parser where Python has one.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Prints a YAML file as JSON.
const AS_JSON: &str =
    "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";

#[test]
fn the_compose_file_has_one_server_for_this_machine_alone_with_its_data_in_a_volume() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/postgres/compose.yaml");
    let read = Command::new("python3").args(["-c", AS_JSON]).arg(&file).output();
    let Some(read) = read.ok().filter(|read| {
        read.status.success() || !String::from_utf8_lossy(&read.stderr).contains("No module named")
    }) else {
        println!("skipped: there is no Python with a YAML parser");
        return;
    };
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let compose: Value = serde_json::from_slice(&read.stdout).unwrap();
    let service = &compose["services"]["postgres"];
    assert!(service["image"].as_str().unwrap().starts_with("postgres:"));
    let ports = service["ports"].as_array().unwrap();
    assert_eq!(ports, &["127.0.0.1:5432:5432"]);
    let mounted = service["volumes"][0].as_str().unwrap();
    let (volume, place) = mounted.split_once(':').unwrap();
    assert!(compose["volumes"].get(volume).is_some() && place == "/var/lib/postgresql/data");
    let secret = service["secrets"][0].as_str().unwrap();
    let file = service["environment"]["POSTGRES_PASSWORD_FILE"].as_str().unwrap();
    assert!(compose["secrets"].get(secret).is_some() && file == format!("/run/secrets/{secret}"));
    for setting in ["fsync=off", "synchronous_commit=off", "full_page_writes=off"] {
        assert!(!compose.to_string().contains(setting), "{setting}");
    }
}
