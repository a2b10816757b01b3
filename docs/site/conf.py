"""Settings of the documentation site; `build_site.py` copies them beside the pages."""

import importlib.metadata

from docutils import nodes
from docutils.utils.math import latex2mathml
from matplotlib.figure import Figure

project = "maxmargin"
author = "The maxmargin developers"
copyright = "the maxmargin developers, BSD-3-Clause"
release = version = importlib.metadata.version("maxmargin")
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py"]
default_role = "literal"  # `name` in a docstring is code
nitpicky = False
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function
templates_path = ["_templates"]

myst_heading_anchors = 4
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"  # names of classes do not fit beside a page

html_theme = "pydata_sphinx_theme"
html_title = "maxmargin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["sort.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "use_edit_page_button": False,
}
html_sidebars = {"index": []}
html_math_renderer = "mathml"
linkcheck_timeout = 10


def new_figures(block, block_vars, gallery_conf):
    """Pictures for the gallery: figures that a block of an example gave a name, or pyplot's."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import figure_rst

    seen = gallery_conf.setdefault("_seen_figures", {})
    names = block_vars["example_globals"]
    if seen.get("example") != names.get("__file__"):
        seen.clear()
        seen["example"] = names.get("__file__")
    figures = [f for f in names.values() if isinstance(f, Figure)]
    figures += [plt.figure(number) for number in plt.get_fignums()]
    paths = []
    for figure in figures:
        if id(figure) not in seen:
            seen[id(figure)] = figure  # kept, so that no other figure gets its id
            paths.append(next(block_vars["image_path_iterator"]))
            figure.savefig(paths[-1], dpi=100)
    plt.close("all")
    return figure_rst(paths, gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "image_scrapers": (new_figures,),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "show_signature": False,
}


def inline_math(self, node):
    self.body.append(str(latex2mathml.tex2mathml(node.astext(), as_block=False)))
    raise nodes.SkipNode


def block_math(self, node):
    self.body.append(str(latex2mathml.tex2mathml(node.astext(), as_block=True)))
    raise nodes.SkipNode


def setup(app):
    """Formulas as MathML: browsers draw it without a script from elsewhere."""
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
