//! A page as a tree, built by a parser that reads broken pages as browsers do.

use std::borrow::Cow;
use std::cell::RefCell;
use std::time::Instant;

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, LocalName, Namespace, ParseOpts, QualName, parse_document};

/// The place of a node in its tree.
pub(super) type NodeId = usize;

/// The document itself.
pub(super) const ROOT: NodeId = 0;

#[derive(Debug)]
pub(super) enum NodeKind {
    /// The document, a comment, a template's inside: nothing to read.
    Other,
    Text(String),
    Element {
        name: QualName,
        attributes: Vec<Attribute>,
    },
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) children: Vec<NodeId>,
    parent: Option<NodeId>,
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// What is given to the parser at once, between two looks at the clock.
const PIECE: usize = 8 * 1024;

impl Tree {
    /// None if it takes too long: some pages are made to.
    pub(super) fn parse(html: &str, deadline: Instant) -> Option<Self> {
        let mut parser = parse_document(Sink::new(), ParseOpts::default());
        let mut rest = html;
        while !rest.is_empty() {
            if Instant::now() >= deadline {
                return None;
            }
            let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE));
            // A letter is never longer than a piece.
            parser.process(StrTendril::from(piece));
            rest = later;
        }
        Some(parser.finish())
    }

    pub(super) fn children(&self, id: NodeId) -> &[NodeId] {
        self.nodes.get(id).map_or(&[], |node| &node.children)
    }

    pub(super) fn text(&self, id: NodeId) -> Option<&str> {
        match self.nodes.get(id).map(|node| &node.kind) {
            Some(NodeKind::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The name of an element; empty for everything else.
    pub(super) fn name(&self, id: NodeId) -> &str {
        match self.nodes.get(id).map(|node| &node.kind) {
            Some(NodeKind::Element { name, .. }) => &name.local,
            _ => "",
        }
    }

    pub(super) fn attribute(&self, id: NodeId, wanted: &str) -> Option<&str> {
        match self.nodes.get(id).map(|node| &node.kind) {
            Some(NodeKind::Element { attributes, .. }) => {
                attributes.iter().find(|it| &*it.name.local == wanted).map(|it| &*it.value)
            }
            _ => None,
        }
    }

    /// This node and all below it, in the order of the page.
    pub(super) fn below(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let mut left = vec![id];
        std::iter::from_fn(move || {
            let next = left.pop()?;
            left.extend(self.children(next).iter().rev());
            Some(next)
        })
    }

    /// All text below, as it stands there.
    pub(super) fn text_below(&self, id: NodeId) -> String {
        self.below(id).filter_map(|it| self.text(it)).collect()
    }
}

struct Sink {
    nodes: RefCell<Vec<Node>>,
}

/// The name of an element, on its own: the tree cannot be borrowed from while it grows.
#[derive(Debug)]
struct OwnName(QualName);

impl ElemName for OwnName {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl Sink {
    fn new() -> Self {
        let document = Node { kind: NodeKind::Other, children: Vec::new(), parent: None };
        Self { nodes: RefCell::new(vec![document]) }
    }

    fn add(&self, kind: NodeKind) -> NodeId {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { kind, children: Vec::new(), parent: None });
        nodes.len() - 1
    }

    /// Behind the child that stands before `at`, or at the end.
    fn insert(&self, parent: NodeId, at: Option<usize>, child: NodeOrText<NodeId>) {
        let id = match child {
            NodeOrText::AppendNode(id) => {
                self.detach(id);
                id
            }
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes.borrow_mut();
                let siblings = nodes.get(parent).map_or(&[][..], |node| &node.children);
                let before = match at {
                    Some(at) => at.checked_sub(1).and_then(|at| siblings.get(at)),
                    None => siblings.last(),
                };
                let before = before.copied();
                if let Some(NodeKind::Text(known)) =
                    before.and_then(|id| nodes.get_mut(id)).map(|node| &mut node.kind)
                {
                    known.push_str(&text);
                    return;
                }
                drop(nodes);
                self.add(NodeKind::Text(text.to_string()))
            }
        };
        let mut nodes = self.nodes.borrow_mut();
        if let Some(node) = nodes.get_mut(id) {
            node.parent = Some(parent);
        }
        if let Some(node) = nodes.get_mut(parent) {
            let at = at.unwrap_or(usize::MAX).min(node.children.len());
            node.children.insert(at, id);
        }
    }

    fn detach(&self, id: NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        let parent = nodes.get_mut(id).and_then(|node| node.parent.take());
        if let Some(parent) = parent.and_then(|parent| nodes.get_mut(parent)) {
            // The last one is looked for first: the parser moves what it has just put there.
            if let Some(at) = parent.children.iter().rposition(|child| *child == id) {
                parent.children.remove(at);
            }
        }
    }

    fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes.borrow().get(id).and_then(|node| node.parent)
    }
}

impl TreeSink for Sink {
    type Handle = NodeId;
    type Output = Tree;
    type ElemName<'a> = OwnName;

    fn finish(self) -> Tree {
        Tree { nodes: self.nodes.into_inner() }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        ROOT
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> OwnName {
        match self.nodes.borrow().get(*target).map(|node| &node.kind) {
            Some(NodeKind::Element { name, .. }) => OwnName(name.clone()),
            _ => OwnName(QualName::new(None, Namespace::default(), LocalName::default())),
        }
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        _: ElementFlags,
    ) -> NodeId {
        self.add(NodeKind::Element { name, attributes })
    }

    fn create_comment(&self, _: StrTendril) -> NodeId {
        self.add(NodeKind::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeId {
        self.add(NodeKind::Other)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.insert(*parent, None, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        prev_element: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        match self.parent(*element) {
            Some(_) => self.append_before_sibling(element, child),
            None => self.append(prev_element, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// A node of its own that stands nowhere: templates are not shown.
    fn get_template_contents(&self, _: &NodeId) -> NodeId {
        self.add(NodeKind::Other)
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeId, new_node: NodeOrText<NodeId>) {
        if let NodeOrText::AppendNode(id) = &new_node {
            self.detach(*id);
        }
        let Some(parent) = self.parent(*sibling) else { return };
        let at = self
            .nodes
            .borrow()
            .get(parent)
            .and_then(|node| node.children.iter().rposition(|child| child == sibling));
        self.insert(parent, at, new_node);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, new: Vec<Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(NodeKind::Element { attributes, .. }) =
            nodes.get_mut(*target).map(|node| &mut node.kind)
        {
            for attribute in new {
                if attributes.iter().all(|known| known.name != attribute.name) {
                    attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        let moved = nodes.get_mut(*node).map(|node| std::mem::take(&mut node.children));
        let moved = moved.unwrap_or_default();
        for child in &moved {
            if let Some(child) = nodes.get_mut(*child) {
                child.parent = Some(*new_parent);
            }
        }
        if let Some(parent) = nodes.get_mut(*new_parent) {
            parent.children.extend(moved);
        }
    }
}
