//! The least rights of a role that works in one team, as SQL for the owner of the tables, and what a role lacks of them.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The tables with rows of teams.
const TABLES: [&str; 6] = ["head", "log", "text", "lease", "incoming", "outgone"];

/// What a role may do, and where. It changes and deletes neither lines nor texts.
const GRANTS: [(&str, &str); 6] = [
    ("SELECT, UPDATE (next_seq, last_command)", "head"),
    ("SELECT, INSERT", "log"),
    ("SELECT, INSERT", "text"),
    ("SELECT, INSERT, UPDATE, DELETE", "lease"),
    ("SELECT", "incoming, cli_team_bridge.outgone"),
    ("SELECT", "version"),
];

/// Returns the SQL that gives a role what it needs in a team, and nothing in any other.
pub fn role_grants(role: &str, team: &str) -> String {
    let (quoted, team_text) = (identifier(role), literal(team));
    let digest = Sha256::digest(format!("{role}\0{team}").as_bytes());
    let policy = format!("cli_team_bridge_{}", data_encoding::HEXLOWER.encode(&digest[..8]));
    let mut sql = String::from("BEGIN;\n");
    let mut add = |line: String| writeln!(sql, "{line}").expect("writing to a string succeeds");
    add(format!("GRANT USAGE ON SCHEMA cli_team_bridge TO {quoted};"));
    for (rights, table) in GRANTS {
        add(format!("GRANT {rights} ON cli_team_bridge.{table} TO {quoted};"));
    }
    for table in TABLES {
        add(format!("ALTER TABLE cli_team_bridge.{table} ENABLE ROW LEVEL SECURITY;"));
        add(format!("DROP POLICY IF EXISTS {policy} ON cli_team_bridge.{table};"));
        add(format!(
            "CREATE POLICY {policy} ON cli_team_bridge.{table} TO {quoted}\n  USING (team = {team_text}) WITH CHECK (team = {team_text});"
        ));
    }
    sql + "COMMIT;"
}

/// Asks which of these rights the current role lacks, as lines of text. The schema must be usable.
pub(super) const LACKING: &str = "
SELECT array_remove(ARRAY[
    CASE WHEN NOT has_table_privilege('cli_team_bridge.head', 'SELECT') THEN 'SELECT on head' END,
    CASE WHEN NOT has_column_privilege('cli_team_bridge.head', 'next_seq', 'UPDATE')
           OR NOT has_column_privilege('cli_team_bridge.head', 'last_command', 'UPDATE')
         THEN 'UPDATE (next_seq, last_command) on head' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.log', 'SELECT') THEN 'SELECT on log' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.log', 'INSERT') THEN 'INSERT on log' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.text', 'SELECT') THEN 'SELECT on text' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.text', 'INSERT') THEN 'INSERT on text' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.lease', 'SELECT') THEN 'SELECT on lease' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.lease', 'INSERT') THEN 'INSERT on lease' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.lease', 'UPDATE') THEN 'UPDATE on lease' END,
    CASE WHEN NOT has_table_privilege('cli_team_bridge.lease', 'DELETE') THEN 'DELETE on lease' END
], NULL)";

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    // A backslash means nothing in it, whatever the server's settings, only where it is not there.
    if text.contains('\\') {
        format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names_whatever_stands_in_them() {
        let sql = role_grants("a\"b", "it's \\ 'x'); DROP TABLE head; --");
        assert!(sql.contains("TO \"a\"\"b\""), "{sql}");
        assert!(sql.contains("team = E'it''s \\\\ ''x''); DROP TABLE head; --')"), "{sql}");
    }
}
