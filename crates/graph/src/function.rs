//! Functions: bodies that nodes call by name, stored unparsed, made into a graph when instantiated.

use crate::convert::{attrs_from_proto, attrs_to_proto};
use crate::function_gradient;
use crate::graph::Graph;
use crate::import::NodeSpec;
use crate::names;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs, Func};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Error, Result, not_found};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::registry::Registry;
use thalweg_core::signature::ArgType;
use thalweg_proto::op_def::{ArgDef, AttrDef};
use thalweg_proto::{FunctionDef, FunctionDefLibrary, GradientDef, NodeDef, OpDef};

/// The functions of a graph, by name. Copies share them: every instantiated body has one.
#[derive(Clone, Default)]
pub struct Library {
    functions: Arc<BTreeMap<String, Arc<Function>>>,
    /// The functions that compute the gradients of others, by these.
    gradients: Arc<BTreeMap<String, String>>,
}

/// One argument or result of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionArg {
    pub name: String,
    pub dtype: FunctionType,
    /// Attr with the number of tensors.
    pub number: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FunctionType {
    Fixed(DataType),
    Attr(String),
    List(String),
}

/// A function definition: nodes refer to each other by name, as `node:output_argument:index`.
#[derive(Clone, Debug, Default)]
pub struct Function {
    pub name: String,
    pub inputs: Vec<FunctionArg>,
    pub outputs: Vec<FunctionArg>,
    /// Names of its polymorphic attrs.
    pub attr_names: Vec<String>,
    pub is_stateful: bool,
    pub nodes: Vec<NodeSpec>,
    /// Result name to tensor name.
    pub returns: BTreeMap<String, String>,
    /// Nodes that run for their side effects.
    pub control_returns: BTreeMap<String, String>,
    pub attrs: Attrs,
    /// For a function that fails to parse: the message, and the error.
    pub unread: Option<Arc<(FunctionDef, Error)>>,
}

/// A function body as a graph, with its arguments and results.
pub struct Body {
    pub graph: Graph,
    /// `_Arg` nodes in order.
    pub args: Vec<NodeId>,
    pub results: Vec<Output>,
    pub control: Vec<NodeId>,
}

impl Library {
    pub fn get(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(name)
    }

