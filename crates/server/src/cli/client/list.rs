//! `signet client list`: pages of clients as rows, or as one JSON document.

use serde_json::Value;

use super::{CLIENTS, Session};
use crate::cli::args::ListArgs;
use crate::cli::console::Console;
use crate::cli::error::CliError;
use crate::cli::table::{Table, cell};

/// Clients on one page when all are wanted.
const PAGE: u16 = 1000;

pub(super) async fn run(session: &mut Session<'_, '_>, args: &ListArgs) -> Result<(), CliError> {
    let mut listing = Listing::new(session.json && args.all);
    let mut after = args.after.clone();
    loop {
        let page = session.admin.get(&query(args, after.as_deref())).await?;
        let next = page.get("next").and_then(Value::as_str).map(str::to_owned);
        if session.json && !args.all {
            return session.console.json(&page);
        }
        listing.page(&page, session.console)?;
        match next {
            Some(next) if args.all => after = Some(next),
            Some(next) => {
                let next = crate::cli::table::text(&next);
                session
                    .console
                    .hint(format!("There may be more: --after {next}, or --all"));
                break;
            }
            None => break,
        }
    }
    listing.end(session.console)
}

fn query(args: &ListArgs, after: Option<&str>) -> String {
    let limit = if args.all { Some(PAGE) } else { args.limit };
    let limit = limit.map(|limit| limit.to_string());
    let parameters = [
        ("after", after),
        ("limit", limit.as_deref()),
        ("client_name", args.name.as_deref()),
        ("owner", args.owner.as_deref()),
    ];
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() {
        CLIENTS.to_owned()
    } else {
        format!("{CLIENTS}?{query}")
    }
}

/// Pages on their way out: nobody has to hold a million clients to list them.
struct Listing {
    table: Table,
    /// Whether it becomes one JSON document, and how many clients it has so far.
    is_document: bool,
    count: usize,
}

impl Listing {
    fn new(is_document: bool) -> Self {
        let heading = [
            "CLIENT ID",
            "NAME",
            "GRANTS",
            "AUTHENTICATION",
            "TOKENS",
            "ENABLED",
        ];
        Self {
            table: Table::new(&heading),
            is_document,
            count: 0,
        }
    }

    fn page(&mut self, page: &Value, console: &mut Console<'_>) -> Result<(), CliError> {
        let clients = page.get("clients").and_then(Value::as_array);
        let clients = clients.map(Vec::as_slice).unwrap_or_default();
        if self.is_document {
            return self.entries(clients, console);
        }
        let rows = clients.iter().map(row).collect();
        for line in self.table.lines(rows) {
            console.say(line)?;
        }
        Ok(())
    }

    /// One client a line, so that it can be cut and searched, too.
    fn entries(&mut self, clients: &[Value], console: &mut Console<'_>) -> Result<(), CliError> {
        for client in clients {
            let before = if self.count == 0 {
                "{\"clients\": [\n"
            } else {
                ",\n"
            };
            console.write(format!("{before}{client}").as_bytes())?;
            self.count += 1;
        }
        Ok(())
    }

    fn end(self, console: &mut Console<'_>) -> Result<(), CliError> {
        match (self.is_document, self.count) {
            (false, _) => Ok(()),
            (true, 0) => console.say("{\"clients\": []}"),
            (true, _) => console.say("\n]}"),
        }
    }
}

fn row(client: &Value) -> Vec<String> {
    let tokens = format!(
        "{} {}",
        cell(client, "access_token"),
        cell(client, "persistence")
    );
    vec![
        cell(client, "client_id"),
        cell(client, "client_name"),
        cell(client, "grant_types"),
        cell(client, "token_endpoint_auth_method"),
        tokens.trim().to_owned(),
        cell(client, "enabled"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn print(is_document: bool, pages: &[Value]) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console {
            out: &mut out,
            err: &mut err,
            input: &mut "".as_bytes(),
            is_interactive: false,
        };
        let mut listing = Listing::new(is_document);
        for page in pages {
            listing.page(page, &mut console).unwrap();
        }
        listing.end(&mut console).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn pages() -> [Value; 2] {
        let shop = json!({
            "client_id": "shop", "client_name": "The shop",
            "grant_types": ["client_credentials", "refresh_token"],
            "token_endpoint_auth_method": "client_secret_basic", "access_token": "jwt",
            "persistence": "stateless", "enabled": true
        });
        [
            json!({"clients": [shop], "next": "shop"}),
            json!({"clients": [{"client_id": "till", "enabled": false}]}),
        ]
    }

    #[test]
    fn people_get_rows() {
        let expected = "\
CLIENT ID  NAME      GRANTS                            AUTHENTICATION       TOKENS         ENABLED
shop       The shop  client_credentials refresh_token  client_secret_basic  jwt stateless  yes
till                                                                                       no
";
        assert_eq!(print(false, &pages()), expected);
        let heading = "CLIENT ID  NAME  GRANTS  AUTHENTICATION  TOKENS  ENABLED\n";
        assert_eq!(print(false, &[json!({"clients": []})]), heading);
    }

    #[test]
    fn machines_get_one_document_of_all_pages() {
        let document: Value = serde_json::from_str(&print(true, &pages())).unwrap();
        assert_eq!(document["clients"].as_array().unwrap().len(), 2);
        assert_eq!(document["clients"][1]["client_id"], "till");
        assert_eq!(
            print(true, &[json!({"clients": []})]),
            "{\"clients\": []}\n"
        );
    }

    #[test]
    fn filters_become_a_query() {
        let args = ListArgs {
            after: None,
            limit: Some(10),
            all: false,
            name: Some("a&b c".to_owned()),
            owner: None,
        };
        assert_eq!(
            query(&args, Some("x/y")),
            "/admin/clients?after=x%2Fy&limit=10&client_name=a%26b+c"
        );
        assert_eq!(query(&ListArgs::default(), None), "/admin/clients");
        let all = ListArgs {
            all: true,
            ..ListArgs::default()
        };
        assert_eq!(query(&all, None), "/admin/clients?limit=1000");
    }
}
