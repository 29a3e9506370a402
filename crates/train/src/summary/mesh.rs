//! Point clouds and meshes.

use super::file_writer::invalid;
use super::{FileWriter, plugin};
use thalweg_client::{DataType, Result, Tensor};
use thalweg_proto::tensorboard::mesh::{MeshPluginData, mesh_plugin_data::ContentType};
use thalweg_proto::{DataClass, summary};

/// The points of a cloud, or a mesh of triangles. All tensors are [batch, number, 3].
#[derive(Clone, Debug)]
pub struct Mesh {
    vertices: Tensor,
    faces: Option<Tensor>,
    colors: Option<Tensor>,
}

impl Mesh {
    /// Points in space, as floats.
    pub fn new(vertices: Tensor) -> Mesh {
        Mesh { vertices, faces: None, colors: None }
    }

    /// Triangles, by the int32 indices of their vertices.
    pub fn faces(self, faces: Tensor) -> Mesh {
        Mesh { faces: Some(faces), ..self }
    }

    /// The colour of each vertex, as uint8.
    pub fn colors(self, colors: Tensor) -> Mesh {
        Mesh { colors: Some(colors), ..self }
    }

    fn parts(&self) -> impl Iterator<Item = (&Tensor, ContentType, DataType)> {
        let faces = self.faces.iter().map(|t| (t, ContentType::Face, DataType::Int32));
        let colors = self.colors.iter().map(|t| (t, ContentType::Color, DataType::Uint8));
        std::iter::once((&self.vertices, ContentType::Vertex, DataType::Float)).chain(faces).chain(colors)
    }
}

impl FileWriter {
    /// Adds a mesh.
    pub fn add_mesh(&mut self, tag: &str, mesh: &Mesh, step: i64) -> Result<()> {
        let components = mesh.parts().fold(0, |all, (_, part, _)| all | 1 << part as u32);
        let value = |part| value(tag, part, components);
        let values = mesh.parts().map(value).collect::<Result<_>>()?;
        self.add_values(values, step)
    }
}

fn value(
    tag: &str,
    (tensor, part, dtype): (&Tensor, ContentType, DataType),
    components: u32,
) -> Result<summary::Value> {
    let name = part.as_str_name();
    let (&[batch, count, 3], true) = (tensor.shape().dims(), tensor.dtype() == dtype) else {
        return Err(invalid(format!(
            "{name} of a mesh is {dtype} of shape [batch, number, 3], got {} {}",
            tensor.dtype(),
            tensor.shape()
        )));
    };
    let content = MeshPluginData {
        name: tag.to_string(),
        content_type: part.into(),
        shape: [batch, count, 3].map(|n| i32::try_from(n).unwrap_or(i32::MAX)).to_vec(),
        components,
        ..Default::default()
    };
    let metadata = plugin::metadata("mesh", &content, DataClass::Tensor);
    plugin::value(&format!("{tag}_{name}"), tensor, metadata)
}
