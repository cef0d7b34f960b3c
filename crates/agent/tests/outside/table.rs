//! The tools as a model, and whoever else is offered them, is told of them.

use serde_json::Value;

use crate::set::Set;

/// Each with its fields: `*` behind those that are needed, `=` before a default.
const TABLE: [&str; 15] = [
    "web_search(limit=5, query*)",
    "web_extract(char_limit=15000, urls*)",
    "browser_navigate(url*)",
    "browser_snapshot(full=false)",
    "browser_click(ref*)",
    "browser_type(ref*, text*)",
    "browser_press(key*)",
    "browser_scroll(direction*)",
    "browser_back()",
    "browser_get_images()",
    "browser_console(clear=false, expression)",
    "browser_vision(annotate=false, question*)",
    "vision_analyze(image_url*, question*)",
    "image_generate(aspect_ratio=\"landscape\", image_url, prompt*, reference_image_urls)",
    "text_to_speech(output_path, text*)",
];

#[tokio::test]
async fn every_tool_is_offered_with_its_fields_whether_it_is_set_up_or_not() {
    let definitions = Set::new(|_| {}).definitions();
    let told: Vec<String> = definitions
        .iter()
        .map(|tool| {
            let fields = tool.parameters["properties"].as_object().unwrap();
            let needed = tool.parameters["required"].as_array().unwrap();
            let field = |(name, field): (&String, &Value)| match field.get("default") {
                Some(default) => format!("{name}={default}"),
                None if needed.contains(&Value::from(name.as_str())) => format!("{name}*"),
                None => name.clone(),
            };
            let mut fields: Vec<String> = fields.iter().map(field).collect();
            fields.sort();
            format!("{}({})", tool.name, fields.join(", "))
        })
        .collect();
    assert_eq!(told, TABLE);
    for tool in definitions {
        assert_eq!(tool.parameters["additionalProperties"], false, "{}", tool.name);
        assert!(tool.description.ends_with('.'), "{}", tool.description);
    }
}
