//! The document for people: plain HTML, made once, without any script.

use serde_json::Value;

pub(super) const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin: 2rem 0 0.25rem; font-size: 1rem; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
h2 b { display: inline-block; min-width: 4.5rem; }
p { margin: 0.25rem 0; }
table { border-collapse: collapse; margin: 0.5rem 0; }
td { padding: 0.1rem 1rem 0.1rem 0; vertical-align: top; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow: auto; padding: 0.75rem; border: 1px solid #8886; border-radius: 6px; }
";

pub(super) fn page(document: &Value) -> String {
    let text = |value: &Value| escaped(value.as_str().unwrap_or_default());
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Ostler API</title>\n\
         <link rel=\"stylesheet\" href=\"/docs/style.css\">\n<h1>Ostler API</h1>\n<p>{}</p>\n\
         <p>The same for programs: <a href=\"/openapi.json\">openapi.json</a></p>\n",
        text(at(document, "/info/description"))
    );
    for (path, item) in at(document, "/paths").as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            html.push_str(&format!(
                "<h2><b>{}</b> {}</h2>\n<p>{}. {}</p>\n",
                method.to_ascii_uppercase(),
                escaped(path),
                text(at(operation, "/summary")),
                text(at(operation, "/description")),
            ));
            html.push_str(&parameters(operation));
            html.push_str(&contents("takes", at(operation, "/requestBody/content")));
            for (status, response) in at(operation, "/responses").as_object().into_iter().flatten()
            {
                if status != "default" {
                    html.push_str(&contents(&format!("{status}: gives"), at(response, "/content")));
                }
            }
        }
    }
    html.push_str("<h1>Shapes</h1>\n");
    for (name, schema) in at(document, "/components/schemas").as_object().into_iter().flatten() {
        let schema = serde_json::to_string_pretty(schema).unwrap_or_default();
        html.push_str(&format!(
            "<h2 id=\"{0}\">{0}</h2>\n<pre>{1}</pre>\n",
            escaped(name),
            escaped(&schema)
        ));
    }
    html.push_str("</html>\n");
    html
}

/// What stands at this place, or nothing.
fn at<'d>(document: &'d Value, place: &str) -> &'d Value {
    document.pointer(place).unwrap_or(&Value::Null)
}

fn parameters(operation: &Value) -> String {
    let mut rows = String::new();
    for parameter in at(operation, "/parameters").as_array().into_iter().flatten() {
        let word = |name: &str| escaped(parameter[name].as_str().unwrap_or_default());
        rows.push_str(&format!(
            "<tr><td><code>{}</code><td>{}<td>{}\n",
            word("name"),
            word("in"),
            word("description")
        ));
    }
    match rows.is_empty() {
        true => rows,
        false => format!("<table>\n{rows}</table>\n"),
    }
}

fn contents(word: &str, content: &Value) -> String {
    let mut lines = String::new();
    for (kind, content) in content.as_object().into_iter().flatten() {
        let shape = at(content, "/schema/$ref").as_str().and_then(|path| path.rsplit('/').next());
        let shape = shape
            .map_or_else(String::new, |name| format!(" <a href=\"#{0}\">{0}</a>", escaped(name)));
        lines.push_str(&format!(
            "<p>{} <code>{}</code>{shape}</p>\n",
            escaped(word),
            escaped(kind)
        ));
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