    pub fn find(&self, name: &str) -> Result<&Arc<Function>> {
        self.get(name).ok_or_else(|| not_found(format_args!("there is no function '{name}' in the library")))
    }

    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }

    /// Adds a function. Adding the same again is fine; another of that name is not.
    pub fn add(&mut self, f: Function) -> Result<()> {
        if let Some(old) = self.functions.get(&f.name) {
            let same = old.to_proto()? == f.to_proto()?;
            return if same {
                Ok(())
            } else {
                Err(invalid!("there are two different functions named '{}'", f.name))
            };
        }
        Arc::make_mut(&mut self.functions).insert(f.name.clone(), Arc::new(f));
        Ok(())
    }

    /// Says that `gradient` computes the gradient of `function`.
    pub fn add_gradient(&mut self, function: &str, gradient: &str) -> Result<()> {
        match self.gradients.get(function) {
            Some(known) if known == gradient => Ok(()),
            Some(known) => Err(invalid!(
                "Cannot assign gradient function '{gradient}' to '{function}' because it already has gradient function '{known}'"
            )),
            None => {
                Arc::make_mut(&mut self.gradients).insert(function.into(), gradient.into());
                Ok(())
            }
        }
    }

    /// The function that computes the gradient of another, if one was given.
    pub fn gradient(&self, function: &str) -> Option<&str> {
        self.gradients.get(function).map(String::as_str)
    }

    pub fn to_proto(&self) -> Result<FunctionDefLibrary> {
        let gradient =
            |(f, g): (&String, &String)| GradientDef { function_name: f.clone(), gradient_func: g.clone() };
        Ok(FunctionDefLibrary {
            function: self.functions.values().map(|f| f.to_proto()).collect::<Result<_>>()?,
            gradient: self.gradients.iter().map(gradient).collect(),
            ..Default::default()
        })
    }

    /// No function may call itself, directly or through others: inlining it would not end.
    pub fn check_recursion(&self) -> Result<()> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            Open,
            Done,
        }
        let mut marks: HashMap<&str, Mark> = HashMap::new();
        for start in self.functions.keys() {
            // Depth first with an explicit stack: (function, callees still to visit).
            let mut stack: Vec<(&str, Vec<&str>)> = Vec::new();
            let mut enter = Some(start.as_str());
            loop {
                if let Some(name) = enter.take() {
                    match marks.get(name) {
                        Some(Mark::Done) => {}
                        Some(Mark::Open) => {
                            let mut path: Vec<&str> =
                                stack.iter().map(|s| s.0).skip_while(|n| *n != name).collect();
                            path.push(name);
                            return Err(invalid!("function '{name}' calls itself: {}", path.join(" -> ")));
                        }
                        None => {
                            marks.insert(name, Mark::Open);
                            stack.push((name, self.callees(name)));
                        }
                    }
                }
                match stack.last_mut() {
                    None => break,
                    Some((name, callees)) => match callees.pop() {
                        Some(next) => enter = Some(next),
                        None => {
                            marks.insert(name, Mark::Done);
                            stack.pop();
                        }
                    },
                }
            }
        }
        Ok(())
    }

    /// The functions that these nodes refer to, and those that they call.
    pub fn used_by(&self, nodes: &[NodeSpec]) -> Library {
        let known =
            self.in_order_of_use(nodes).into_iter().filter_map(|name| self.functions.get_key_value(name));
        let functions: BTreeMap<_, _> = known.map(|(name, f)| (name.clone(), f.clone())).collect();
        let gradients = self.gradients.iter().filter(|(f, _)| functions.contains_key(*f));
        let gradients = Arc::new(gradients.map(|(f, g)| (f.clone(), g.clone())).collect());
        Library { functions: Arc::new(functions), gradients }
    }

    /// The names of the functions that these nodes refer to, then of those that they call, and so on.
    pub fn in_order_of_use(&self, nodes: &[NodeSpec]) -> Vec<&str> {
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        let mut rest = VecDeque::from(self.referred_to(nodes));
        while let Some(name) = rest.pop_front() {
            if seen.insert(name) {
                order.push(name);
                rest.extend(self.callees(name));
            }
        }
        order
    }

    /// All functions.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Function>> {
        self.functions.values()
    }

    /// Functions of this library that a function refers to.
    fn callees(&self, name: &str) -> Vec<&str> {
        self.functions.get(name).map_or_else(Vec::new, |f| self.referred_to(&f.nodes))
    }

    fn referred_to(&self, nodes: &[NodeSpec]) -> Vec<&str> {
        let mut found = Vec::new();
        for node in nodes {
            if let Some((known, _)) = self.functions.get_key_value(&node.op) {
                found.push(known.as_str());
            }
            for (_, attr) in node.attrs.iter() {
                let items =
                    if let Attr::List(items) = attr { items.as_slice() } else { std::slice::from_ref(attr) };
                for item in items {
                    if let Attr::Func(f) = item {
                        let gradient = match node.op == function_gradient::OP {
                            true => self.gradient(&f.name),
                            false => None,
                        };
                        let called = [Some(f.name.as_str()), gradient].into_iter().flatten();
                        let known = called.filter_map(|name| self.functions.get_key_value(name));
                        found.extend(known.map(|(known, _)| known.as_str()));
                    }
                }
            }
        }
        found
    }

    /// Instantiates a function for these attrs, as a new graph.
    pub fn instantiate(&self, registry: &Arc<Registry>, f: &Func) -> Result<Body> {
        self.instantiate_within(registry, f, 0)
    }

    /// As `instantiate`, within the bodies of `depth` gradients.
    pub(crate) fn instantiate_within(&self, registry: &Arc<Registry>, f: &Func, depth: u32) -> Result<Body> {
        if f.name == function_gradient::OP {
            return function_gradient::body(self, registry, f, depth);
        }
        let function = self.find(&f.name)?;
        function
            .instantiate(registry, self, &f.attrs)
            .map_err(|e| e.context(format_args!("in function '{}'", f.name)))
    }
}

