//! Variables of eager execution in graphs: nodes that refer to them by name.

use super::variable_handle;
use crate::output::Output;
use crate::scope::Scope;
use crate::variables::Variable;
use std::panic::Location;
use thalweg_core::attr::Attr;
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;

impl Scope {
    /// Offers a variable, by its full name, to the next that would make one of that name for itself: an optimizer takes its slots of before.
    pub fn offer_variable(&self, name: &str) {
        self.lock().offered.insert(name.to_string());
    }

    /// Whether a variable of that full name was offered; it is no more.
    pub fn take_offered(&self, name: &str) -> bool {
        self.lock().offered.remove(name)
    }

    /// The variable of this handle as one of the graph, under this full name. The session must be one of [`super::Eager::session`].
    #[track_caller]
    pub fn adopt_variable(&self, name: &str, handle: &Tensor, trainable: bool) -> Variable {
        if let Some(known) = self.find_variable(name) {
            return known;
        }
        let at = self.outside_control_flow().name_scope_again(name);
        let Some((handle, (dtype, shape))) =
            variable_handle(handle).and_then(|h| Some((h, h.values.first().cloned()?)))
        else {
            self.fail(invalid!("'{name}' is no variable"), Location::caller());
            let none = Output::new(self, None);
            return Variable::known(none.clone(), none.clone(), none.op(), none, trainable);
        };
        let handle = at
            .op("VarHandleOp")
            .named_as_scope()
            .attr("container", Attr::str(&handle.container))
            .attr("shared_name", Attr::str(&handle.name))
            .attr("dtype", dtype)
            .attr("shape", shape)
            .output();
        let value =
            at.op("ReadVariableOp").name("Read/ReadVariableOp").input(&handle).attr("dtype", dtype).output();
        let init = at.op("NoOp").name("Assign").build();
        let made = Variable::known(handle, value.clone(), init, value, trainable);
        self.store_variable(&made);
        made
    }
}
