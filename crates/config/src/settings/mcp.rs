//! `[mcp]`: programs that use Ostler by MCP.

use crate::section::section;

section! {
    /// Programs that use Ostler by MCP, through `ostler mcp` or `/mcp`.
    Mcp = "mcp", _at;

    /// The programs that may answer asks: `"token NAME"` for one that comes over TCP with that token, which needs the scope `decide`, too, or
    /// what a program calls itself that has started `ostler mcp`. Nobody may by default. What runs below Codex never may, whatever
    /// stands here.
    may_decide: Vec<String> = vec![];
}