impl FunctionArg {
    fn from_proto(p: &ArgDef) -> Result<FunctionArg> {
        let dtype = if !p.type_list_attr.is_empty() {
            FunctionType::List(p.type_list_attr.clone())
        } else if !p.type_attr.is_empty() {
            FunctionType::Attr(p.type_attr.clone())
        } else {
            let base = if p.r#type > 100 { p.r#type - 100 } else { p.r#type };
            let unknown = || invalid!("argument '{}': unknown data type number {}", p.name, p.r#type);
            FunctionType::Fixed(DataType::from_wire(base).ok_or_else(unknown)?)
        };
        Ok(FunctionArg {
            name: p.name.clone(),
            dtype,
            number: Some(p.number_attr.clone()).filter(|n| !n.is_empty()),
        })
    }

    fn to_proto(&self) -> ArgDef {
        let mut p = ArgDef {
            name: self.name.clone(),
            number_attr: self.number.clone().unwrap_or_default(),
            ..Default::default()
        };
        match &self.dtype {
            FunctionType::Fixed(t) => p.r#type = t.wire(),
            FunctionType::Attr(a) => p.type_attr = a.clone(),
            FunctionType::List(a) => p.type_list_attr = a.clone(),
        }
        p
    }

    fn types(&self, attrs: &Attrs) -> Result<Vec<DataType>> {
        let by = match &self.dtype {
            FunctionType::Fixed(_) => None,
            FunctionType::Attr(a) | FunctionType::List(a) => Some(a),
        };
        if let Some(missing) = by.into_iter().chain(&self.number).find(|a| attrs.get(a).is_none()) {
            return Err(invalid!(
                "argument '{}' needs attr '{missing}', which the caller does not give",
                self.name
            ));
        }
        let one = match &self.dtype {
            FunctionType::Fixed(t) => *t,
            FunctionType::Attr(a) => attrs.dtype(a)?,
            FunctionType::List(a) => return attrs.types(a),
        };
        let n = self.number.as_ref().map(|n| attrs.int(n)).transpose()?.unwrap_or(1);
        if !(0..=1 << 16).contains(&n) {
            return Err(invalid!("argument '{}' would stand for {n} tensors", self.name));
        }
        Ok(vec![one; n as usize])
    }
}

impl Function {
    pub fn from_proto(p: &FunctionDef) -> Result<Function> {
        let sig = p.signature.as_ref().ok_or_else(|| invalid!("a function without a signature"))?;
        let in_function = |e: Error| e.context(format_args!("function '{}'", sig.name));
        let read = || -> Result<Function> {
            Ok(Function {
                name: sig.name.clone(),
                inputs: sig.input_arg.iter().map(FunctionArg::from_proto).collect::<Result<_>>()?,
                outputs: sig.output_arg.iter().map(FunctionArg::from_proto).collect::<Result<_>>()?,
                attr_names: sig.attr.iter().map(|a| a.name.clone()).collect(),
                is_stateful: sig.is_stateful,
                nodes: p.node_def.iter().map(NodeSpec::from_proto).collect::<Result<_>>()?,
                returns: p.ret.clone(),
                control_returns: p.control_ret.clone(),
                attrs: attrs_from_proto(&p.attr)?,
                unread: None,
            })
        };
        if sig.name.is_empty() {
            return Err(invalid!("a function without a name"));
        }
        let typed = |a: &&ArgDef| a.r#type != 0 || !a.type_attr.is_empty() || !a.type_list_attr.is_empty();
        if let Some(untyped) = sig.input_arg.iter().chain(&sig.output_arg).find(|a| !typed(a)) {
            return Err(in_function(invalid!("argument '{}' has no type", untyped.name)));
        }
        let f = match read().map_err(in_function) {
            Ok(f) => f,
            // The error is reported to callers; others may not need the function.
            Err(e) => {
                let unread = Some(Arc::new((p.clone(), e)));
                return Ok(Function { name: sig.name.clone(), unread, ..Default::default() });
            }
        };
        f.check_names().map_err(in_function)?;
        for out in &f.outputs {
            if !f.returns.contains_key(&out.name) {
                return Err(in_function(invalid!("result '{}' is bound to nothing", out.name)));
            }
        }
        Ok(f)
    }

    /// Arguments, results and attrs are looked up by name: each must be unique.
    fn check_names(&self) -> Result<()> {
        let args = |args: &'_ [FunctionArg]| args.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
        for (what, names) in [
            ("argument", args(&self.inputs)),
            ("result", args(&self.outputs)),
            ("attr", self.attr_names.clone()),
        ] {
            let mut seen = HashSet::new();
            if let Some(twice) = names.iter().find(|n| !seen.insert(n.as_str())) {
                return Err(invalid!("{what} '{twice}' is listed twice"));
            }
        }
        Ok(())
    }

    /// The error of a function that fails to parse.
    pub fn check_read(&self) -> Result<()> {
        self.unread.as_ref().map_or(Ok(()), |u| Err(u.1.clone()))
    }

