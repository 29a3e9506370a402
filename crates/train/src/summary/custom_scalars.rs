//! The custom scalars dashboard: charts with several scalars each.

use super::{FileWriter, plugin};
use thalweg_client::{Result, Tensor};
use thalweg_proto::tensorboard::margin_chart_content::Series;
use thalweg_proto::tensorboard::{self as proto, MarginChartContent, MultilineChartContent, chart::Content};
use thalweg_proto::{DataClass, encode};

/// Charts by category.
#[derive(Clone, Debug, Default)]
pub struct Layout(proto::Layout);

/// One chart.
#[derive(Clone, Debug)]
pub struct Chart(proto::Chart);

impl Chart {
    /// All scalars whose tags match one of these regular expressions, as lines.
    pub fn lines<'a>(title: &str, tags: impl IntoIterator<Item = &'a str>) -> Chart {
        let tag = tags.into_iter().map(str::to_string).collect();
        Chart::new(title, Content::Multiline(MultilineChartContent { tag }))
    }

    /// Lines with a band around each: the tags of value, lower and upper bound.
    pub fn margins<'a>(title: &str, series: impl IntoIterator<Item = [&'a str; 3]>) -> Chart {
        let series = series.into_iter().map(|tags| {
            let [value, lower, upper] = tags.map(str::to_string);
            Series { value, lower, upper }
        });
        Chart::new(title, Content::Margin(MarginChartContent { series: series.collect() }))
    }

    fn new(title: &str, content: Content) -> Chart {
        Chart(proto::Chart { title: title.to_string(), content: Some(content) })
    }
}

impl Layout {
    /// Without charts so far.
    pub fn new() -> Layout {
        Layout::default()
    }

    /// With charts under one more heading.
    pub fn category(mut self, title: &str, charts: impl IntoIterator<Item = Chart>) -> Layout {
        let chart = charts.into_iter().map(|c| c.0).collect();
        self.0.category.push(proto::Category { title: title.to_string(), chart, closed: false });
        self
    }
}

impl FileWriter {
    /// Adds the layout of the custom scalars dashboard, once. It holds for all runs.
    pub fn add_custom_scalars(&mut self, layout: &Layout) -> Result<()> {
        let metadata = plugin::metadata("custom_scalars", &(), DataClass::Tensor);
        let tensor = Tensor::string(encode(&layout.0));
        self.add_values(vec![plugin::value("custom_scalars__config__", &tensor, metadata)?], 0)
    }
}
