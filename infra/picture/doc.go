// Package picture draws what a dashboard of CloudWatch will look like, from the
// definition of its widgets and with sample data: a reader of the documentation
// sees what they will get. The picture is always the same, and is readable on a
// light and on a dark page.
package picture