    pub fn to_proto(&self) -> Result<FunctionDef> {
        if let Some(unread) = &self.unread {
            return Ok(unread.0.clone());
        }
        let node_def: Result<Vec<NodeDef>> = self.nodes.iter().map(NodeSpec::to_proto).collect();
        Ok(FunctionDef {
            signature: Some(OpDef {
                name: self.name.clone(),
                input_arg: self.inputs.iter().map(FunctionArg::to_proto).collect(),
                output_arg: self.outputs.iter().map(FunctionArg::to_proto).collect(),
                attr: self
                    .attr_names
                    .iter()
                    .map(|n| AttrDef { name: n.clone(), r#type: "type".into(), ..Default::default() })
                    .collect(),
                is_stateful: self.is_stateful,
                control_output: self.control_returns.keys().cloned().collect(),
                ..Default::default()
            }),
            node_def: node_def?,
            ret: self.returns.clone(),
            control_ret: self.control_returns.clone(),
            attr: attrs_to_proto(&self.attrs)?,
            ..Default::default()
        })
    }

    /// Types of the arguments and results, for these attrs.
    pub fn types(&self, attrs: &Attrs) -> Result<(Vec<DataType>, Vec<DataType>)> {
        self.check_read()?;
        let flat = |args: &[FunctionArg]| -> Result<Vec<DataType>> {
            let lists: Result<Vec<Vec<DataType>>> = args.iter().map(|a| a.types(attrs)).collect();
            Ok(lists?.concat())
        };
        Ok((flat(&self.inputs)?, flat(&self.outputs)?))
    }

    fn instantiate(&self, registry: &Arc<Registry>, library: &Library, attrs: &Attrs) -> Result<Body> {
        self.check_read()?;
        let mut tensors = TensorNames::default();
        let mut specs = Vec::with_capacity(self.nodes.len() + self.inputs.len());
        let mut arg_names = Vec::new();
        for arg in &self.inputs {
            for (i, dtype) in arg.types(attrs)?.into_iter().enumerate() {
                let name = format!("_arg_{}_{i}", arg.name);
                let mut a = Attrs::new();
                a.set("T", dtype);
                a.set("index", arg_names.len() as i64);
                specs.push(NodeSpec {
                    name: name.clone(),
                    op: "_Arg".into(),
                    attrs: a,
                    ..Default::default()
                });
                tensors.add_argument(&arg.name, i, &name);
                arg_names.push(name);
            }
        }
        for node in &self.nodes {
            let mut spec = node.clone();
            substitute(&mut spec.attrs, attrs).map_err(|e| e.at_node(&node.name, &node.op))?;
            tensors.add_node(registry, library, &spec)?;
            specs.push(spec);
        }
        for spec in &mut specs {
            for input in &mut spec.inputs {
                *input = match input.strip_prefix('^') {
                    Some(node) => format!("^{}", tensors.control(node)),
                    None => tensors.resolve(input).map_err(|e| e.at_node(&spec.name, &spec.op))?,
                };
            }
        }
        let mut graph = Graph::new(registry.clone());
        graph.library = library.clone();
        graph.add_specs(specs, false)?;
        let mut results = Vec::new();
        for out in &self.outputs {
            let bound = self
                .returns
                .get(&out.name)
                .ok_or_else(|| invalid!("result '{}' is bound to nothing", out.name))?;
            for i in 0..out.types(attrs)?.len() {
                results.push(graph.output(&tensors.resolve_nth(bound, i)?)?);
            }
        }
        let args = arg_names.iter().map(|n| graph.get(n)).collect::<Result<_>>()?;
        let control = self.control_returns.values().map(|n| graph.get(tensors.control(n)));
        let control = control.collect::<Result<_>>()?;
        Ok(Body { graph, args, results, control })
    }
}

/// Replaces `$T` in a body's attrs by the caller's value.
fn substitute(attrs: &mut Attrs, given: &Attrs) -> Result<()> {
    // Most have no placeholder, and stay shared with the function.
    if !attrs.iter().any(|(_, attr)| is_open(attr, 0)) {
        return Ok(());
    }
    for (_, attr) in attrs.iter_mut() {
        substitute_attr(attr, given, 0)?;
    }
    Ok(())
}

/// Whether an attr has a placeholder, or is nested too deep to tell.
fn is_open(attr: &Attr, depth: usize) -> bool {
    match attr {
        Attr::Placeholder(_) => true,
        _ if depth > 64 => true,
        Attr::Func(f) => f.attrs.iter().any(|(_, inner)| is_open(inner, depth + 1)),
        Attr::List(items) => items.iter().any(|item| is_open(item, depth + 1)),
        _ => false,
    }
}

fn substitute_attr(attr: &mut Attr, given: &Attrs, depth: usize) -> Result<()> {
    if depth > 64 {
        return Err(invalid!("attrs nested too deep"));
    }
    match attr {
        Attr::Placeholder(name) => {
            *attr = given.get(name).cloned().ok_or_else(|| invalid!("the caller gives no attr '{name}'"))?;
        }
        Attr::Func(f) => {
            for (_, inner) in f.attrs.iter_mut() {
                substitute_attr(inner, given, depth + 1)?;
            }
        }
        Attr::List(items) => {
            for item in items {
                substitute_attr(item, given, depth + 1)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Tensor names inside a function body: `argument`, `node:output_argument:index`.
#[derive(Default)]
struct TensorNames {
    /// The `_Arg` nodes of an `argument`.
    arguments: HashMap<String, Vec<String>>,
    /// The node of a `node:output_argument`, and the range of outputs.
    outputs: HashMap<String, (String, Range<usize>)>,
    nodes: HashSet<String>,
}

impl TensorNames {
    fn add_argument(&mut self, arg: &str, i: usize, node: &str) {
        let slot = self.arguments.entry(arg.to_string()).or_default();
        slot.resize(i, String::new());
        slot.push(node.to_string());
    }

    fn add_node(&mut self, registry: &Registry, library: &Library, spec: &NodeSpec) -> Result<()> {
        self.nodes.insert(spec.name.clone());
        let mut next = 0;
        let mut add = |name: &str, count: usize| {
            self.outputs.insert(format!("{}:{name}", spec.name), (spec.name.clone(), next..next + count));
            next += count;
        };
        if let Some(op) = registry.get(&spec.op) {
            let signature = registry.signature(op)?;
            let mut attrs = spec.attrs.clone();
            signature.complete(&mut attrs).map_err(|e| e.at_node(&spec.name, &spec.op))?;
            let ranges = signature.output_ranges(&attrs).map_err(|e| e.at_node(&spec.name, &spec.op))?;
            for (arg, range) in signature.outputs.iter().zip(ranges) {
                debug_assert!(!matches!(arg.ty, ArgType::List(_)) || arg.number.is_none());
                add(arg.name, range.len());
            }
        } else if let Some(f) = library.get(&spec.op) {
            f.check_read()?;
            for out in &f.outputs {
                add(&out.name, out.types(&spec.attrs)?.len());
            }
        } else {
            registry.find(&spec.op).map_err(|e| e.at_node(&spec.name, &spec.op))?;
        }
        Ok(())
    }

    /// The node and output that is number `i` of an argument, or of a node's output argument.
    fn output_of(&self, key: &str, i: usize) -> Option<(&str, usize)> {
        if let Some((node, outputs)) = self.outputs.get(key) {
            return outputs.clone().nth(i).map(|output| (node.as_str(), output));
        }
        self.arguments.get(key)?.get(i).map(|node| (node.as_str(), 0))
    }

    /// The node that a control input names: a node of the body, or an argument.
    fn control<'a>(&'a self, name: &'a str) -> &'a str {
        if self.nodes.contains(name) {
            return name;
        }
        self.arguments.get(name).and_then(|nodes| nodes.first()).map_or(name, String::as_str)
    }

    /// Resolves a tensor name of a body to `node:k`.
    fn resolve(&self, text: &str) -> Result<String> {
        self.resolve_nth(text, 0)
    }

    fn resolve_nth(&self, text: &str, nth: usize) -> Result<String> {
        let unknown = || invalid!("'{text}' is no argument and no output of a node of this function");
        let (key, index) = match text.rsplit_once(':') {
            // `node:output:index`, or `argument:index`.
            Some((head, tail)) if self.outputs.contains_key(head) || self.arguments.contains_key(head) => {
                (head, tail.parse::<usize>().ok().filter(|_| tail.len() < 8).ok_or_else(unknown)?)
            }
            _ => (text, 0),
        };
        match index.checked_add(nth).and_then(|i| self.output_of(key, i)) {
            Some((node, output)) => Ok(format!("{node}:{output}")),
            // Bodies made by graph tools may use plain `node:k`.
            None => match names::parse_input(text) {
                Ok(names::Input::Data(node, index)) if self.nodes.contains(node) => {
                    Ok(format!("{node}:{index}"))
                }
                _ => Err(unknown()),
            },
        }
    }
}
